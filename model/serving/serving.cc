// The model of serving: its check, its start, and the router; serving.h, replica.h.
#include "model/serving/serving.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "core/error.h"
#include "core/exponential.h"
#include "core/random.h"
#include "model/serving/kv_pool.h"
#include "model/serving/replica.h"
#include "model/serving/token_gaps.h"
#include "pdes/context.h"

namespace exawarp::model::serving {
namespace {

using pdes::Context;

// What a draw is for.
enum class Purpose : std::uint64_t { interval, prefill, decode, route, hand_over };

std::uint64_t draw(std::uint64_t seed, Purpose purpose, std::uint64_t number) {
  constexpr std::uint64_t kServing = 0x73657276696e67;
  return core::random_bits(core::stream_of(seed, kServing, static_cast<std::uint64_t>(purpose)),
                           number);
}

void require_range(std::string_view what, std::uint64_t value, std::uint64_t least,
                   std::uint64_t most) {
  if (value < least || value > most)
    throw core::InputError(fmt::format("{}: \"{}\"; expected {} to {}", what, value, least, most));
}

void check_request(const Spec& spec, std::size_t i) {
  const Request& r = spec.requests[i];
  const std::uint64_t tokens = std::uint64_t{r.prefill} + r.decode;
  const bool is_good = r.prefill > 0 && r.decode > 0 && tokens <= spec.request_tokens_max;
  if (!is_good)
    throw core::InputError(fmt::format(
        "request {}: \"{} + {} tokens\"; expected at least 1 of each, and {} together at most", i,
        r.prefill, r.decode, spec.request_tokens_max));
  if (!spec.priorities.empty() && r.class_id >= spec.priorities.size())
    throw core::InputError(fmt::format("request {}: \"class {}\"; expected one of {}", i,
                                       r.class_id, spec.priorities.size()));
  if (r.arrival < core::Time{0} || (i > 0 && r.arrival < spec.requests[i - 1].arrival))
    throw core::InputError(fmt::format(
        "request {}: \"{} ps\" is before the one before it; expected requests by arrival", i,
        r.arrival.ps));
}

// A pool that one request alone could fill would leave that request waiting for ever.
void check_room(const Spec& spec) {
  const std::uint64_t most = spec.request_tokens_max;
  const std::int64_t needed = most_at_once(spec.blocks_for(most), spec) + spec.blocks / 100 + 1;
  if (std::int64_t{spec.blocks} < needed)
    throw core::InputError(fmt::format(
        "blocks: \"{}\" of {} tokens; expected at least {}, the need of one request of {} tokens",
        spec.blocks, spec.block_tokens, needed, most));
  const bool batches_prompts = spec.policy == Policy::vllm || spec.policy == Policy::lightllm;
  if (batches_prompts && spec.batch_tokens_max < most)
    throw core::InputError(
        fmt::format("tokens of a batch: \"{}\"; expected at least those of a request, {}",
                    spec.batch_tokens_max, most));
  if (spec.policy == Policy::lightllm && (spec.stages != 1 || spec.block_tokens != 1))
    throw core::InputError(
        fmt::format("lightllm: \"{} stages, blocks of {} tokens\"; expected 1 and 1", spec.stages,
                    spec.block_tokens));
}

// Prefixes name only what there is, and nothing that comes later.
void check_prefixes(const Spec& spec) {
  const Prefixes& prefixes = spec.prefixes;
  require_range("tokens of a hash id", prefixes.id_tokens, 1, 1u << 24);
  if (prefixes.of.empty()) return;
  if (prefixes.of.size() != spec.requests.size())
    throw core::InputError(fmt::format("prefixes: \"{}\"; expected one a request, {}",
                                       prefixes.of.size(), spec.requests.size()));
  for (std::size_t i = 0; i < prefixes.of.size(); ++i) {
    const Prefix& p = prefixes.of[i];
    if (p.parent > i || p.ids_begin + p.ids > prefixes.ids.size())
      throw core::InputError(fmt::format("request {}: its prefix names what is not there", i));
  }
}

// Each request that waits does so for one that comes before it, and for no other.
void check_turns(const Spec& spec) {
  if (spec.turns.empty()) return;
  if (spec.turns.size() != spec.requests.size())
    throw core::InputError(fmt::format("turns: \"{}\"; expected one a request, {}",
                                       spec.turns.size(), spec.requests.size()));
  std::vector<bool> waits(spec.turns.size());
  for (std::size_t i = 0; i < spec.turns.size(); ++i) {
    const Turn& turn = spec.turns[i];
    if (turn.next == 0) continue;
    const bool is_good = turn.next > i + 1 && turn.next <= spec.turns.size() &&
                         !waits[turn.next - 1] && turn.think >= core::Time{0};
    if (!is_good)
      throw core::InputError(fmt::format("request {}: its next turn is no later one", i));
    waits[turn.next - 1] = true;
  }
  for (std::size_t i = 0; i < spec.turns.size(); ++i) {
    if (waits[i] != (spec.turns[i].waits != 0))
      throw core::InputError(fmt::format("request {}: waits for no other", i));
  }
}

// What the engine of the rules vllm_v1 has, and the others do not.
void check_engine(const Spec& spec) {
  const bool is_v1 = spec.policy == Policy::vllm_v1;
  const auto only_v1 = [&](bool is_asked, std::string_view what) {
    if (is_asked && !is_v1)
      throw core::InputError(
          fmt::format("{}: is for the policy vllm_v1 alone; expected that policy", what));
  };
  only_v1(spec.order != Order::first_come, "order");
  only_v1(spec.prefix_cache, "prefix_cache");
  only_v1(spec.preemption != Preemption::recompute, "preemption");
  only_v1(spec.speculation.tokens != 0, "speculation");
  only_v1(!spec.chunked_prefill, "chunked_prefill");
  only_v1(spec.groups != CacheGroups{}, "groups of layers");
  require_range("tokens of a draft", spec.speculation.tokens, 0, kDraftMax);
  const bool is_share = spec.speculation.acceptance >= 0 && spec.speculation.acceptance <= 1;
  if (!is_share || !(spec.watermark >= 0 && spec.watermark < 1))
    throw core::InputError("acceptance, watermark: expected a share from 0 to 1");
  if (spec.swap.token_bytes < 1 || spec.swap.bytes_per_s < 1)
    throw core::InputError("swap: expected bytes of a token and a bandwidth above 0");
  if (spec.preemption == Preemption::swap && spec.swap.host_blocks == 0)
    throw core::InputError("swap.host_blocks: \"0\"; expected room on the host, at least 1");
  if (!spec.chunked_prefill && spec.batch_tokens_max < spec.request_tokens_max)
    throw core::InputError(
        fmt::format("tokens of a batch: \"{}\"; expected at least those of a request, {}, where "
                    "prompts are not cut",
                    spec.batch_tokens_max, spec.request_tokens_max));
}

void check_groups(const Spec& spec) {
  constexpr std::uint32_t kGroupsMax = 1u << 20;
  const CacheGroups& groups = spec.groups;
  if (groups == CacheGroups{}) return;
  require_range("groups of layers", std::uint64_t{groups.full} + groups.windowed, 1, kGroupsMax);
  if (groups.windowed != 0) require_range("tokens of a window", groups.window, 1, 1u << 30);
  const auto refuse = [](bool is_asked, std::string_view what) {
    if (is_asked)
      throw core::InputError(fmt::format(
          "{}: takes blocks of all layers alike; expected none beside groups of layers", what));
  };
  refuse(spec.preemption == Preemption::swap, "preemption: swap");
  refuse(spec.hands_over || spec.keys_by_layer, "a decode pool");
}

std::uint32_t between(Uniform range, std::uint64_t bits) {
  const std::uint64_t width = std::uint64_t{range.most} - range.least + 1;
  return range.least + static_cast<std::uint32_t>(bits % width);
}

// Of `spec`'s replicas, the first of which is `first`, that with fewest requests waiting.
std::uint32_t shortest_queue(const RouterProcess::State& s, const Spec& spec,
                             std::uint32_t first) {
  const auto* from = s.queued.begin() + first;
  return static_cast<std::uint32_t>(std::min_element(from, from + spec.replicas) -
                                    s.queued.begin());
}

// Where the request is whose beginning it continues, unless too many wait there. Others go to the
// shortest queue, of equal ones in turns: a session stays where it began.
std::uint32_t home_of(const RouterProcess::State& s, const Spec& spec, std::uint64_t request) {
  auto shortest = static_cast<std::uint32_t>(request % spec.replicas);
  const std::uint32_t least = s.queued[shortest_queue(s, spec, 0)];
  while (s.queued[shortest] != least) shortest = (shortest + 1) % spec.replicas;
  const std::uint32_t parent = spec.prefixes.of.empty() ? 0 : spec.prefixes.of[request].parent;
  if (parent == 0 || parent > s.homes.size()) return shortest;
  const std::uint32_t home = s.homes[parent - 1];
  const bool is_overloaded =
      s.queued[home] > std::uint64_t{s.queued[shortest]} + spec.router_slack;
  return is_overloaded ? shortest : home;
}

// Of `spec`'s replicas, the first of which is `first`, that of a request, the `turn`-th of all
// that are taken in turns. Those that take over have no prefixes.
std::uint32_t choose(const RouterProcess::State& s, const Spec& spec, std::uint32_t first,
                     std::uint64_t request, std::uint64_t turn, std::uint64_t seed) {
  switch (spec.router) {
    case Router::round_robin:
      break;
    case Router::random: {
      const Purpose purpose = first == 0 ? Purpose::route : Purpose::hand_over;
      return first + static_cast<std::uint32_t>(draw(seed, purpose, request) % spec.replicas);
    }
    case Router::least_outstanding:
      return shortest_queue(s, spec, first);
    case Router::prefix:
      return first == 0 ? home_of(s, spec, request) : shortest_queue(s, spec, first);
  }
  return first + static_cast<std::uint32_t>(turn % spec.replicas);
}

void count_queued(RouterProcess::State& s, std::uint32_t replica, Context& ctx) {
  if (replica < s.queued.size()) s.queued.assign(ctx, replica, s.queued[replica] + 1);
}

// In order of coming: of requests by their number, but in a closed loop.
void set_home(RouterProcess::State& s, const Spec& spec, std::uint64_t request,
              std::uint32_t replica, Context& ctx) {
  if (spec.router != Router::prefix) return;
  if (spec.turns.empty()) return s.homes.extend(ctx, replica);
  s.homes.assign(ctx, static_cast<std::uint32_t>(request), replica);
}

// To a replica that computes its prompt.
void route(RouterProcess::State& s, std::uint64_t request, Context& ctx) {
  const auto& serving = ctx.model<Serving>();
  const Spec& spec = serving.spec();
  const std::uint32_t replica = choose(s, spec, 0, request, s.routed, ctx.seed());
  count_queued(s, replica, ctx);
  set_home(s, spec, request, replica, ctx);
  ctx.add(s.routed, 1);
  ctx.send(serving.replica(replica), spec.latency, kArrive, ArriveEvent{request});
}

// A request whose user has read the answer to the one before it.
void follow(RouterProcess::State& s, std::uint64_t request, Context& ctx) {
  const Spec& spec = ctx.model<Serving>().spec();
  if (request >= spec.turns.size() || spec.turns[request].waits == 0)
    return ctx.check(false, "a router was told of a turn that there is not");
  ctx.emit(kCameChannel, request, static_cast<std::uint64_t>(ctx.now().ps), 0);
  route(s, request, ctx);
}

// All that arrive at this instant, then the wake-up for the next. Those that wait for an answer
// come by follow().
void route_from(RouterProcess::State& s, std::uint64_t request, Context& ctx) {
  const Spec& spec = ctx.model<Serving>().spec();
  for (; request < spec.requests.size(); ++request) {
    if (!spec.turns.empty() && spec.turns[request].waits != 0) continue;
    const core::Time arrival = core::sum_to_end(spec.requests[request].arrival, kStart);
    if (arrival > ctx.now())
      return ctx.send(ctx.self(), arrival - ctx.now(), kNext, NextEvent{request});
    route(s, request, ctx);
  }
}

// To a replica that decodes.
void pass_on(RouterProcess::State& s, const Offer& offer, Context& ctx) {
  const auto& serving = ctx.model<Serving>();
  if (serving.decoding() == nullptr) return ctx.check(false, "a router was offered a request");
  const Spec& spec = *serving.decoding();
  const std::uint32_t to =
      choose(s, spec, serving.spec().replicas, offer.request, offer.request, ctx.seed());
  count_queued(s, to, ctx);
  ctx.send(serving.replica(to), spec.latency, kOffer, offer);
}

}  // namespace

void check(const Spec& spec) {
  constexpr std::uint64_t kMany = std::uint64_t{1} << 24;
  require_range("replicas", spec.replicas, 1, 1u << 20);
  require_range("stages", spec.stages, 1, kStagesMax);
  require_range("blocks", spec.blocks, 1, 1u << 31);
  require_range("tokens of a block", spec.block_tokens, 1, 1u << 16);
  require_range("tokens of a request", spec.request_tokens_max, 2, kMany);
  require_range("tokens of a batch", spec.batch_tokens_max, 1, kMany);
  require_range("tokens of a chunk", spec.chunk_tokens, 1, kMany);
  require_range("requests of a batch", spec.batch_requests_max, spec.stages, kBatchRequestsMax);
  require_range("reserved requests", spec.reserved_requests_max, 1, kBatchRequestsMax);
  require_range("requests", spec.requests.size(), 1, 1ull << 31);
  require_range("latency in ps", static_cast<std::uint64_t>(spec.latency.ps), 1,
                static_cast<std::uint64_t>(core::kEndOfTime.ps));
  for (const core::Time time :
       {spec.time.base, spec.time.per_token, spec.time.per_context, spec.time.per_pair_half})
    require_range("time of a batch in ps", static_cast<std::uint64_t>(time.ps), 0,
                  static_cast<std::uint64_t>(core::kPicosecondsPerSecond));
  for (std::size_t i = 0; i < spec.requests.size(); ++i) check_request(spec, i);
  check_prefixes(spec);
  check_turns(spec);
  check_engine(spec);
  check_groups(spec);
  check_room(spec);
}

std::vector<Request> poisson_requests(const PoissonSpec& spec, std::uint64_t seed) {
  std::vector<Request> requests;
  requests.reserve(spec.requests);
  core::Time arrival{0};
  for (std::uint32_t i = 0; i < spec.requests; ++i) {
    requests.push_back({.arrival = arrival,
                        .prefill = between(spec.prefill, draw(seed, Purpose::prefill, i)),
                        .decode = between(spec.decode, draw(seed, Purpose::decode, i))});
    const core::Time interval =
        core::exponential(spec.mean_interval, draw(seed, Purpose::interval, i));
    arrival = core::sum_to_end(arrival, interval);
  }
  return requests;
}

Serving::Serving(Spec spec, std::optional<Spec> decoding, const ServingPlace& place)
    : spec_(std::move(spec)),
      decoding_(std::move(decoding)),
      types_{pdes::make_lp_type<Replica>("replica"), pdes::make_lp_type<RouterProcess>("router")} {
  check(spec_);
  if (decoding_) check(*decoding_);
  const std::uint32_t behind = place.first.value + replicas();
  ranges_[0] = {place.first, replicas(), 0};
  ranges_[1] = {pdes::LpId{(behind + place.atom - 1) / place.atom * place.atom}, 1, 1};
}

void Serving::initialise(pdes::LpId lp, void* state, Context& ctx) const {
  if (lp != router()) {
    auto& s = *static_cast<Replica::State*>(state);
    const std::uint32_t stages = spec_of(index_of(lp)).stages;
    for (std::uint32_t i = 0; i < stages; ++i) s.stage_free_ps.push_back(ctx, 0);
    s.gaps.reserve(ctx, kGapBins);
    for (std::uint32_t i = 0; i < kGapBins; ++i) s.gaps.extend(ctx, 0);
    return;
  }
  auto& s = *static_cast<RouterProcess::State*>(state);
  const bool is_heard =
      hears_of_queues(spec_.router) || (decoding_ && hears_of_queues(decoding_->router));
  if (is_heard) {
    s.queued.reserve(ctx, replicas());
    for (std::uint32_t i = 0; i < replicas(); ++i) s.queued.push_back(ctx, 0);
  }
  if (spec_.router == Router::prefix && !spec_.turns.empty()) {
    const auto requests = static_cast<std::uint32_t>(spec_.requests.size());
    s.homes.reserve(ctx, requests);
    for (std::uint32_t i = 0; i < requests; ++i) s.homes.push_back(ctx, 0);
  }
  route_from(s, 0, ctx);
}

void RouterProcess::handle(State& s, const pdes::Event& event, Context& ctx) {
  switch (event.kind) {
    case kNext:
      return route_from(s, event.as<NextEvent>().request, ctx);
    case kLeft: {
      const auto left = event.as<LeftEvent>();
      if (left.replica >= s.queued.size())
        return ctx.check(false, "a router heard of an unknown replica");
      const std::int64_t queued = std::int64_t{s.queued[left.replica]} - left.requests;
      ctx.check(queued >= 0, "serving: more requests left a queue than came");
      return s.queued.assign(ctx, left.replica, static_cast<std::uint32_t>(queued));
    }
    case kOffered:
      return pass_on(s, event.as<Offer>(), ctx);
    case kFollow:
      return follow(s, event.as<NextEvent>().request, ctx);
    default:
      return ctx.check(false, "a router received an event of no known kind");
  }
}

void RouterProcess::describe(State& s, pdes::StateArchive& archive) {
  s.queued.describe(archive, [&](std::uint32_t& queued) { archive.word(queued); });
  s.homes.describe(archive, [&](std::uint32_t& home) { archive.word(home); });
  archive.word(s.routed);
}

}  // namespace exawarp::model::serving
