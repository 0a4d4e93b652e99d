// The bound. A partition's emissions come in order of time, so the ones to drop when there are too
// many are those that come from then on. Which instant that is must not depend on partitions: with
// t the instant of the slice that is one too many, in order of time, all of t is left out. Each
// partition keeps what lies before its own such instant, which is not before that of all; so
// counting once more over what all of them kept, and their least limit, finds t.
#include "model/timeline/timeline.h"

#include <algorithm>
#include <array>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/bytes.h"
#include "core/check.h"
#include "core/digest.h"
#include "core/error.h"
#include "model/cluster.h"
#include "model/device/device.h"
#include "model/workload/validate.h"
#include "pdes/transport.h"

namespace exawarp::model {
namespace {

constexpr std::int64_t kNoLimit = core::Time::max().ps;
static_assert(Timeline::kDevice == kStreamsMax);

}  // namespace

// Records by LP and stream, and of these in order of time.
//
// All that one LP emits at an instant is of one partition, and each step on the way here keeps the
// order. Only after a restart, where devices may be on other ranks, can later records come first.
class Timeline::Tracks {
 public:
  Tracks(const std::vector<std::uint8_t>& lps, const std::deque<Record>& records) {
    for (const std::uint8_t is_traced : lps) place_.push_back(is_traced != 0 ? devices_++ : kNone);
    first_.resize(devices_ * kTracks + 2);
    for (const Record& r : records) {
      if (is_traced(r)) ++first_[index_of(r.lp, r.stream) + 2];
    }
    for (std::size_t i = 2; i < first_.size(); ++i) first_[i] += first_[i - 1];
    sorted_.resize(first_.back());
    // Each moves from where its predecessor's records end to where its own do.
    for (const Record& r : records) {
      if (is_traced(r)) sorted_[first_[index_of(r.lp, r.stream) + 1]++] = r;
    }
  }

  [[nodiscard]] std::span<const Record> records(std::uint32_t lp, std::uint32_t stream) {
    const std::size_t index = index_of(lp, stream);
    const auto all = std::span(sorted_).subspan(first_[index], first_[index + 1] - first_[index]);
    if (!std::ranges::is_sorted(all, {}, &Record::at_ps)) {
      std::ranges::stable_sort(all, {}, &Record::at_ps);
    }
    return all;
  }

 private:
  static constexpr std::uint32_t kTracks = kDevice + 1, kNone = 0xffffffff;

  [[nodiscard]] bool is_traced(const Record& r) const {
    return r.lp < place_.size() && place_[r.lp] != kNone;
  }
  [[nodiscard]] std::size_t index_of(std::uint32_t lp, std::uint32_t stream) const {
    return std::size_t{place_[lp]} * kTracks + stream;
  }

