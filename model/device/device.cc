// How a device runs its program.
//
// Streams run their nodes in order, so "node d is over" is "the cursor of its stream is past it":
// a few words a stream, whatever the length of the program. A stream whose head depends on another
// stream leaves its bit in that stream's waiters and the position it waits for; when that cursor
// passes the position, the head is tried again. Each event is handled in three steps: do what it
// says (count a chunk, complete a node), start whatever that released, and, if that changed what
// the device is doing, close the account of the time until now.
//
// A collective needs no more than a count: chunk k leaves when k chunks have arrived. Chunks that
// come before the stream reaches the collective are counted all the same; when it starts, those
// that they release leave at once. A ring neighbour cannot be more than one collective of a
// channel ahead: to finish collective c it needs a chunk that starts here in c.
//
// A chunk carries the latest time at which a member that it has passed came to the collective.
// After n - 1 steps every member knows the latest of all, so the wait for stragglers, which is no
// communication, can be told from the collective itself.
//
// Cost: a chunk of a collective in progress reads two cache lines of state and writes three words
// (receive clock, count, send clock).
#include "model/device/device.h"

#include <algorithm>
#include <bit>
#include <new>

#include "core/digest.h"
#include "model/cluster.h"
#include "model/collective/ring.h"
#include "model/device/device_run.h"

