// Vidur's five policies (microsoft/vidur 7d47513, MIT), rule by rule, so that batches, preemptions
// and times are the same; docs/reference/serving.md states the rules. The sixth is in vllm_v1.cc.
#include "model/serving/batch_former.h"

#include <algorithm>
#include <array>

#include "model/serving/on_devices.h"

namespace exawarp::model::serving {
namespace {

// What lightllm expects of a request: the tokens that it holds and those that it will still ask.
struct Expected {
  std::uint32_t held = 0;
  std::uint32_t remaining = 0;
};

std::uint32_t less_at_least_0(std::uint32_t a, std::uint32_t b) { return a > b ? a - b : 0; }

Expected expected_of_running(const Live& r) {
  const std::uint32_t decoded = less_at_least_0(r.processed, r.prefill);
  return {.held = r.processed, .remaining = less_at_least_0(r.decode, decoded + 1)};
}

Expected expected_of_unscheduled(const Live& r) {
  return {.held = r.prefill + 1, .remaining = less_at_least_0(r.decode, 2)};
}

}  // namespace

BatchFormer::BatchFormer(Replica::State& s, const Spec& spec, pdes::Context& ctx)
    : s_(s),
      spec_(spec),
      ctx_(ctx),
      pool_(s, spec, ctx),
      micro_batch_max_(std::max(1u, spec.batch_requests_max / spec.stages)) {}

std::uint32_t BatchFormer::form() {
  formed_ = 0;
  formed_tokens_ = 0;
  switch (spec_.policy) {
    case Policy::vllm:
      vllm();
      break;
    case Policy::sarathi:
      sarathi();
      break;
    case Policy::orca:
      reserving(false);
      break;
    case Policy::lightllm:
      lightllm();
      break;
    case Policy::faster_transformer:
      reserving(true);
      break;
    case Policy::vllm_v1:
      vllm_v1();
      break;
  }
  return formed_;
}

// Prompts first, never with decodes in one batch. A batch of prompts is padded to the longest.
void BatchFormer::vllm() {
  std::uint32_t longest = 0;
  while (has_head()) {
    const Live next = head();
    longest = std::max(longest, next.prefill);
    if (!fits(next) || (formed_ + 1ull) * longest > spec_.batch_tokens_max) break;
    if (s_.holders == spec_.batch_requests_max || is_full()) break;
    admit(next, spec_.blocks_for(next.prefill), next.prefill);
  }
  if (formed_ != 0) return;
  sort_running_by_arrival();
  decode_running();
}

// Decodes first, then prompts in chunks, in what the decodes leave of the budget.
void BatchFormer::sarathi() {
  decode_running();
  admit_chunks();
}

void BatchFormer::admit_chunks() {
  while (has_head()) {
    if (s_.holders == spec_.batch_requests_max || is_full()) return;
    const Live next = head();
    const std::uint32_t room = less_at_least_0(spec_.chunk_tokens, formed_tokens_);
    if (!fits(next) || room == 0) return;
    admit(next, spec_.blocks_for(next.prefill), std::min(next.prefill, room));
  }
}

// One token for each of `running`, the first ones first. Where no block is free, the last one gives
// its blocks back and starts again. Prompts that are not done are left for chunk_prompts().
void BatchFormer::decode_running() {
  std::uint32_t next = 0;
  while (next < s_.running.size() && !is_full()) {
    Live request = s_.running[next++];
    if (!request.prompt_done()) continue;
    bool has_room = true;
    while (pool_.available() < 1 && has_room) {
      const std::uint32_t last = s_.running.size() - 1;
      has_room = last >= next;
      restart(has_room ? s_.running[last] : request);
      if (has_room) s_.running.erase(ctx_, last);
    }
    if (!has_room) break;
    const bool is_outgrown = request.processed > request.blocks * spec_.block_tokens;
    if (is_outgrown) hold(request, 1);
    add(request, 1);
  }
  drop_running(chunk_prompts(next), next);
  if (spec_.policy == Policy::sarathi) sort_running_by_arrival();
}

// Of the first `taken` of `running` the prompts that are not done, as far as the budget goes. Moves
// those that get nothing to the front and returns their number.
std::uint32_t BatchFormer::chunk_prompts(std::uint32_t taken) {
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < taken; ++i) {
    const Live request = s_.running[i];
    if (request.prompt_done()) continue;
    const std::uint32_t room = less_at_least_0(spec_.chunk_tokens, formed_tokens_);
    const std::uint32_t chunk = std::min(request.prefill - request.processed, room);
    if (chunk == 0)
      s_.running.assign(ctx_, kept++, request);
    else
      add(request, chunk);
  }
  return kept;
}