  std::uint32_t devices_ = 0;
  std::vector<std::uint32_t> place_;  // by LP, among those traced
  std::vector<std::size_t> first_;    // by track
  std::vector<Record> sorted_;
};

Timeline::Timeline(std::uint32_t partitions, const TimelineOptions& options,
                   pdes::EmissionSink* next)
    : options_(options), next_(next) {
  EXAWARP_CHECK(options.from < options.until, options.from.ps, options.until.ps);
  parts_.resize(partitions);
}

void Timeline::deliver(core::PartitionId partition, const pdes::Emission& e) {
  if (e.channel != kTimelineChannel) {
    if (next_ != nullptr) next_->deliver(partition, e);
    return;
  }
  Part& part = parts_[partition.value];
  const auto mark = static_cast<std::uint8_t>(e.a);
  const bool of_device = mark == static_cast<std::uint8_t>(TimelineMark::spent);
  if (of_device && options_.tasks_alone) return;
  add(part, {.at_ps = e.key.time.ps,
             .b = e.b,
             .c = e.c,
             .lp = e.lp.value,
             .stream = static_cast<std::uint16_t>(of_device ? kDevice : e.a >> 16),
             .time_class = static_cast<std::uint8_t>(e.a >> 8),
             .mark = mark});
  if (part.slices > options_.slices_max) trim(part);
}

void Timeline::add(Part& part, const Record& record) const {
  if (record.at_ps >= part.limit_ps) return;
  if (record.what() == TimelineMark::spent) {
    if (record.until() <= options_.from || record.from() >= options_.until) return;
  } else {
    if (record.at_ps >= options_.until.ps) return;
    if (record.at_ps < options_.from.ps) {
      Record& last = part.before.try_emplace({record.lp, record.stream}, record).first->second;
      if (last.at_ps <= record.at_ps) last = record;
      return;
    }
  }
  part.records.push_back(record);
  part.slices += is_slice(record);
}

// Leaves out what there is too much of.
void Timeline::trim(Part& part) const {
  if (part.slices > options_.slices_max) {
    std::vector<std::int64_t> times;
    times.reserve(part.slices);
    for (const Record& record : part.records) {
      if (is_slice(record)) times.push_back(record.at_ps);
    }
    const auto excess = times.begin() + static_cast<std::ptrdiff_t>(options_.slices_max);
    std::ranges::nth_element(times, excess);
    part.limit_ps = std::min(part.limit_ps, *excess);
  }
  std::erase_if(part.records, [&](const Record& r) { return r.at_ps >= part.limit_ps; });
  part.slices = static_cast<std::uint64_t>(std::ranges::count_if(part.records, is_slice));
}

// The records, those before the timeline begins among them; they are gone from the part.
std::deque<Timeline::Record> Timeline::taken_from(Part& part) {
  std::deque<Record> all = std::exchange(part.records, {});
  for (const auto& [track, record] : std::exchange(part.before, {})) all.push_back(record);
  return all;
}

// What a timeline that goes on with this one has in common with it, and when it was cut.
Timeline::Header Timeline::header() const {
  core::Hasher devices;
  for (const std::uint32_t device : options_.devices) devices.word(device);
  std::int64_t limit = kNoLimit;
  for (const Part& part : parts_) limit = std::min(limit, part.limit_ps);
  return {limit, options_.from.ps, options_.until.ps, options_.slices_max, devices.value()};
}

std::vector<std::byte> Timeline::saved() const {
  std::vector<std::byte> bytes;
  core::append_bytes(bytes, header());
  for (const Part& part : parts_) {
    for (const Record& record : part.records) core::append_bytes(bytes, record);
    for (const auto& [track, record] : part.before) core::append_bytes(bytes, record);
  }
  return bytes;
}

void Timeline::restore(std::span<const std::byte> saved) {
  core::ByteReader reader(saved);
  const auto theirs = reader.next<Header>();
  const Header mine = header();
  if (std::tie(theirs.from_ps, theirs.until_ps, theirs.slices_max, theirs.devices) !=
      std::tie(mine.from_ps, mine.until_ps, mine.slices_max, mine.devices)) {
    throw core::InputError("has the timeline of other devices or times");
  }
  Part& part = parts_.front();
  part.limit_ps = std::min(part.limit_ps, theirs.limit_ps);
  while (!reader.is_at_end()) {
    const auto record = reader.next<Record>();
    const bool known = record.what() <= TimelineMark::spent && record.stream <= kDevice &&
                       record.time_class < kTimeClassCount && record.at_ps >= 0;
    if (!known) throw core::InputError("has a timeline of another form");
    add(part, record);
  }
  trim(part);
}

// Of this rank; the parts are empty afterwards.
Timeline::Part Timeline::sum_of_parts() {
  Part sum = std::move(parts_.front());
  for (Part& part : std::span(parts_).subspan(1)) {
    sum.limit_ps = std::min(sum.limit_ps, part.limit_ps);
    for (const Record& record : taken_from(part)) add(sum, record);
  }
  trim(sum);
  return sum;
}

void Timeline::combine(pdes::Transport& transport) {
  Part mine = sum_of_parts();
  if (transport.ranks() == 1) {
    all_ = std::move(mine);
    return;
  }
  std::array<std::uint64_t, 1> limit{~static_cast<std::uint64_t>(mine.limit_ps)};
  transport.all_reduce_max(limit);
  all_.limit_ps = static_cast<std::int64_t>(~limit[0]);
  static_assert(std::is_trivially_copyable_v<Record> && sizeof(Record) == 32);
  const std::deque<Record> taken = taken_from(mine);
  std::vector<Record> records(taken.begin(), taken.end());
  const std::vector<std::byte> bytes = transport.gather(std::as_bytes(std::span(records)));
  records = {};
  core::ByteReader reader(bytes);
  while (!reader.is_at_end()) add(all_, reader.next<Record>());
  trim(all_);
}

std::optional<core::Time> Timeline::cut() const {
  if (all_.limit_ps == kNoLimit) return {};
  return core::Time{all_.limit_ps};
}

void Timeline::finish(const Cluster& cluster, const End& end) {
  const bool whole = end.all_finished && !cut();
  const core::Time last = std::min({end.at, options_.until, core::Time{all_.limit_ps}});
  const std::vector<std::uint8_t>& lps = cluster.devices().timeline;
  Tracks tracks(lps, taken_from(all_));
  slices_.reserve(all_.slices);
  for (std::uint32_t lp = 0; lp < lps.size(); ++lp) {
    if (lps[lp] == 0) continue;
    const std::uint32_t program = place_of(cluster.devices(), {lp}).program;
    const ProgramTable& table = cluster.devices().programs[program];
    for (std::uint32_t stream = 0; stream < table.streams(); ++stream) {
      add_slices(tracks.records(lp, stream), {program, table.tasks.size()}, last);
    }
    if (!options_.tasks_alone) add_slices({lp}, tracks.records(lp, kDevice), {last, whole});
  }
}

// Of one stream. The record before the timeline begins, if there is one, is the first. What no
// device of the program can have emitted, from a checkpoint that was tampered with, is left out.
void Timeline::add_slices(std::span<const Record> of_stream, const Tasks& of, core::Time end) {
  for (std::size_t i = 0; i < of_stream.size(); ++i) {
    const Record& r = of_stream[i];
    if (r.what() != TimelineMark::begins) continue;
    const auto program = static_cast<std::uint32_t>(r.b >> 32);
    const auto task = static_cast<std::uint32_t>(r.b);
    const core::Time at{r.at_ps};
    core::Time until = r.until(), last_entry = at;
    if (until == core::Time::max() && i + 1 < of_stream.size()) {
      const Record& its_end = of_stream[i + 1];
      until = core::Time{its_end.at_ps};
      if (at < its_end.until() && its_end.until() <= until) last_entry = its_end.until();
    }
    if (program != of.program || task >= of.count || until < at || end < at) continue;
    if (at < options_.from && until <= options_.from) continue;
    slices_.push_back({.lp = {r.lp},
                       .stream = r.stream,
                       .program = program,
                       .task = task,
                       .from = std::max(options_.from, at),
                       .until = std::min(until, end),
                       .ends = until <= end,
                       .last_entry = options_.tasks_alone ? last_entry : core::Time{}});
  }
}

// The time of a device is in one class after the other from the start of its job until it is done;
// before and after it is idle.
void Timeline::add_slices(core::LpId lp, std::span<const Record> of_device, const End& end) {
  core::Time filled = options_.from;
  const auto add = [&](TimeClass spent_in, core::Time until) {
    if (filled < until) {
      slices_.push_back({.lp = lp,
                         .stream = kDevice,
                         .task = static_cast<std::uint32_t>(index_of(spent_in)),
                         .from = filled,
                         .until = until});
    }
    filled = std::max(filled, until);
  };
  for (const Record& r : of_device) {
    add(TimeClass::idle, r.from());
    add(static_cast<TimeClass>(r.time_class), std::min(options_.until, r.until()));
  }
  if (end.all_finished) add(TimeClass::idle, end.at);
}

}  // namespace exawarp::model
