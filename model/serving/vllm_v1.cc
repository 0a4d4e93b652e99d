// The rules of vLLM's engine core V1: one budget of tokens for whoever has tokens to compute, with
// no difference between a prompt and an answer. Requests that run come first, in the order in which
// they entered; then those that wait. docs/reference/serving.md states the rules and their source.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/random.h"
#include "model/serving/batch_former.h"
#include "pdes/undo_heap.h"

namespace exawarp::model::serving {
namespace {

constexpr std::uint64_t kDraftStream = 0x6472616674;

// Of the drafts of a batch; copies go before it.
core::WidePs draft_ps(const Replica::State& s, const Spec& spec) {
  if (spec.speculation.tokens == 0) return 0;
  for (const Live& r : s.flight) {
    if (r.batch == s.batches && r.prompt_done())
      return core::WidePs{spec.speculation.draft.ps} * spec.speculation.tokens;
  }
  return 0;
}

}  // namespace

core::WidePs ps_beside_model(const Replica::State& s, const Spec& spec) {
  const core::WidePs bytes = core::WidePs{s.swapped_blocks} * spec.block_tokens *
                             spec.swap.token_bytes;
  const core::WidePs copies = (bytes * core::kPicosecondsPerSecond + spec.swap.bytes_per_s - 1) /
                              spec.swap.bytes_per_s;
  return copies + draft_ps(s, spec);
}

// A step in which somebody was preempted and nobody computes is over at once, and the engine has
// the next.
void BatchFormer::vllm_v1() {
  Step step;
  do {
    sort_running_by_admission();
    step = continue_running();
  } while (step == Step::preempted && formed_ == 0);
  if (step == Step::complete) admit_waiting();
}

// Tokens that are not computed yet, with a draft where the request decodes.
std::uint32_t BatchFormer::wanted_tokens(const Live& r) const {
  const std::uint32_t room = spec_.batch_tokens_max - formed_tokens_;
  const std::uint32_t wanted =
      r.prompt_done() ? std::min(1 + spec_.speculation.tokens, r.total() - r.processed)
                      : r.prefill - r.processed;
  return std::min(wanted, room);
}

// The last token that a decoding request has is not computed yet.
std::uint64_t BatchFormer::computed_before(const Live& r) {
  return r.processed - (r.prompt_done() ? 1 : 0);
}

std::uint32_t BatchFormer::blocks_missing(const Live& r, std::uint32_t tokens) const {
  const std::uint32_t needed = spec_.blocks_for(computed_before(r) + tokens);
  return needed > r.blocks ? needed - r.blocks : 0;
}

BatchFormer::Step BatchFormer::continue_running() {
  const std::uint32_t restarts = s_.restarts;
  std::uint32_t next = 0;
  while (next < s_.running.size() && formed_tokens_ < spec_.batch_tokens_max) {
    Live request = s_.running[next++];
    pool_.pass(request, computed_before(request));
    const std::uint32_t tokens = wanted_tokens(request);
    const std::uint32_t missing = blocks_missing(request, tokens);
    Victim victim = Victim::other;
    while (pool_.available() < pool_.cost(missing) && victim == Victim::other)
      victim = preempt_for(request, next);
    if (victim == Victim::itself) break;
    if (victim == Victim::under_way) {
      s_.running.assign(ctx_, next - 1, request);
      drop_running(0, next - 1);
      return Step::waiting;
    }
    pool_.hold(request, missing);
    // A draft is not known to be right, so it fills nothing.
    pool_.fill(request, request.prompt_done() ? request.processed : request.processed + tokens);
    add(request, tokens);
  }
  drop_running(0, next);
  return restarts == s_.restarts ? Step::complete : Step::preempted;
}

// Whether somebody who comes behind `request` is in another batch under way.
bool BatchFormer::has_later_under_way(const Live& request) const {
  return std::any_of(s_.flight.begin(), s_.flight.end(), [&](const Live& r) {
    if (r.batch == s_.batches) return false;
    return by_priority() ? rank_of(r.request) > rank_of(request.request)
                         : r.admitted > request.admitted;
  });
}

// Of the requests between two batches and those of this batch the last one gives its blocks back:
// the one that entered last, or that of the least priority. `next` is where in `running` those are
// that this batch has not looked at. `request` itself keeps its own while somebody behind it is
// under way: two that gave way to each other in turns would never be done.
BatchFormer::Victim BatchFormer::preempt_for(const Live& request, std::uint32_t next) {
  const std::uint32_t size = s_.running.size();
  std::uint32_t victim = size;  // of `running`; its size: `request`
  if (!by_priority() && next < size) victim = size - 1;
  std::uint64_t most = rank_of(request.request);
  for (std::uint32_t i = next; by_priority() && i < size; ++i) {
    if (rank_of(s_.running[i].request) <= most) continue;
    most = rank_of(s_.running[i].request);
    victim = i;
  }
  std::uint32_t in_batch = s_.flight.size();
  for (std::uint32_t i = 0; by_priority() && i < s_.flight.size(); ++i) {
    const Live& r = s_.flight[i];
    if (r.batch != s_.batches || rank_of(r.request) <= most) continue;
    most = rank_of(r.request);
    in_batch = i;
  }
  if (in_batch < s_.flight.size()) {
    const Live r = s_.flight[in_batch];
    s_.flight.erase(ctx_, in_batch);
    --formed_;
    formed_tokens_ -= r.tokens;
    preempt(r);
    return Victim::other;
  }
  if (victim < size) {
    preempt(s_.running[victim]);
    s_.running.erase(ctx_, victim);
    return Victim::other;
  }
  if (has_later_under_way(request)) return Victim::under_way;
  preempt(request);
  return Victim::itself;
}

// Swapped, it goes on where it was when its blocks are back; else what it had is its prompt.
void BatchFormer::preempt(Live request) {
  const std::uint32_t blocks = request.blocks;
  const bool has_host_room =
      spec_.swap.host_blocks >= s_.host_blocks && spec_.swap.host_blocks - s_.host_blocks >= blocks;
  pool_.release(request);
  if (spec_.preemption == Preemption::swap && has_host_room) {
    request.blocks = blocks;
    ctx_.add(s_.host_blocks, blocks);
    ctx_.add(s_.swapped_blocks, blocks);
    ctx_.add(s_.swaps, 1);
  } else if (request.prompt_done()) {
    request.decode = request.total() - request.processed;
    request.prefill = request.processed;
    request.processed = 0;
  } else {
    request.processed = 0;
  }
  ++request.restarts;
  ctx_.add(s_.restarts, 1);
  s_.restarted.push_back(ctx_, request);
  --left_;
}

void BatchFormer::admit_waiting() {
  while (has_head() && formed_tokens_ < spec_.batch_tokens_max) {
    if (s_.holders == spec_.batch_requests_max) return;
    Live next = head();
    const std::uint32_t on_host = std::exchange(next.blocks, 0);
    const KvPool::Found found = on_host == 0 ? pool_.find(next) : KvPool::Found{};
    Live entered = next;
    if (on_host == 0) entered.processed = found.blocks * spec_.block_tokens;
    const std::uint32_t tokens = wanted_tokens(entered);
    const bool is_cut = !next.prompt_done() && tokens < entered.prefill - entered.processed;
    if (is_cut && !spec_.chunked_prefill) return;
    const std::uint32_t blocks = std::max(blocks_to_enter(entered, tokens), on_host);
    if (pool_.available() < pool_.needed(found, blocks) + headroom(s_, spec_)) return;
    pop_head();
    if (on_host != 0) {
      ctx_.set(s_.host_blocks, s_.host_blocks - on_host);
      ctx_.add(s_.swapped_blocks, on_host);
      pool_.hold(next, on_host);
    }
    admit_found(next, found, tokens);
  }
}

std::uint32_t BatchFormer::blocks_to_enter(const Live& entered, std::uint32_t tokens) const {
  const bool whole_prompt = spec_.reserve_prompt || spec_.keys_by_layer;
  if (whole_prompt && !entered.prompt_done()) return spec_.blocks_for(entered.prefill);
  Live blank = entered;
  blank.blocks = 0;
  return blocks_missing(blank, tokens);
}

std::int64_t headroom(const Replica::State& s, const Spec& spec) {
  if (s.holders == 0) return 0;
  return static_cast<std::int64_t>(std::floor(spec.watermark * spec.blocks));
}

void BatchFormer::admit_found(Live request, KvPool::Found found, std::uint32_t tokens) {
  if (request.restarts == 0) {
    ctx_.add(s_.prompt_tokens, request.prefill);
    ctx_.add(s_.found_tokens, std::uint64_t{found.blocks} * spec_.block_tokens);
  }
  ctx_.add(s_.holders, 1);
  request.admitted = s_.admissions;
  ctx_.add(s_.admissions, 1);
  if (found.blocks != 0) pool_.take(request, found);
  // Nobody takes blocks from a prompt whose keys are on their way.
  const bool holds_all = spec_.keys_by_layer && !request.prompt_done();
  pool_.hold(request, holds_all ? spec_.blocks_for(request.prefill) - request.blocks
                                : blocks_missing(request, tokens));
  pool_.fill(request, request.prompt_done() ? request.processed : request.processed + tokens);
  add(request, tokens);
}

std::uint32_t BatchFormer::computed(const Live& r) {
  const std::uint32_t drafted = r.tokens - 1;
  if (!r.prompt_done() || drafted == 0) return r.tokens;
  const std::uint64_t stream = core::stream_of(ctx_.seed(), kDraftStream, r.request);
  const auto threshold =
      static_cast<std::uint64_t>(spec_.speculation.acceptance * 0x1p53);
  std::uint32_t accepted = 0;
  for (; accepted < drafted; ++accepted) {
    const std::uint64_t step = std::uint64_t{r.processed} * kDraftMax + accepted;
    if (core::random_bits(stream, step) >> 11 >= threshold) break;
  }
  ctx_.add(s_.drafted, drafted);
  ctx_.add(s_.accepted, accepted);
  return accepted + 1;
}

// By priority, and of equal ones by arrival.
std::uint64_t rank_of(const Spec& spec, std::uint32_t request) {
  if (spec.priorities.empty()) return request;
  const std::int64_t priority = spec.priorities[spec.requests[request].class_id];
  return static_cast<std::uint64_t>(priority + (std::int64_t{1} << 31)) << 32 | request;
}

void BatchFormer::push_ranked(std::uint32_t request) {
  pdes::heap_push(s_.ranked, ctx_, request, [this](std::uint32_t a, std::uint32_t b) {
    return rank_of(a) < rank_of(b);
  });
}

void BatchFormer::pop_ranked() {
  pdes::heap_erase(s_.ranked, ctx_, 0, [this](std::uint32_t a, std::uint32_t b) {
    return rank_of(a) < rank_of(b);
  });
}

}  // namespace exawarp::model::serving
