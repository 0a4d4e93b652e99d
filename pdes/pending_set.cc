// A two-level bucket queue with a sorted front, close to a ladder queue (Tang, Goh, Thng: "Ladder
// queue", ACM TOMACS 15(3), 2005) with one rung.
//
// Idea: keys lie in three places by time.
//
//     |-- current (sorted) + near (heap) --|-- bucket | bucket | bucket --|-- far (unsorted) --->
//                                   current_end_ps_                 buckets_end_ps_
//
// A push is an append to a bucket or to far. The front bucket is sorted once when it is reached (a
// large one by scattering its keys over slots of time first, which leaves next to nothing to sort;
// a crowd that comes in no order by a radix sort) and then consumed by a cursor, so the next events
// are known ahead and can be prefetched; what is pushed into its range later is inserted where it
// belongs while few keys are left there, and goes to a small heap otherwise. When the buckets are
// used up, the far keys are spread over new ones, with a width drawn from a sample of the keys
// themselves. If the heap outgrows the front (a model whose events crowd below one far-off event),
// everything is spread again.
//
// Cost: push O(1), pop O(1) amortised; each key is moved two to four times, one of an unordered
// crowd up to eight, always in runs. Why not a heap of keys: from 64 Ki pending events on, each of
// its log n steps is a cache miss, and it cannot say what comes next
// (docs/laboratory/pending_set.md).
#include "pdes/pending_set.h"

#include <algorithm>
#include <array>
#include <bit>

#include "core/check.h"

