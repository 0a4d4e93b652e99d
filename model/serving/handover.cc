// Of a request under way between pools, Live::batch is the replica at its other end and
// Live::first_token_ps what it was; while it arrives, Live::tokens counts messages, or, layer by
// layer, tokens of messages, and Live::first_token_ps is 0 until the prompt is done.
#include "model/serving/handover.h"

#include <algorithm>

#include "model/serving/batch_former.h"
#include "model/serving/kv_pool.h"
#include "model/serving/on_devices.h"

namespace exawarp::model::serving {
namespace {

using pdes::Context;

template <class T>
std::uint32_t find(const pdes::UndoVector<T>& all, std::uint64_t request) {
  for (std::uint32_t i = 0; i < all.size(); ++i)
    if (all[i].request == request) return i;
  return kNowhere;
}

void offer(const Live& request, Context& ctx) {
  const auto& serving = ctx.model<Serving>();
  ctx.send(serving.router(), serving.spec().latency, kOffered,
           Offer{.request = request.request,
                 .from = serving.index_of(ctx.self()),
                 .first_token_ps = request.first_token_ps,
                 .restarts = request.restarts});
}

// Those that have `request`'s keys and values.
template <class Due>
void tell_devices(const Spec& spec, const Live& request, DeviceEvent what, const Due& due,
                  Context& ctx) {
  const std::uint32_t replica = ctx.model<Serving>().index_of(ctx.self());
  const PoolLayout& layout = spec.devices->layout;
  const std::uint32_t group = group_of(spec, request);
  for (std::uint32_t i = 0; i < layout.group_devices(); ++i) {
    ctx.send(spec.devices->device(replica, rank_of_group(layout, group, i)), spec.latency,
             static_cast<pdes::EventKind>(what), due);
  }
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
  if (counts_admissions(spec)) {
    request.admitted = s.admissions;
    ctx.add(s.admissions, 1);
  }
  KvPool(s, spec, ctx).hold(request, blocks);
  ctx.add(s.holders, 1);
  s.arriving.push_back(ctx, request);
  // When it was asked for, until it comes.
  s.asked_ps.push_back(ctx, ctx.now().ps);
  const std::uint32_t replica = serving.index_of(ctx.self()) - serving.spec().replicas;
  ctx.send(serving.replica(offer.from), spec.latency, kPull,
           PullEvent{.request = offer.request,
                     .to = replica * groups_of(spec) + group_of(spec, request)});
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

// The `i`-th of `ahead` has a place to go to: devices are told of what is new of `request`, which
// may be in a batch under way.
void send_ahead(Replica::State& s, std::uint32_t i, const Live& request, bool in_flight,
                const Spec& spec, Context& ctx) {
  KeysAhead ahead = s.ahead[i];
  const auto send_until = [&](std::uint32_t tokens, std::uint32_t batch) {
    if (tokens <= ahead.sent) return;
    tell_devices(spec, request, DeviceEvent::keys_due,
                 KeysDue{.request = ahead.request,
                         .tokens = tokens - ahead.sent,
                         .group = ahead.to,
                         .batch = batch},
                 ctx);
    ahead.sent = tokens;
  };
  send_until(std::min(request.processed, request.prefill), kComputedBefore);
  if (in_flight) send_until(request.processed + request.tokens, request.batch);
  s.ahead.assign(ctx, i, ahead);
}

// To the replica that has group `to`.
void say_prompted(const Live& request, std::uint32_t to, const Spec& spec, Context& ctx) {
  const auto& serving = ctx.model<Serving>();
  const std::uint32_t replica = to / groups_of(*serving.decoding());
  ctx.send(serving.replica(serving.spec().replicas + replica), spec.latency, kPrompted,
           PromptedEvent{.request = request.request,
                         .restarts = request.restarts,
                         .first_token_ps = request.first_token_ps});
}

// The other pool has room for a request whose keys go layer by layer.
void begin_ahead(Replica::State& s, const PullEvent& pull, const Spec& spec, Context& ctx) {
  const std::uint32_t i = find(s.ahead, pull.request);
  ctx.check(i != kNowhere, "serving: there is room for a request that was not offered");
  if (i == kNowhere) return;
  KeysAhead ahead = s.ahead[i];
  ahead.to = pull.to;
  s.ahead.assign(ctx, i, ahead);
  if (const std::uint32_t at = find(s.leaving, pull.request); at != kNowhere) {
    send_ahead(s, i, s.leaving[at], false, spec, ctx);
    return say_prompted(s.leaving[at], pull.to, spec, ctx);
  }
  if (const std::uint32_t at = find(s.flight, pull.request); at != kNowhere) {
    return send_ahead(s, i, s.flight[at], true, spec, ctx);
  }
  const std::uint32_t at = find(s.running, pull.request);
  if (at != kNowhere) send_ahead(s, i, s.running[at], false, spec, ctx);
}

// Where `request` is among `arriving`, for which something has come; kNowhere, and a check that
// fails with `wrong`, if nobody waits for it.
std::uint32_t find_awaited(const Replica::State& s, std::uint64_t request, const char* wrong,
                           const Spec& spec, Context& ctx) {
  const std::uint32_t i = spec.devices == nullptr ? kNowhere : find(s.arriving, request);
  ctx.check(i != kNowhere, wrong);
  return i;
}

// Once all has come of the `i`-th of `arriving`, it decodes on.
void settle_arrival(Replica::State& s, std::uint32_t i, const Spec& spec, Context& ctx) {
  Live request = s.arriving[i];
  const std::uint32_t messages = spec.devices->key_messages;
  const std::uint32_t all =
      spec.keys_by_layer ? messages * spec.requests[request.request].prefill : messages;
  if (request.tokens < all || request.first_token_ps == 0) return;
  const auto& serving = ctx.model<Serving>();
  ctx.emit(kTakenChannel, request.request, static_cast<std::uint64_t>(s.asked_ps[i]),
           static_cast<std::uint64_t>(ctx.now().ps));
  ctx.send(serving.replica(request.batch), spec.latency, kTaken, TakenEvent{request.request});
  s.arriving.erase(ctx, i);
  s.asked_ps.erase(ctx, i);
  request.batch = request.tokens = 0;
  request.token_ps = request.first_token_ps;
  s.running.push_back(ctx, request);
  ask_for_schedule(s, ctx);
}

}  // namespace

void hand_over(Replica::State& s, const Live& request, const Spec& spec, Context& ctx) {
  s.leaving.push_back(ctx, request);
  if (!spec.keys_by_layer) return offer(request, ctx);
  const std::uint32_t i = find(s.ahead, request.request);
  ctx.check(i != kNowhere, "serving: a prompt was computed that was not offered");
  if (i == kNowhere || s.ahead[i].to == kNowhere) return;
  say_prompted(request, s.ahead[i].to, spec, ctx);
}

void send_keys_of_batch(Replica::State& s, const Spec& spec, Context& ctx) {
  for (const Live& r : s.flight) {
    // The end of a prompt that asks for one token is the end of the request.
    if (r.batch != s.batches || r.prompt_done() || r.decode == 1) continue;
    const std::uint32_t i = find(s.ahead, r.request);
    if (i == kNowhere) {
      s.ahead.push_back(ctx, {.request = r.request});
      offer(r, ctx);
    } else if (s.ahead[i].to != kNowhere) {
      send_ahead(s, i, r, true, spec, ctx);
    }
  }
}

void take_pull(Replica::State& s, const PullEvent& pull, const Spec& spec, Context& ctx) {
  if (spec.keys_by_layer) return begin_ahead(s, pull, spec, ctx);
  const std::uint32_t at = find(s.leaving, pull.request);
  const bool is_here = at != kNowhere && spec.devices != nullptr;
  ctx.check(is_here, "serving: keys and values were asked for that are not here");
  if (!is_here) return;
  tell_devices(spec, s.leaving[at], DeviceEvent::transfer_due,
               TransferDue{.request = pull.request,
                           .tokens = spec.requests[pull.request].prefill,
                           .group = pull.to,
                           .unused = 0},
               ctx);
}

void let_go(Replica::State& s, const TakenEvent& taken, const Spec& spec, Context& ctx) {
  const std::uint32_t i = find(s.leaving, taken.request);
  ctx.check(i != kNowhere, "serving: a request was taken that was not offered");
  if (i == kNowhere) return;
  Live request = s.leaving[i];
  s.leaving.erase(ctx, i);
  if (spec.keys_by_layer) {
    const std::uint32_t at = find(s.ahead, taken.request);
    const bool is_sent = at != kNowhere && s.ahead[at].sent == request.prefill;
    ctx.check(is_sent, "serving: keys and values were taken that were not sent");
    if (is_sent) s.ahead.erase(ctx, at);
  }
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
    const std::uint32_t blocks = spec.blocks_for(spec.requests[offer.request].prefill);
    if (pool.available() - blocks < left_free(s, spec)) break;
    s.offers.pop_front(ctx);
    take(s, offer, blocks, spec, ctx);
  }
}

void count_keys(Replica::State& s, const KeysCameEvent& came, const Spec& spec, Context& ctx) {
  const std::uint32_t i = find_awaited(
      s, came.request, "serving: keys and values came that nobody asked for", spec, ctx);
  if (i == kNowhere) return;
  Live request = s.arriving[i];
  request.tokens += came.tokens == 0 ? 1 : came.tokens;
  s.arriving.assign(ctx, i, request);
  settle_arrival(s, i, spec, ctx);
}

void note_prompt(Replica::State& s, const PromptedEvent& prompted, const Spec& spec, Context& ctx) {
  const std::uint32_t i = find_awaited(
      s, prompted.request, "serving: a prompt is done that nobody waits for", spec, ctx);
  if (i == kNowhere) return;
  Live request = s.arriving[i];
  request.first_token_ps = prompted.first_token_ps;
  request.restarts = prompted.restarts;
  s.arriving.assign(ctx, i, request);
  settle_arrival(s, i, spec, ctx);
}

}  // namespace exawarp::model::serving
