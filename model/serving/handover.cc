// Of a request under way between pools, Live::batch is the replica at its other end and
// Live::first_token_ps what it was; while it arrives, Live::tokens counts messages.
#include "model/serving/handover.h"

#include "model/serving/batch_former.h"
#include "model/serving/kv_pool.h"
#include "model/serving/on_devices.h"

namespace exawarp::model::serving {
namespace {

using pdes::Context;

constexpr std::uint32_t kNowhere = 0xffffffff;

std::uint32_t find(const pdes::UndoVector<Live>& lives, std::uint64_t request) {
  for (std::uint32_t i = 0; i < lives.size(); ++i)
    if (lives[i].request == request) return i;
  return kNowhere;
}

// Reserves and pulls.
void take(Replica::State& s, const Offer& offer, std::uint32_t blocks, const Spec& spec,
          Context& ctx) {
  const auto& serving = ctx.model<Serving>();
  const Request& asked = spec.requests[offer.request];
  Live request{.request = offer.request,
               .prefill = asked.prefill,
               .decode = asked.decode,
               .processed = asked.prefill + 1,
               .restarts = offer.restarts,
               .first_token_ps = offer.first_token_ps,
               .batch = offer.from};
  if (spec.policy == Policy::vllm_v1 || !spec.turns.empty()) {
    request.admitted = s.admissions;
    ctx.add(s.admissions, 1);
  }
  KvPool(s, spec, ctx).hold(request, blocks);
  ctx.add(s.holders, 1);
  s.arriving.push_back(ctx, request);
  // When it was asked for, until it comes.
  s.asked_ps.push_back(ctx, ctx.now().ps);
  ctx.send(serving.replica(offer.from), spec.latency, kPull,
           PullEvent{.request = offer.request,
                     .to = serving.index_of(ctx.self()) - serving.spec().replicas});
}

// With vllm_v1 those that were preempted come first.
bool may_take(const Replica::State& s, const Spec& spec) {
  return spec.policy != Policy::vllm_v1 || s.restarted.empty();
}

// Blocks that an offer leaves to what runs: as a prompt of the same policy does.
std::int64_t left_free(const Replica::State& s, const Spec& spec) {
  return spec.policy == Policy::vllm_v1 ? headroom(s, spec) : spec.blocks / 100;
}

// Puts the offer first that priority puts first; the others stay in the order of their coming.
void bring_first(Replica::State& s, const Spec& spec, Context& ctx) {
  if (!by_priority(spec)) return;
  const std::uint32_t size = s.offers.size();
  std::uint32_t first = 0;
  for (std::uint32_t i = 1; i < size; ++i) {
    if (rank_of(spec, s.offers[i].request) < rank_of(spec, s.offers[first].request)) first = i;
  }
  if (first == 0) return;
  const Offer chosen = s.offers[first];
  // Once around, with the chosen one before the rest.
  for (std::uint32_t i = 0; i < size; ++i) {
    const Offer offer = s.offers.front();
    s.offers.pop_front(ctx);
    if (i == 0) s.offers.push_back(ctx, chosen);
    if (i != first) s.offers.push_back(ctx, offer);
  }
}

}  // namespace

void hand_over(Replica::State& s, const Live& request, Context& ctx) {
  const auto& serving = ctx.model<Serving>();
  s.leaving.push_back(ctx, request);
  ctx.send(serving.router(), serving.spec().latency, kOffered,
           Offer{.request = request.request,
                 .from = serving.index_of(ctx.self()),
                 .first_token_ps = request.first_token_ps,
                 .restarts = request.restarts});
}

void send_keys(Replica::State& s, const PullEvent& pull, const Spec& spec, Context& ctx) {
  const bool is_here = find(s.leaving, pull.request) != kNowhere && spec.devices != nullptr;
  ctx.check(is_here, "serving: keys and values were asked for that are not here");
  if (!is_here) return;
  const auto& serving = ctx.model<Serving>();
  const OnDevices& devices = *spec.devices;
  const TransferDue due{.request = pull.request,
                        .tokens = spec.requests[pull.request].prefill,
                        .replica = pull.to,
                        .unused = 0};
  for (std::uint32_t rank = 0; rank < devices.layout.replica_devices(); ++rank) {
    ctx.send(devices.device(serving.index_of(ctx.self()), rank), spec.latency,
             static_cast<pdes::EventKind>(DeviceEvent::transfer_due), due);
  }
}

void let_go(Replica::State& s, const TakenEvent& taken, const Spec& spec, Context& ctx) {
  const std::uint32_t i = find(s.leaving, taken.request);
  ctx.check(i != kNowhere, "serving: a request was taken that was not offered");
  if (i == kNowhere) return;
  Live request = s.leaving[i];
  s.leaving.erase(ctx, i);
  KvPool(s, spec, ctx).release(request);
  account_present(s, ctx);
  ctx.add(s.finished, 1);
  ask_for_schedule(s, ctx);
}

void take_offer(Replica::State& s, const Offer& offer, const Spec& spec, Context& ctx) {
  account_present(s, ctx);
  ctx.add(s.arrived, 1);
  s.offers.push_back(ctx, offer);
  take_offers(s, spec, ctx);
}

// As prompts are admitted.
void take_offers(Replica::State& s, const Spec& spec, Context& ctx) {
  const KvPool pool(s, spec, ctx);
  while (!s.offers.empty() && s.holders < spec.batch_requests_max && may_take(s, spec)) {
    bring_first(s, spec, ctx);
    const Offer offer = s.offers.front();
    const std::uint32_t blocks = pool.blocks_for(spec.requests[offer.request].prefill);
    if (pool.available() - blocks < left_free(s, spec)) break;
    s.offers.pop_front(ctx);
    take(s, offer, blocks, spec, ctx);
  }
}

void count_keys(Replica::State& s, const KeysCameEvent& came, const Spec& spec, Context& ctx) {
  const std::uint32_t i = find(s.arriving, came.request);
  const bool is_expected = i != kNowhere && spec.devices != nullptr;
  ctx.check(is_expected, "serving: keys and values came that nobody asked for");
  if (!is_expected) return;
  Live request = s.arriving[i];
  ++request.tokens;
  s.arriving.assign(ctx, i, request);
  if (request.tokens < spec.devices->key_messages) return;
  const auto& serving = ctx.model<Serving>();
  ctx.emit(kTakenChannel, request.request, static_cast<std::uint64_t>(s.asked_ps[i]),
           static_cast<std::uint64_t>(ctx.now().ps));
  ctx.send(serving.replica(request.batch), spec.latency, kTaken, TakenEvent{request.request});
  s.arriving.erase(ctx, i);
  s.asked_ps.erase(ctx, i);
  request.batch = request.tokens = 0;
  s.running.push_back(ctx, request);
  ask_for_schedule(s, ctx);
}

}  // namespace exawarp::model::serving