namespace exawarp::pdes {
namespace {

// Small sets: as few buckets as their keys fill. Hold model with 64 exponential delays, CPU ns a
// hold: 64 buckets at least and 24 keys each 36, 16 and 12 33, 8 and 8 31, 8 and 6 32.
constexpr std::size_t kKeysPerBucket = 8;
constexpr std::size_t kLeastBuckets = 8;
// Few enough that the bucket heads and the line each is being filled at stay in L2, and that fronts
// are large enough to scatter. Hold model, exponential, CPU ns a hold at 16,384 and 65,536 pending
// events: 2^7 26 and 25, 2^8 26 and 25, 2^9 37 and 33, 2^10 48 and 29, 2^11 42 and 41; with 2^7
// delays of 1 us and 500 us take twice as long (2-core Zen 5 VM, 1 MiB of L2 a core).
constexpr std::size_t kMostBuckets = std::size_t{1} << 8;
// Millions of events take more buckets, so that a front stays in L2.
constexpr std::size_t kMostKeysPerBucket = 8192;
constexpr std::size_t kSmallSet = 48;     // not worth spreading
constexpr std::size_t kNearLeast = 1024;  // a heap this small is in cache
// A front with no more keys left is inserted into. Against a separate heap, CPU time a hold: 16
// pending events 0.61, 1,024 with delays of 1 us and 500 us 0.67, large sets 1.0.
constexpr std::size_t kInsertMost = 32;

// A front of so many keys is scattered before it is sorted. Hold model, CPU time a hold against
// std::sort alone: 65,536 exponential delays 0.67, with delays of 1 us and 500 us 0.48; small sets
// and the streams of cluster studies 1.00 to 1.02.
constexpr std::size_t kScatterLeast = 32;
constexpr int kSlotsLog2Most = 12;
constexpr int kSourceShift = 32;  // in EventKey::origin
// Keys of one instant come nearly in order, as those that send them do, and insertion sort is done
// after about one move a key; where it is not, as where the routes of packets mix them, they are
// sorted by the bits of their sources and times, which leaves the sends of one source.
constexpr std::size_t kMovesPerKey = 4;
// A key that has farther to go begins a run of its own: what a ring's last members send to the
// first, or what came from another partition. So few runs are merged.
constexpr std::ptrdiff_t kFar = 64;
constexpr std::size_t kMostRuns = 8;

// Writes a key from registers. A copy of one that was just put together on the stack is read wider
// than it was written, and waits until that has left the store buffer: a fifteenth of PHOLD's time.
void write(PendingKey& slot, EventKey key, Event* event) {
  slot.key = key;
  slot.event = event;
}

// A heap's order in the standard library is inverted: this puts the first event on top.
bool later(const PendingKey& a, const PendingKey& b) { return b < a; }

}  // namespace

PendingSet::PendingSet() : buckets_(kLeastBuckets, kNone), near_limit_(kNearLeast) {
  next_bucket_ = buckets_.size();
}

bool PendingSet::push(Event* event) {
  const EventKey key = key_of(*event);
  const std::int64_t at = key.time.ps;
  ++size_;
  if (at < current_end_ps_) return push_into_front(key, event);
  if (at < buckets_end_ps_) {
    push_bucket(key, event);
  } else {
    write(far_.emplace_back(), key, event);
  }
  return false;
}

bool PendingSet::push_into_front(EventKey key, Event* event) {
  if (current_.size() - cursor_ <= kInsertMost) {
    insert_into_current({key, event});
    return false;
  }
  near_.push_back({key, event});
  std::push_heap(near_.begin(), near_.end(), later);
  if (near_.size() > near_limit_) [[unlikely]]
    respread_all();
  return true;
}

void PendingSet::insert_into_current(const PendingKey& key) {
  if (current_.size() == current_.capacity() && cursor_ != 0) {  // what is consumed makes room
    current_.erase(current_.begin(), current_.begin() + static_cast<std::ptrdiff_t>(cursor_));
    cursor_ = 0;
  }
  current_.push_back(key);
  const auto first = current_.begin() + static_cast<std::ptrdiff_t>(cursor_);
  auto hole = current_.end() - 1;
  for (; hole != first && key < hole[-1]; --hole) *hole = hole[-1];
  *hole = key;
}

void PendingSet::push_bucket(EventKey key, Event* event) {
  const auto bucket = static_cast<std::size_t>((key.time.ps - buckets_base_ps_) >> width_log2_);
  std::uint32_t last = buckets_[bucket];
  if (last == kNone || chunks_[last].count == kChunkKeys) last = add_chunk(bucket);
  Chunk& chunk = chunks_[last];
  write(chunk.keys[chunk.count++], key, event);
}

// An empty chunk behind those of the bucket.
std::uint32_t PendingSet::add_chunk(std::size_t bucket) {
  std::uint32_t fresh = free_chunk_;
  if (fresh != kNone) {
    free_chunk_ = chunks_[fresh].next;
  } else {
    fresh = static_cast<std::uint32_t>(chunks_.size());
    chunks_.emplace_back();
  }
  const std::uint32_t last = buckets_[bucket];
  Chunk& chunk = chunks_[fresh];
  chunk.count = 0;
  chunk.next = fresh;
  if (last != kNone) {
    chunk.next = chunks_[last].next;
    chunks_[last].next = fresh;
  }
  buckets_[bucket] = fresh;
  return fresh;
}

bool PendingSet::near_is_first() const {
  return !near_.empty() && (cursor_ == current_.size() || near_.front() < current_[cursor_]);
}

Event* PendingSet::peek() {
  if (cursor_ == current_.size() && near_.empty() && !refill()) return nullptr;
  return near_is_first() ? near_.front().event : current_[cursor_].event;
}

Event* PendingSet::pop_before(Time horizon) {
  if (cursor_ == current_.size() && near_.empty() && !refill()) return nullptr;
  if (near_is_first()) {
    if (near_.front().key.time >= horizon) return nullptr;
    std::pop_heap(near_.begin(), near_.end(), later);
    Event* event = near_.back().event;
    near_.pop_back();
    --size_;
    return event;
  }
  const PendingKey& first = current_[cursor_];
  if (first.key.time >= horizon) return nullptr;
  ++cursor_;
  --size_;
  return first.event;
}

bool PendingSet::refill() {
  current_.clear();
  cursor_ = 0;
  near_limit_ = std::max(kNearLeast, size_ / 4);
  for (;;) {
    while (next_bucket_ < buckets_.size()) {
      const std::size_t bucket = next_bucket_++;
      current_end_ps_ =
          buckets_base_ps_ + (static_cast<std::int64_t>(next_bucket_) << width_log2_);
      if (buckets_[bucket] == kNone) continue;
      drain_bucket(bucket);
      prefetch_next_bucket();
      sort_front(current_end_ps_ - (std::int64_t{1} << width_log2_));
      return true;
    }
    if (far_.empty()) return false;
    spread();
    if (!current_.empty()) return true;
  }
}

void PendingSet::drain_bucket(std::size_t bucket) {
  const std::uint32_t last = buckets_[bucket];
  if (last == kNone) return;
  buckets_[bucket] = kNone;
  const std::uint32_t first = chunks_[last].next;
  for (std::uint32_t index = first;; index = chunks_[index].next) {
    const Chunk& chunk = chunks_[index];
    current_.insert(current_.end(), chunk.keys, chunk.keys + chunk.count);
    if (index == last) break;
  }
  chunks_[last].next = free_chunk_;
  free_chunk_ = first;
}

// A front of few keys is used up before ahead() has shown many of them, so the events of the one
// after it are fetched now. PHOLD of 65,536 LPs in 8 partitions, two threads: 0.77 of the time.
void PendingSet::prefetch_next_bucket() const {
  constexpr int kChunks = 4;
  std::size_t bucket = next_bucket_;
  while (bucket < buckets_.size() && buckets_[bucket] == kNone) ++bucket;
  if (bucket == buckets_.size()) return;
  const std::uint32_t last = buckets_[bucket];
  std::uint32_t index = chunks_[last].next;
  for (int i = 0; i < kChunks; ++i, index = chunks_[index].next) {
    const Chunk& chunk = chunks_[index];
    for (std::uint32_t k = 0; k < chunk.count; ++k) __builtin_prefetch(chunk.keys[k].event);
    if (index == last) break;
  }
}

// Sorts current_, whose keys lie in one bucket from `begin_ps` on.
void PendingSet::sort_front(std::int64_t begin_ps) {
  const std::size_t n = current_.size();
  const auto time_at = [this](std::size_t i) { return current_[i].key.time; };
  // Equal times among a few that lie apart: a crowd at one instant, which slots would not part.
  const bool crowded = n < kScatterLeast || time_at(0) == time_at(n / 2) ||
                       time_at(n / 4) == time_at(n - 1);
  if (!crowded) scatter_times(begin_ps);
  if (insert_in_order() || merge_runs()) return;
  if (n >= kScatterLeast) {
    sort_by([](const PendingKey& k) { return k.key.origin >> kSourceShift; });
    sort_by([=](const PendingKey& k) {
      return static_cast<std::uint64_t>(k.key.time.ps - begin_ps);
    });
    if (insert_in_order()) return;
  }
  std::sort(current_.begin(), current_.end());
}

// Insertion sort of current_, given up (false) where its keys have far to go.
bool PendingSet::insert_in_order() {
  PendingKey* const first = current_.data();
  PendingKey* const end = first + current_.size();
  auto moves = static_cast<std::ptrdiff_t>(kMovesPerKey * current_.size());
  for (PendingKey* at = first + 1; at < end; ++at) {
    if (!(*at < at[-1])) continue;
    if (at - first > kFar && *at < at[-kFar]) return false;
    const PendingKey key = *at;
    PendingKey* hole = at;
    do {
      *hole = hole[-1];
      --hole;
    } while (hole != first && key < hole[-1]);
    *hole = key;
    moves -= at - hole;
    if (moves < 0) return false;
  }
  return true;
}

// Merges the ascending runs of current_, pairs at a time, unless there are many (false).
bool PendingSet::merge_runs() {
  const std::size_t n = current_.size();
  std::array<std::size_t, kMostRuns + 1> bounds{};
  std::size_t runs = 1;
  for (std::size_t i = 1; i < n; ++i) {
    if (!(current_[i] < current_[i - 1])) continue;
    if (runs == kMostRuns) return false;
    bounds[runs++] = i;
  }
  bounds[runs] = n;
  scattered_.resize(n);
  while (runs > 1) {
    const PendingKey* const keys = current_.data();
    std::size_t merged = 0;
    for (std::size_t run = 0; run < runs; run += 2) {
      const std::size_t middle = bounds[run + 1];
      const std::size_t end = bounds[std::min(run + 2, runs)];
      std::merge(keys + bounds[run], keys + middle, keys + middle, keys + end,
                 scattered_.data() + bounds[run]);
      bounds[++merged] = end;
    }
    runs = merged;
    current_.swap(scattered_);
  }
  return true;
}

// A stable counting sort of current_ by `slot_of` (0 to slots - 1).
template <class SlotOf>
void PendingSet::scatter(std::size_t slots, SlotOf slot_of) {
  std::array<std::uint32_t, (std::size_t{1} << kSlotsLog2Most) + 1> starts;
  std::fill_n(starts.begin(), slots + 1, 0u);
  for (const PendingKey& k : current_) ++starts[slot_of(k) + 1];
  for (std::size_t s = 1; s <= slots; ++s) starts[s] += starts[s - 1];
  scattered_.resize(current_.size());
  for (const PendingKey& k : current_) scattered_[starts[slot_of(k)]++] = k;
  current_.swap(scattered_);
}

// By slots of time, as many as keys or fewer; what shares a slot stays in order.
void PendingSet::scatter_times(std::int64_t begin_ps) {
  const int slots_log2 =
      std::min(static_cast<int>(std::bit_width(current_.size())) - 1, kSlotsLog2Most);
  const int shift = std::max(0, width_log2_ - slots_log2);
  scatter(std::size_t{1} << slots_log2, [=](const PendingKey& k) {
    return static_cast<std::size_t>((k.key.time.ps - begin_ps) >> shift);
  });
}

// Exactly: a radix sort by the bits in which what `word_of` says of the keys differs.
template <class WordOf>
void PendingSet::sort_by(WordOf word_of) {
  std::uint64_t all = ~std::uint64_t{0}, any = 0;
  for (const PendingKey& k : current_) {
    all &= word_of(k);
    any |= word_of(k);
  }
  const int bits = static_cast<int>(std::bit_width(all ^ any));
  const int most = std::min(static_cast<int>(std::bit_width(current_.size())), kSlotsLog2Most);
  const int passes = (bits + most - 1) / most;
  for (int pass = 0, shift = 0; pass < passes; ++pass) {
    const int digit = (bits - shift) / (passes - pass);
    const std::size_t slots = std::size_t{1} << digit;
    scatter(slots, [=](const PendingKey& k) { return (word_of(k) >> shift) & (slots - 1); });
    shift += digit;
  }
}

// A few far keys are the new front as they are.
void PendingSet::take_all_far() {
  current_.swap(far_);
  std::sort(current_.begin(), current_.end());
  const std::int64_t end = saturating_add(current_.back().key.time, Time{1}).ps;
  current_end_ps_ = buckets_base_ps_ = buckets_end_ps_ = std::max(end, current_end_ps_);
  next_bucket_ = buckets_.size();
}

void PendingSet::spread() {
  if (far_.size() <= kSmallSet) return take_all_far();
  // The span that holds three quarters of a sample, so that a few far-off events do not widen
  // the buckets for all.
  constexpr std::size_t kSample = 255;
  std::vector<std::int64_t> sample;
  const std::size_t step = std::max<std::size_t>(1, far_.size() / kSample);
  std::int64_t first = far_.front().key.time.ps;
  for (const PendingKey& k : far_) first = std::min(first, k.key.time.ps);
  for (std::size_t i = 0; i < far_.size(); i += step) sample.push_back(far_[i].key.time.ps);
  auto quartile = sample.begin() + static_cast<std::ptrdiff_t>(sample.size() * 3 / 4);
  std::nth_element(sample.begin(), quartile, sample.end());

  const std::size_t most = std::max(kMostBuckets, std::bit_ceil(far_.size() / kMostKeysPerBucket));
  const std::size_t wanted =
      std::clamp(std::bit_ceil(far_.size() / kKeysPerBucket), kLeastBuckets, most);
  const std::int64_t span = std::max<std::int64_t>(1, *quartile - first);
  const std::int64_t width = std::max<std::int64_t>(1, span / static_cast<std::int64_t>(wanted));
  width_log2_ = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(width)) - 1);
  buckets_.assign(2 * wanted, kNone);
  next_bucket_ = 0;
  buckets_base_ps_ = current_end_ps_ = std::max(first, current_end_ps_);
  const std::int64_t reach = static_cast<std::int64_t>(buckets_.size()) << width_log2_;
  buckets_end_ps_ = saturating_add(Time{buckets_base_ps_}, Time{reach}).ps;

  std::size_t kept = 0;
  for (const PendingKey& k : far_) {
    if (k.key.time.ps < buckets_end_ps_)
      push_bucket(k.key, k.event);
    else
      far_[kept++] = k;
  }
  far_.resize(kept);
}

void PendingSet::respread_all() {
  far_.insert(far_.end(), current_.begin() + static_cast<std::ptrdiff_t>(cursor_), current_.end());
  far_.insert(far_.end(), near_.begin(), near_.end());
  near_.clear();
  current_.clear();
  cursor_ = 0;
  for (std::size_t b = next_bucket_; b < buckets_.size(); ++b) drain_bucket(b);
  far_.insert(far_.end(), current_.begin(), current_.end());
  current_.clear();
  current_end_ps_ = 0;
  spread();
  // Keys that crowd at one instant cannot be spread; do not try again until they doubled.
  near_limit_ = std::max(kNearLeast, 2 * size_);
}

std::size_t PendingSet::bytes() const {
  const std::size_t keys =
      current_.capacity() + scattered_.capacity() + near_.capacity() + far_.capacity();
  return keys * sizeof(PendingKey) + chunks_.capacity() * sizeof(Chunk) +
         buckets_.capacity() * sizeof(std::uint32_t);
}

}  // namespace exawarp::pdes