namespace exawarp::model {
using core::DeviceId;
using core::LpId;
using core::Time;
using pdes::Context;

// ---- events

void Device::on_start() {
  for (std::uint32_t s = 0; s < program_.streams(); ++s) {
    if (program_.length(s) != 0) ready_ |= bit(s);
  }
  settle();
}

void Device::on_node_done(const NodeDone& done) {
  const bool expected = done.stream < program_.streams() && (busy_ & bit(done.stream)) != 0 &&
                        done.position == cursor(done.stream);
  ctx_.check(expected, "a node ended that its device was not running");
  if (!expected) return;
  const Task& task = head(done.stream);
  if (task.kind == TaskKind::collective || task.kind == TaskKind::stepped) {
    split_wait(parts_.channels[task.channel].last_entry, task.time_class, task.time_class);
  }
  complete(done.stream);
  settle();
}

void Device::on_chunk(const Chunk& chunk, bool waited) {
  const std::uint8_t local = program_.channel_by_number[chunk.channel];
  ctx_.check(local != kNoChannel, "a device received a chunk of a group it has no part in");
  if (local == kNoChannel) return;
  Time free_at;
  if (!waited && wait_for_receive_side(static_cast<Interface>(chunk.interface),
                                       Time{chunk.wire_ps}, free_at)) {
    ctx_.send(ctx_.self(), free_at - ctx_.now(), kind_of(DeviceEvent::chunk_received), chunk);
    return;
  }
  take_chunk(local, chunk);
}

void Device::take_chunk(std::uint8_t local, const Chunk& chunk) {
  ChannelState& channel = parts_.channels[local];
  const bool in_order = chunk.ordinal == channel.ordinal && chunk.step == channel.arrived;
  ctx_.check(in_order, "a chunk of a collective arrived out of order");
  if (!in_order) return;
  const std::uint32_t arrived = channel.arrived + 1;
  if (channel.steps == 0) return ctx_.set(channel.arrived, arrived);  // early: counted until then
  if (channel.last_entry.ps < chunk.entry_ps) ctx_.set(channel.last_entry, Time{chunk.entry_ps});
  if (arrived < channel.steps) {
    ctx_.set(channel.arrived, arrived);
    return send_chunk(channel, chunk.channel, arrived);
  }
  const std::uint32_t stream = program_.channels[local].stream;
  if (!end_collective(channel, stream)) return;
  const TimeClass kind = head(stream).time_class;
  split_wait(channel.last_entry, kind, kind);
  complete(stream);
  settle();
}

// ---- streams

// The node at `stream`'s cursor is over.
void Device::complete(std::uint32_t stream) {
  busy_ &= ~bit(stream);
  ready_ |= bit(stream);
  const std::uint32_t next = cursor(stream) + 1;
  ctx_.set(parts_.streams[stream].cursor, next);
  passed(stream, next);
}

// Starts all that can start, then writes down what changed.
void Device::settle() {
  while (ready_ != 0) {
    const auto stream = static_cast<std::uint32_t>(std::countr_zero(ready_));
    ready_ &= ready_ - 1;
    run(stream);
  }
  if (busy_ != state_.busy) ctx_.set(state_.busy, busy_);
  close_account();
}

// Issues nodes of an idle stream until one takes time or has to wait.
void Device::run(std::uint32_t stream) {
  const std::uint32_t length = program_.length(stream);
  std::uint32_t at = cursor(stream);
  for (; at < length; ++at) {
    const Task& task = program_.task(stream, at);
    if (at != cursor(stream)) {
      ctx_.set(parts_.streams[stream].cursor, at);
      passed(stream, at);
    }
    if (blocked(stream, task)) return;
    if (!start(stream, task)) {
      busy_ |= bit(stream);
      const TimeClass during =
          task.kind == TaskKind::receive ? TimeClass::waiting : task.time_class;
      TimeClass& written = parts_.streams[stream].time_class;
      if (written != during) ctx_.set(written, during);
      return;
    }
  }
  if (at != cursor(stream)) {
    ctx_.set(parts_.streams[stream].cursor, at);
    passed(stream, at);
  }
  ctx_.set(state_.unfinished, static_cast<std::uint8_t>(state_.unfinished - 1));
}

// Whether the head of `stream` has to wait for another stream; if so, it is noted there.
bool Device::blocked(std::uint32_t stream, const Task& task) {
  for (std::uint32_t i = 0; i < task.dependency_count; ++i) {
    const Dependency& on = program_.dependencies[task.first_dependency + i];
    if (cursor(on.stream) > on.position) continue;
    std::uint32_t& waiters = parts_.streams[on.stream].waiters;
    ctx_.set(waiters, waiters | bit(stream));
    ctx_.set(parts_.streams[stream].awaited, on.position);
    return true;
  }
  return false;
}

// `stream` has come to `cursor`: wakes the streams that waited for it to pass their position.
void Device::passed(std::uint32_t stream, std::uint32_t cursor) {
  const std::uint32_t waiters = parts_.streams[stream].waiters;
  std::uint32_t woken = 0;
  for (std::uint32_t left = waiters; left != 0; left &= left - 1) {
    const auto t = static_cast<std::uint32_t>(std::countr_zero(left));
    if (parts_.streams[t].awaited < cursor) woken |= bit(t);
  }
  if (woken == 0) return;
  ctx_.set(parts_.streams[stream].waiters, waiters & ~woken);
  ready_ |= woken;
}

// ---- nodes; each returns whether the node is over at once

bool Device::start(std::uint32_t stream, const Task& task) {
  switch (task.kind) {
    case TaskKind::instant: return true;
    case TaskKind::compute: return start_compute(stream, task);
    case TaskKind::collective: return start_collective(stream, task);
    case TaskKind::stepped: return start_stepped(stream, task);
    case TaskKind::send: return start_send(stream, task);
    case TaskKind::receive: return start_receive(task);
  }
  return true;
}

bool Device::start_compute(std::uint32_t stream, const Task& task) {
  Time duration = task.wire[0];
  if (!model_.jitter.off()) {
    duration = model_.jitter.apply(duration, ctx_.self().value, task.node);
  }
  if (!model_.slow_devices.empty()) {
    duration = slowed(model_.slow_devices, ctx_.self().value, ctx_.now(), duration);
  }
  if (duration.ps == 0) return true;
  done_in(duration, stream);
  return false;
}

bool Device::start_collective(std::uint32_t stream, const Task& task) {
  ChannelState& channel = parts_.channels[task.channel];
  const Interface interface = interface_of(tier_of(channel));
  std::uint32_t steps = task.steps;
  Time wire = task.wire[static_cast<std::size_t>(interface)];
  if (steps == kStepsVary) [[unlikely]] {
    const std::uint32_t members =
        program_.membership(program_.channels[task.channel], rank()).size;
    const RingPlan plan = ring_plan(static_cast<schema::CollectiveType>(task.collective),
                                    task.wire[0].ps, members);
    steps = plan.steps;
    wire = by_packets(interface) ? Time{plan.chunk_bytes}
                                 : model_.network.wire_time(plan.chunk_bytes, interface);
  }
  if (steps == 0) return true;
  ctx_.set(channel.steps, steps);
  ctx_.set(channel.wire, wire);
  ctx_.set(channel.last_entry, ctx_.now());
  const std::uint16_t number = program_.channels[task.channel].number;
  const std::uint32_t released = std::min(channel.arrived, steps - 1);
  for (std::uint32_t step = 0; step <= released; ++step) send_chunk(channel, number, step);
  return channel.arrived >= steps && end_collective(channel, stream);
}

// ---- collectives and interfaces

void Device::send_chunk(ChannelState& channel, std::uint16_t number, std::uint32_t step) {
  const Tier tier = tier_of(channel);
  const Interface side = interface_of(tier);
  const Time wire = channel.wire;
  if (by_packets(side)) {
    ChannelPackets& packets = parts_.channel_packets[&channel - parts_.channels];
    ctx_.set(packets.leaving, packets.leaving + 1);
    return post({channel.next().value}, wire.ps,
                {.time_ps = channel.last_entry.ps,
                 .first = channel.ordinal,
                 .second = step,
                 .kind = Carried::chunk,
                 .channel = number});
  }
  const Ends ends = model_.network.ends_of(side, self(), {channel.next().value}, number);
  const Leaving leaving = leave({channel.next().value}, ends.out, wire, tier);
  if (step + 1 == channel.steps) ctx_.set(channel.wire, leaving.sent);
  if (leaving.sent == Time::max()) return;
  ctx_.send(channel.next(), leaving.sent - ctx_.now() + leaving.latency,
            kind_of(DeviceEvent::chunk_arrives),
            Chunk{leaving.wire.ps, channel.last_entry.ps, channel.ordinal, step, number,
                  static_cast<std::uint16_t>(ends.in), 0});
}

// All chunks have arrived, so all have been sent. Returns whether the last one has left, too;
// otherwise the node ends when it has.
bool Device::end_collective(ChannelState& channel, std::uint32_t stream) {
  ctx_.set(channel.steps, 0u);
  ctx_.set(channel.arrived, 0u);
  ctx_.set(channel.ordinal, channel.ordinal + 1);
  Time left_at = channel.wire;
  if (endpoint_ != nullptr && by_packets(interface_of(tier_of(channel)))) {
    const ChannelPackets& packets = parts_.channel_packets[&channel - parts_.channels];
    if (packets.leaving != 0) return false;  // on_left() ends the node
    left_at = packets.left_at;
  }
  if (left_at <= ctx_.now()) return true;
  if (left_at == Time::max()) return false;  // it never leaves
  done_in(left_at - ctx_.now(), stream);
  return false;
}

// ---- where the time goes

// Adds the time since the last change to the class that it was spent in, if that class ends now.
void Device::close_account() {
  TimeClass now_in = state_.unfinished == 0 ? TimeClass::idle : TimeClass::waiting;
  for (std::uint32_t left = busy_; left != 0; left &= left - 1) {
    const auto stream = static_cast<std::uint32_t>(std::countr_zero(left));
    now_in = std::min(now_in, parts_.streams[stream].time_class);
  }
  const TimeClass before = state_.time_class;
  if (now_in == before) return;
  DeviceAccount& account = *parts_.account;
  if (before != TimeClass::idle) {
    Time& spent = account.spent[index_of(before)];
    if (account.since != ctx_.now()) ctx_.set(spent, spent + (ctx_.now() - account.since));
  }
  if (account.since != ctx_.now()) ctx_.set(account.since, ctx_.now());
  ctx_.set(state_.time_class, now_in);
  if (now_in == TimeClass::idle) ctx_.set(account.finish, ctx_.now());
}

// A receive or collective that the device waits for ends: until `from`, when the message set out or
// the last member came, the wait was for others; from then on it was communication. `counted_as` is
// the class that it has had while it lasted, unless something else ran.
void Device::split_wait(Time from, TimeClass counted_as, TimeClass after) {
  if (state_.time_class != counted_as) return;
  DeviceAccount& account = *parts_.account;
  const Time middle = std::clamp(from, account.since, ctx_.now());
  Time& waited = account.spent[index_of(TimeClass::waiting)];
  Time& communicated = account.spent[index_of(after)];
  if (middle != account.since) ctx_.set(waited, waited + (middle - account.since));
  if (middle != ctx_.now()) ctx_.set(communicated, communicated + (ctx_.now() - middle));
  ctx_.set(account.since, ctx_.now());
}

// ---- the type

void handle_device_event(Device& device, const pdes::Event& event, Context& ctx) {
  switch (static_cast<DeviceEvent>(event.kind)) {
    case DeviceEvent::node_done: return device.on_node_done(event.as<NodeDone>());
    case DeviceEvent::chunk_arrives: return device.on_chunk(event.as<Chunk>(), false);
    case DeviceEvent::chunk_received: return device.on_chunk(event.as<Chunk>(), true);
    case DeviceEvent::message_arrives: return device.on_message(event.as<Message>(), false);
    case DeviceEvent::message_received: return device.on_message(event.as<Message>(), true);
    case DeviceEvent::step_arrives: return device.on_step(event.as<Chunk>(), false);
    case DeviceEvent::step_received: return device.on_step(event.as<Chunk>(), true);
    case DeviceEvent::request_arrives: return device.on_request(event.as<Message>());
    case DeviceEvent::ready_arrives: return device.on_ready(event.as<Ready>());
    case DeviceEvent::steps_begin: return device.on_steps_begin(event.as<NodeDone>());
    case DeviceEvent::job_starts: return device.on_start();
    case DeviceEvent::background_due:
    case DeviceEvent::background_arrives:
    case DeviceEvent::census: break;
  }
  ctx.check(false, "a device received an event of unknown kind");
}

void handle_device(void* memory, const pdes::Event& event, Context& ctx) {
  const DeviceModel& model = ctx.model<Cluster>().devices();
  auto& state = *static_cast<DeviceState*>(memory);
  if (model.packets != nullptr) return handle_device_on_packets(model, state, event, ctx);
  Device device(model, state, ctx);
  handle_device_event(device, event, ctx);
}

}  // namespace exawarp::model