// orca: each request reserves as many blocks as the longest could need, so none ever starts again.
// faster_transformer: the same, but a batch stays together until its last request is done.
void BatchFormer::reserving(bool only_when_idle) {
  const std::uint32_t most = std::min(spec_.reserved_requests_max, spec_.batch_requests_max);
  const std::uint32_t reserve = spec_.request_tokens_max / spec_.block_tokens;
  const bool is_idle = s_.running.empty() && s_.flight.empty();
  const std::uint32_t taken = std::min(s_.running.size(), most);
  for (std::uint32_t i = 0; i < taken; ++i) {
    const Live request = s_.running[i];
    add(request, request.prompt_done() ? 1 : request.prefill);
  }
  drop_running(0, taken);
  if (only_when_idle && !is_idle) return;
  while (has_head() && formed_ < most && pool_.available() >= reserve) {
    const Live next = head();
    admit(next, reserve, next.prefill);
  }
}

void BatchFormer::lightllm() {
  if (s_.running.empty()) {
    if (lightllm_prompts()) ctx_.set(s_.decodes_since_prefill, 0);
    return;
  }
  if (s_.decodes_since_prefill >= spec_.decodes_between_prefills) {
    ctx_.set(s_.decodes_since_prefill, 0);
    if (lightllm_prompts()) return;
  }
  ctx_.add(s_.decodes_since_prefill, 1);
  const std::uint32_t size = s_.running.size();
  ctx_.check(pool_.available() >= size, "serving: lightllm ran out of blocks for decoding");
  for (std::uint32_t i = 0; i < size; ++i) {
    Live request = s_.running[i];
    hold(request, 1);
    add(request, 1);
  }
  drop_running(0, size);
}

bool BatchFormer::lightllm_prompts() {
  while (has_head()) {
    const Live next = head();
    if (formed_tokens_ + std::uint64_t{next.prefill} > spec_.batch_tokens_max) break;
    if (s_.holders == spec_.batch_requests_max || is_full()) break;
    if (!lightllm_fits(next)) break;
    admit(next, spec_.blocks_for(next.prefill), next.prefill);
  }
  return formed_ != 0;
}

// Whether the pool would do, at its fullest, if each request ran to its end: requests end in order
// of what they will still ask, and when one ends, those that end later have grown as much as it.
bool BatchFormer::lightllm_fits(const Live& next) const {
  std::array<Expected, kBatchRequestsMax + 1> all;
  std::uint32_t count = 0;
  for (const Live& request : s_.running) {
    if (count < kBatchRequestsMax) all[count++] = expected_of_running(request);
  }
  for (const Live& request : s_.flight) {
    if (request.batch == s_.batches && count < kBatchRequestsMax)
      all[count++] = expected_of_unscheduled(request);
  }
  all[count++] = expected_of_unscheduled(next);
  std::sort(all.begin(), all.begin() + count,
            [](const Expected& a, const Expected& b) { return a.remaining > b.remaining; });
  std::uint64_t held = 0;
  std::uint64_t most = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    held += all[i].held;
    most = std::max(most, std::uint64_t{all[i].remaining} * (i + 1) + held);
  }
  return most < spec_.blocks;
}

void BatchFormer::enqueue(std::uint32_t request) {
  if (by_priority()) return push_ranked(request);
  s_.waiting.push_back(ctx_, request);
}

