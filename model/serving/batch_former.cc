// Vidur's five policies (microsoft/vidur 7d47513, MIT), rule by rule, so that batches, preemptions
// and times are the same; docs/reference/serving.md states the rules.
#include "model/serving/batch_former.h"

#include <algorithm>
#include <array>

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
    admit(next, prompt_blocks(next), next.prefill);
  }
  if (formed_ != 0) return;
  sort_running();
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
    admit(next, prompt_blocks(next), std::min(next.prefill, room));
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
    while (free_blocks() < 1 && has_room) {
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
  if (spec_.policy == Policy::sarathi) sort_running();
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
  while (has_head() && formed_ < most && free_blocks() >= reserve) {
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
  ctx_.check(free_blocks() >= size, "serving: lightllm ran out of blocks for decoding");
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
    admit(next, prompt_blocks(next), next.prefill);
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

Live BatchFormer::head() const {
  if (!s_.restarted.empty()) return s_.restarted[s_.restarted.size() - 1];
  const std::uint32_t request = s_.waiting.front();
  const Request& asked = spec_.requests[request];
  return {.request = request, .prefill = asked.prefill, .decode = asked.decode};
}

void BatchFormer::pop_head() {
  ++left_;
  if (!s_.restarted.empty()) return s_.restarted.erase(ctx_, s_.restarted.size() - 1);
  s_.waiting.pop_front(ctx_);
}

std::uint32_t BatchFormer::prompt_blocks(const Live& request) const {
  return (request.prefill + spec_.block_tokens - 1) / spec_.block_tokens;
}

std::int64_t BatchFormer::free_blocks() const {
  return std::int64_t{spec_.blocks} - std::int64_t{s_.held};
}

// A hundredth of the pool is left to the requests that run already.
bool BatchFormer::fits(const Live& unscheduled) const {
  return free_blocks() - prompt_blocks(unscheduled) >= spec_.blocks / 100;
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
  hold(request, blocks);
  ctx_.add(s_.holders, 1);
  add(request, tokens);
}

void BatchFormer::hold(Live& request, std::uint32_t blocks) {
  request.blocks += blocks;
  ctx_.add(s_.held, blocks);
  if (s_.held > s_.held_most) ctx_.set(s_.held_most, s_.held);
}

void BatchFormer::release(Live& request) {
  ctx_.check(s_.held >= request.blocks && s_.holders > 0, "serving: a block was freed twice");
  ctx_.set(s_.held, s_.held - request.blocks);
  ctx_.set(s_.holders, s_.holders - 1);
  request.blocks = 0;
}

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

// By arrival, and in the same order where that is equal. The list is sorted but for its end.
void BatchFormer::sort_running() {
  const auto arrival = [&](const Live& r) { return spec_.requests[r.request].arrival; };
  for (std::uint32_t i = 1; i < s_.running.size(); ++i) {
    const Live moved = s_.running[i];
    std::uint32_t to = i;
    for (; to > 0 && arrival(s_.running[to - 1]) > arrival(moved); --to)
      s_.running.assign(ctx_, to, s_.running[to - 1]);
    if (to != i) s_.running.assign(ctx_, to, moved);
  }
}

// Keeps the first `kept` of `running` and what begins at `from`.
void BatchFormer::drop_running(std::uint32_t kept, std::uint32_t from) {
  if (kept == from) return;
  for (; from < s_.running.size(); ++from) s_.running.assign(ctx_, kept++, s_.running[from]);
  while (s_.running.size() > kept) s_.running.erase(ctx_, s_.running.size() - 1);
}

}  // namespace exawarp::model::serving
