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
#include "model/device/stepped.h"
#include "model/network/message.h"

namespace exawarp::model {
namespace {

using core::DeviceId;
using core::LpId;
using core::Time;
using pdes::Context;
using pdes::EventKind;

constexpr EventKind kind_of(DeviceEvent e) { return static_cast<EventKind>(e); }

// One device during one event.
class Device {
 public:
  Device(const DeviceModel& model, DeviceState& state, Context& ctx)
      : model_(model),
        program_(model.programs[state.program]),
        parts_(state),
        stepped_(model, program_, state, parts_, ctx),
        state_(state),
        ctx_(ctx),
        busy_(state.busy) {}

  void on_node_done(const NodeDone& done);
  void on_chunk(const Chunk& chunk, bool waited);
  void on_step(const Chunk& chunk, bool waited);
  void on_steps_begin(const NodeDone& begun);
  void on_message(const Message& message, bool waited);
  void on_start(std::uint32_t streams) {
    ready_ = streams;
    settle();
  }

 private:
  [[nodiscard]] DeviceId self() const { return {ctx_.self().value}; }
  [[nodiscard]] std::uint32_t cursor(std::uint32_t stream) const {
    return parts_.streams[stream].cursor;
  }
  [[nodiscard]] const Task& head(std::uint32_t stream) const {
    return program_.task(stream, cursor(stream));
  }

  void complete(std::uint32_t stream);
  void settle();
  void run(std::uint32_t stream);
  bool blocked(std::uint32_t stream, const Task& task);
  void passed(std::uint32_t stream, std::uint32_t cursor);
  bool start(std::uint32_t stream, const Task& task);
  bool start_compute(std::uint32_t stream, const Task& task);
  bool start_collective(std::uint32_t stream, const Task& task);
  bool start_stepped(std::uint32_t stream, const Task& task);
  bool ends_now(std::uint32_t stream, const Task& task);
  void end_stepped(std::uint32_t stream);
  bool start_send(std::uint32_t stream, const Task& task);
  bool start_receive(const Task& task);
  void send_chunk(ChannelState& channel, std::uint16_t number, std::uint32_t step);
  bool end_collective(ChannelState& channel, std::uint32_t stream);
  Time use_send_side(Interface interface, Time wire);
  bool wait_for_receive_side(Interface interface, Time wire, Time& free_at);
  void close_account();
  void split_wait(Time from, TimeClass counted_as, TimeClass after);
  void done_in(Time delay, std::uint32_t stream) {
    ctx_.send(ctx_.self(), delay, kind_of(DeviceEvent::node_done),
              NodeDone{stream, cursor(stream)});
  }