std::uint32_t BatchFormer::head_restarted() const {
  const std::uint32_t size = s_.restarted.size();
  if (!by_priority()) return size == 0 ? 0 : size - 1;
  std::uint32_t first = size;
  std::uint64_t least = s_.ranked.empty() ? ~std::uint64_t{0} : rank_of(s_.ranked[0]);
  for (std::uint32_t i = 0; i < size; ++i) {
    const std::uint64_t rank = rank_of(s_.restarted[i].request);
    if (rank >= least) continue;
    least = rank;
    first = i;
  }
  return first;
}

Live BatchFormer::head() const {
  const std::uint32_t at = head_restarted();
  if (at < s_.restarted.size()) return s_.restarted[at];
  const std::uint32_t request = by_priority() ? s_.ranked[0] : s_.waiting.front();
  const Request& asked = spec_.requests[request];
  return {.request = request, .prefill = asked.prefill, .decode = asked.decode};
}

void BatchFormer::pop_head() {
  ++left_;
  const std::uint32_t at = head_restarted();
  if (at < s_.restarted.size()) return s_.restarted.erase(ctx_, at);
  if (by_priority()) return pop_ranked();
  s_.waiting.pop_front(ctx_);
}

// A hundredth of the pool is left to the requests that run already.
bool BatchFormer::fits(const Live& unscheduled) const {
  return pool_.available() - spec_.blocks_for(unscheduled.prefill) >= spec_.blocks / 100;
}

void BatchFormer::add(Live request, std::uint32_t tokens) {
  request.batch = s_.batches;
  request.tokens = tokens;
  s_.flight.push_back(ctx_, request);
  ++formed_;
  formed_tokens_ += tokens;
}

void BatchFormer::admit(Live request, std::uint32_t blocks, std::uint32_t tokens) {
  pop_head();
  // In a closed loop no request says when it comes; those that wait are taken as they came.
  if (counts_admissions(spec_) && request.restarts == 0) {
    request.admitted = s_.admissions;
    ctx_.add(s_.admissions, 1);
  }
  hold(request, blocks);
  ctx_.add(s_.holders, 1);
  add(request, tokens);
}

void BatchFormer::hold(Live& request, std::uint32_t blocks) { pool_.hold(request, blocks); }

// What it has computed becomes its prompt, at the head of the queue.
void BatchFormer::restart(Live request) {
  release(request);
  const std::uint32_t total = request.total();
  request.prefill = request.processed;
  request.decode = total - request.processed;
  request.processed = 0;
  ++request.restarts;
  ctx_.add(s_.restarts, 1);
  s_.restarted.push_back(ctx_, request);
  --left_;
}

// Stable; the list is sorted but for its end.
template <class Less>
void BatchFormer::sort_running(Less&& less) {
  for (std::uint32_t i = 1; i < s_.running.size(); ++i) {
    const Live moved = s_.running[i];
    std::uint32_t to = i;
    for (; to > 0 && less(moved, s_.running[to - 1]); --to)
      s_.running.assign(ctx_, to, s_.running[to - 1]);
    if (to != i) s_.running.assign(ctx_, to, moved);
  }
}

void BatchFormer::sort_running_by_arrival() {
  if (!spec_.turns.empty()) return sort_running_by_admission();
  const auto arrival = [&](const Live& r) { return spec_.requests[r.request].arrival; };
  sort_running([&](const Live& a, const Live& b) { return arrival(a) < arrival(b); });
}

void BatchFormer::sort_running_by_admission() {
  sort_running([](const Live& a, const Live& b) { return a.admitted < b.admitted; });
}

// Keeps the first `kept` of `running` and what begins at `from`.
void BatchFormer::drop_running(std::uint32_t kept, std::uint32_t from) {
  if (kept == from) return;
  for (; from < s_.running.size(); ++from) s_.running.assign(ctx_, kept++, s_.running[from]);
  while (s_.running.size() > kept) s_.running.erase(ctx_, s_.running.size() - 1);
}

}  // namespace exawarp::model::serving
