// Point to point, and collectives that run by steps.
//
// A message up to the eager limit is sent at once. A longer one is announced first: the sender's
// request travels to the receiver and waits there like an early message; when a receive asks for
// it, an answer goes back, and then the message itself leaves. Both notices take a message's
// latency and no time on an interface.
#include <algorithm>
#include <bit>

#include "model/device/device_run.h"

namespace exawarp::model {

using core::DeviceId;
using core::LpId;
using core::Time;

// ---- collectives by steps

void Device::on_step(const Chunk& chunk, bool waited) {
  const std::uint8_t local = program_.channel_by_number[chunk.channel];
  const bool has_part = local != kNoChannel && parts_.stepped != nullptr;
  ctx_.check(has_part, "a device received a message of a collective it has no part in");
  if (!has_part) return;
  Time free_at;
  if (!waited && chunk.wire_ps > 0 &&
      wait_for_receive_side(static_cast<Interface>(chunk.interface), Time{chunk.wire_ps},
                            free_at)) {
    ctx_.send(ctx_.self(), free_at - ctx_.now(), kind_of(DeviceEvent::step_received), chunk);
    return;
  }
  take_step(local, chunk);
}

void Device::take_step(std::uint8_t local, const Chunk& chunk) {
  const std::uint32_t stream = program_.channels[local].stream;
  const bool in_progress = parts_.channels[local].steps != 0;
  if (stepped().arrive(local, in_progress ? &head(stream) : nullptr, chunk)) end_stepped(stream);
}

void Device::on_steps_begin(const NodeDone& begun) {
  const bool expected = begun.stream < program_.streams() && (busy_ & bit(begun.stream)) != 0 &&
                        begun.position == cursor(begun.stream) &&
                        head(begun.stream).kind == TaskKind::stepped;
  ctx_.check(expected, "a collective began that its device was not at");
  if (expected && stepped().begin(head(begun.stream))) end_stepped(begun.stream);
}

// The collective at the head of `stream`, started before, is over but for what is still leaving.
void Device::end_stepped(std::uint32_t stream) {
  const Task& task = head(stream);
  if (!ends_now(stream, task)) return;
  split_wait(parts_.channels[task.channel].last_entry, task.time_class, task.time_class);
  complete(stream);
  settle();
}

bool Device::ends_now(std::uint32_t stream, const Task& task) {
  const Time end = stepped().end(task);
  if (end <= ctx_.now()) return true;
  if (end == Time::max()) return false;  // on_left() ends the node, or it never leaves
  done_in(end - ctx_.now(), stream);
  return false;
}

bool Device::start_stepped(std::uint32_t stream, const Task& task) {
  const std::uint32_t ordinal = parts_.channels[task.channel].ordinal;
  if (!stepped().start(task, stream)) return false;
  // Over at once: because nothing has to be sent, or because all came before.
  return parts_.channels[task.channel].ordinal == ordinal || ends_now(stream, task);
}

// ---- point to point

bool Device::start_send(std::uint32_t stream, const Task& task) {
  if (!task.rendezvous) {
    transmit(stream, task);
    return false;
  }
  const DeviceId peer = program_.peer_of(task, rank());
  if (by_packets(interface_to(peer))) {
    post(peer, model_.packets->network.options().control_bytes,
         {.time_ps = ctx_.now().ps, .first = task.tag, .second = stream, .kind = Carried::request});
    return false;
  }
  notify(peer, DeviceEvent::request_arrives,
         Message{0, ctx_.now().ps, self().value, task.tag, 0, stream});
  return false;
}

void Device::transmit(std::uint32_t stream, const Task& task) {
  const DeviceId peer = program_.peer_of(task, rank());
  const Tier tier = model_.network.tier_between(self(), peer);
  const Interface side = interface_of(tier);
  const Time wire = task.wire[static_cast<std::size_t>(side)];
  if (by_packets(side)) {
    return post(peer, wire.ps,
                {.time_ps = ctx_.now().ps,
                 .first = task.tag,
                 .second = stream,
                 .kind = Carried::message});
  }
  const Ends ends = model_.network.ends_of(side, self(), peer, task.tag);
  const Leaving leaving =
      model_.analytical ? Leaving{core::sum_to_end(ctx_.now(), wire), wire,
                                  model_.network.travel(tier, wire)}
                        : leave(peer, ends.out, wire, tier);
  if (leaving.sent == Time::max()) return;
  ctx_.send(LpId{peer.value}, leaving.sent - ctx_.now() + leaving.latency,
            kind_of(DeviceEvent::message_arrives),
            Message{leaving.wire.ps, (leaving.sent - leaving.wire).ps, self().value, task.tag,
                    static_cast<std::uint32_t>(ends.in), 0});
  done_in(leaving.sent - ctx_.now(), stream);
}

Leaving Device::leave_in_trouble(DeviceId to, Interface interface, Time wire, Time latency) {
  Time& free_at = parts_.tx_free(interface);
  const auto travel =
      model_.trouble->travel(self(), to, {std::max(ctx_.now(), free_at), wire, latency});
  if (!travel) return {Time::max(), wire, latency};
  const Time sent = core::sum_to_end(travel->start, travel->wire);
  ctx_.set(free_at, sent);
  return {sent, travel->wire, travel->latency};
}

// Takes a message's latency and no time on an interface.
template <class Payload>
void Device::notify(DeviceId to, DeviceEvent kind, const Payload& notice) {
  Time delay = model_.network.latency(model_.network.tier_between(self(), to));
  if (model_.trouble != nullptr) [[unlikely]] {
    const auto travel = model_.trouble->travel(self(), to, {ctx_.now(), Time{0}, delay});
    if (!travel) return;
    delay = travel->start - ctx_.now() + travel->latency;
  }
  ctx_.send(LpId{to.value}, delay, kind_of(kind), notice);
}

bool Device::start_receive(const Task& task) {
  auto& early = parts_.account->early;
  const DeviceId source = program_.peer_of(task, rank());
  for (std::uint32_t i = 0; i < early.size(); ++i) {
    const EarlyMessage message = early[i];
    if (message.source != source.value || message.tag != task.tag) continue;
    early.erase(ctx_, i);
    if (message.request == 0) return true;
    answer(source, message.request - 1);
    return false;
  }
  return false;
}

// The stream whose receive waits for such a message, or kNoStream.
std::uint32_t Device::waiting_for(std::uint32_t source, std::uint32_t tag) const {
  for (std::uint32_t left = busy_; left != 0; left &= left - 1) {
    const auto stream = static_cast<std::uint32_t>(std::countr_zero(left));
    if (parts_.streams[stream].time_class != TimeClass::waiting) continue;
    const Task& task = head(stream);
    if (task.tag == tag && program_.peer_of(task, rank()).value == source) return stream;
  }
  return kNoStream;
}

void Device::on_message(const Message& message, bool waited) {
  Time free_at;
  if (!waited && !model_.analytical &&
      wait_for_receive_side(static_cast<Interface>(message.interface), Time{message.wire_ps},
                            free_at)) {
    ctx_.send(ctx_.self(), free_at - ctx_.now(), kind_of(DeviceEvent::message_received), message);
    return;
  }
  take_message(message);
}

void Device::take_message(const Message& message) {
  const std::uint32_t stream = waiting_for(message.source, message.tag);
  if (stream == kNoStream) {
    return parts_.account->early.push_back(ctx_, {message.source, message.tag, 0});
  }
  split_wait(Time{message.start_ps}, TimeClass::waiting, head(stream).time_class);
  complete(stream);
  settle();
}

void Device::on_request(const Message& request) {
  if (waiting_for(request.source, request.tag) == kNoStream) {
    return parts_.account->early.push_back(
        ctx_, {request.source, request.tag, request.stream + 1});
  }
  answer({request.source}, request.stream);
}

void Device::answer(DeviceId source, std::uint32_t stream) {
  if (by_packets(interface_to(source))) {
    return post(source, model_.packets->network.options().control_bytes,
                {.second = stream, .kind = Carried::ready});
  }
  notify(source, DeviceEvent::ready_arrives, Ready{stream, 0});
}

void Device::on_ready(const Ready& ready) {
  const bool expected = ready.stream < program_.streams() && (busy_ & bit(ready.stream)) != 0 &&
                        head(ready.stream).kind == TaskKind::send;
  ctx_.check(expected, "a receiver is ready for a message that its sender is not at");
  if (expected) transmit(ready.stream, head(ready.stream));
}

}  // namespace exawarp::model