  const DeviceModel& model_;
  const ProgramTable& program_;
  DeviceParts<DeviceState> parts_;
  Stepped stepped_;
  DeviceState& state_;
  Context& ctx_;
  std::uint32_t busy_;
  std::uint32_t ready_ = 0;  // streams whose head is to be tried
};

constexpr std::uint32_t bit(std::uint32_t stream) { return 1u << stream; }

// ---- events

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
  const std::uint32_t stream = program_.channels[local].stream;
  const bool in_progress = parts_.channels[local].steps != 0;
  if (stepped_.arrive(local, in_progress ? &head(stream) : nullptr, chunk)) end_stepped(stream);
}

void Device::on_steps_begin(const NodeDone& begun) {
  const bool expected = begun.stream < program_.streams() && (busy_ & bit(begun.stream)) != 0 &&
                        begun.position == cursor(begun.stream) &&
                        head(begun.stream).kind == TaskKind::stepped;
  ctx_.check(expected, "a collective began that its device was not at");
  if (expected && stepped_.begin(head(begun.stream))) end_stepped(begun.stream);
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
  const Time end = stepped_.end(task);
  if (end <= ctx_.now()) return true;
  done_in(end - ctx_.now(), stream);
  return false;
}

void Device::on_message(const Message& message, bool waited) {
  Time free_at;
  if (!waited && wait_for_receive_side(static_cast<Interface>(message.interface),
                                       Time{message.wire_ps}, free_at)) {
    ctx_.send(ctx_.self(), free_at - ctx_.now(), kind_of(DeviceEvent::message_received), message);
    return;
  }
  for (std::uint32_t left = busy_; left != 0; left &= left - 1) {
    const auto stream = static_cast<std::uint32_t>(std::countr_zero(left));
    if (parts_.streams[stream].time_class != TimeClass::waiting) continue;
    const Task& task = head(stream);
    if (task.tag != message.tag ||
        ProgramTable::peer_of(task, self()).value != message.source) {
      continue;
    }
    split_wait(Time{message.start_ps}, TimeClass::waiting, task.time_class);
    complete(stream);
    settle();
    return;
  }
  parts_.account->early.push_back(ctx_, {message.source, message.tag});
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
  if (duration.ps == 0) return true;
  done_in(duration, stream);
  return false;
}

bool Device::start_collective(std::uint32_t stream, const Task& task) {
  ChannelState& channel = parts_.channels[task.channel];
  const Interface interface = interface_of(channel.tier());
  std::uint32_t steps = task.steps;
  Time wire = task.wire[static_cast<std::size_t>(interface)];
  if (steps == kStepsVary) [[unlikely]] {
    const std::uint32_t members =
        program_.channels[task.channel].membership(*model_.graph, self()).size;
    const RingPlan plan = ring_plan(static_cast<schema::CollectiveType>(task.collective),
                                    task.wire[0].ps, members);
    steps = plan.steps;
    wire = model_.network.wire_time(plan.chunk_bytes, interface);
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

bool Device::start_stepped(std::uint32_t stream, const Task& task) {
  const std::uint32_t ordinal = parts_.channels[task.channel].ordinal;
  if (!stepped_.start(task, stream)) return false;
  // Over at once: because nothing has to be sent, or because all came before.
  return parts_.channels[task.channel].ordinal == ordinal || ends_now(stream, task);
}

bool Device::start_send(std::uint32_t stream, const Task& task) {
  const DeviceId peer = ProgramTable::peer_of(task, self());
  const Tier tier = model_.network.tier_between(self(), peer);
  const Interface interface = interface_of(tier);
  const Time wire = task.wire[static_cast<std::size_t>(interface)];
  const Time sent = use_send_side(interface, wire);
  ctx_.send(LpId{peer.value}, sent - ctx_.now() + model_.network.latency(tier),
            kind_of(DeviceEvent::message_arrives),
            Message{wire.ps, (sent - wire).ps, self().value, task.tag,
                    static_cast<std::uint32_t>(interface), 0});
  done_in(sent - ctx_.now(), stream);
  return false;
}

bool Device::start_receive(const Task& task) {
  auto& early = parts_.account->early;
  const std::uint32_t source = ProgramTable::peer_of(task, self()).value;
  for (std::uint32_t i = 0; i < early.size(); ++i) {
    if (early[i].source != source || early[i].tag != task.tag) continue;
    early.erase(ctx_, i);
    return true;
  }
  return false;
}

// ---- collectives and interfaces

void Device::send_chunk(ChannelState& channel, std::uint16_t number, std::uint32_t step) {
  const Tier tier = channel.tier();
  const Interface interface = interface_of(tier);
  const Time wire = channel.wire;
  const Time sent = use_send_side(interface, wire);
  if (step + 1 == channel.steps) ctx_.set(channel.wire, sent);
  ctx_.send(channel.next(), sent - ctx_.now() + model_.network.latency(tier),
            kind_of(DeviceEvent::chunk_arrives),
            Chunk{wire.ps, channel.last_entry.ps, channel.ordinal, step, number,
                  static_cast<std::uint16_t>(interface), 0});
}

// All chunks have arrived, so all have been sent. Returns whether the last one has left, too;
// otherwise the node ends when it has.
bool Device::end_collective(ChannelState& channel, std::uint32_t stream) {
  ctx_.set(channel.steps, 0u);
  ctx_.set(channel.arrived, 0u);
  ctx_.set(channel.ordinal, channel.ordinal + 1);
  if (channel.wire <= ctx_.now()) return true;
  done_in(channel.wire - ctx_.now(), stream);
  return false;
}

Time Device::use_send_side(Interface interface, Time wire) {
  Time& free_at = state_.tx_free[static_cast<std::size_t>(interface)];
  const Time sent = sent_at(ctx_.now(), free_at, wire);
  ctx_.set(free_at, sent);
  return sent;
}

// Whether a message that arrives now has to wait until `free_at` for the interface.
bool Device::wait_for_receive_side(Interface interface, Time wire, Time& free_at) {
  Time& clock = state_.rx_free[static_cast<std::size_t>(interface)];
  free_at = received_at(ctx_.now(), clock, wire);
  ctx_.set(clock, free_at);
  return free_at > ctx_.now();
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

void handle_device(void* state, const pdes::Event& event, Context& ctx) {
  const DeviceModel& model = ctx.model<Cluster>().devices();
  Device device(model, *static_cast<DeviceState*>(state), ctx);
  switch (static_cast<DeviceEvent>(event.kind)) {
    case DeviceEvent::node_done: return device.on_node_done(event.as<NodeDone>());
    case DeviceEvent::chunk_arrives: return device.on_chunk(event.as<Chunk>(), false);
    case DeviceEvent::chunk_received: return device.on_chunk(event.as<Chunk>(), true);
    case DeviceEvent::message_arrives: return device.on_message(event.as<Message>(), false);
    case DeviceEvent::message_received: return device.on_message(event.as<Message>(), true);
    case DeviceEvent::step_arrives: return device.on_step(event.as<Chunk>(), false);
    case DeviceEvent::step_received: return device.on_step(event.as<Chunk>(), true);
    case DeviceEvent::steps_begin: return device.on_steps_begin(event.as<NodeDone>());
  }
  ctx.check(false, "a device received an event of unknown kind");
}

std::uint64_t digest_device(const void* state) {
  const auto& device = *static_cast<const DeviceState*>(state);
  const DeviceParts<const DeviceState> parts(device);
  core::Hasher hash;
  hash.bytes(&device, sizeof(DeviceState));
  hash.bytes(parts.channels, device.channel_slots * sizeof(ChannelState));
  hash.bytes(parts.streams, device.stream_slots * sizeof(StreamState));
  hash.word(static_cast<std::uint64_t>(parts.account->since.ps));
  hash.word(static_cast<std::uint64_t>(parts.account->finish.ps));
  hash.bytes(parts.account->spent.data(), sizeof parts.account->spent);
  hash.word(parts.account->early.size());
  for (const EarlyMessage& m : parts.account->early) {
    hash.word(std::uint64_t{m.source} << 32 | m.tag);
  }
  if (parts.stepped != nullptr) {
    for (const SteppedLane& lane : parts.stepped->lanes) hash.bytes(&lane, sizeof lane);
    for (const EarlySteps& early : parts.stepped->early) hash.bytes(&early, sizeof early);
  }
  return hash.value();
}

static_assert(std::has_unique_object_representations_v<DeviceState>);
static_assert(std::has_unique_object_representations_v<ChannelState>);
static_assert(std::has_unique_object_representations_v<StreamState>);
static_assert(std::has_unique_object_representations_v<SteppedLane>);
static_assert(std::has_unique_object_representations_v<EarlySteps>);

}  // namespace

DeviceSlots slots_for(const std::vector<ProgramTable>& programs) {
  DeviceSlots slots;
  for (const ProgramTable& p : programs) {
    slots.streams = std::max(slots.streams, static_cast<std::uint8_t>(p.streams()));
    slots.channels = std::max(slots.channels, static_cast<std::uint8_t>(p.channels.size()));
    slots.stepped = slots.stepped || !p.stepped.empty();
  }
  return slots;
}

pdes::LpType device_type(DeviceSlots slots) {
  return {"device", slots.state_bytes(), [](void* state) { ::new (state) DeviceState{}; },
          handle_device, digest_device};
}

void start_device(const DeviceModel& model, DeviceId id, void* memory, Context& context) {
  auto& state = *::new (memory) DeviceState{};
  state.stream_slots = model.slots.streams;
  state.channel_slots = model.slots.channels;
  state.stepped = model.slots.stepped;
  state.program = model.graph->program_of(id);
  const DeviceParts<DeviceState> parts(state);
  const ProgramTable& program = model.programs[state.program];
  for (std::uint32_t c = 0; c < state.channel_slots; ++c) {
    ChannelState& channel = *::new (&parts.channels[c]) ChannelState{};
    if (c >= program.channels.size()) continue;
    const Channel& ring = program.channels[c];
    const Membership in = ring.membership(*model.graph, id);
    if (in.size == 1) continue;
    const DeviceId next = ring.member(*model.graph, id, next_in_ring(in.position, in.size));
    channel.next_and_tier = ChannelState::pack(next, model.network.tier_between(id, next));
  }
  for (std::uint32_t s = 0; s < state.stream_slots; ++s) ::new (&parts.streams[s]) StreamState{};
  ::new (parts.account) DeviceAccount{};
  if (parts.stepped != nullptr) ::new (parts.stepped) SteppedState{};
  std::uint32_t streams = 0;
  for (std::uint32_t s = 0; s < program.streams(); ++s) {
    if (program.length(s) == 0) continue;
    streams |= bit(s);
    ++state.unfinished;
  }
  Device(model, state, context).on_start(streams);
}

}  // namespace exawarp::model
