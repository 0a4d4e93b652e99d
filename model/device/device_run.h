// One device during one event, made of its parts: streams over a source of tasks, collectives,
// point-to-point messages, a port, an account of its time.
//
// Each event is handled in three steps: do what it says (count a chunk, complete a task), start
// whatever that released, and, if that changed what the device is doing, close the account of the
// time until now.
//
// Only the files that compile a device for one network include this (device_analytical.cc,
// device_messages.cc, device_packets.cc).
#pragma once

#include <cstdint>

#include "model/cluster.h"
#include "model/device/account.h"
#include "model/device/device_frame.h"
#include "model/device/point_to_point.h"
#include "model/device/rings.h"
#include "model/device/served_program.h"
#include "model/device/shared_interfaces.h"
#include "model/device/stepped.h"
#include "model/device/streams.h"
#include "model/device/task_source.h"
#include "model/timeline/timeline_emission.h"

namespace exawarp::model {

template <class Source, class Port>
class Device {
 public:
  Device(DeviceFrame& frame, Source source, Port& port)
      : frame_(frame), streams_(frame, source), port_(port) {}

  // Its program begins, then or now.
  void start(core::Time begin);
  void handle(const pdes::Event& event);

  // What has come, the interface's time included.
  void take_chunk(std::uint8_t local, const Chunk& chunk);
  void take_step(std::uint8_t local, const Chunk& chunk);
  void take_message(const Message& message);
  [[nodiscard]] PointToPoint<Source, Port> messages() { return {frame_, streams_, port_}; }
  [[nodiscard]] Streams<Source>& streams() { return streams_; }
  [[nodiscard]] const ProgramTable& program() const { return streams_.source().table(); }
  // Of the channel that messages call `number`, or kNoChannel.
  [[nodiscard]] std::uint8_t channel_numbered(std::uint16_t number) const {
    const auto& known = program().channel_by_number;
    return number < known.size() ? known[number] : kNoChannel;
  }

 private:
  void begin();
  void on_node_done(const NodeDone& done);
  void on_chunk(const Chunk& chunk, bool waited);
  void on_step(const Chunk& chunk, bool waited);
  void on_steps_begin(const NodeDone& begun);
  void on_message(const Message& message, bool waited);
  void on_iteration(const IterationBegins& begins);
  void on_transfer(const TransferDue& due);
  void on_keys(const KeysDue& due);

  bool start(std::uint32_t stream, const Task& task);
  bool start_compute(std::uint32_t stream, const Task& task);
  [[gnu::cold]] void trace_compute(std::uint32_t stream, const Task& task, core::Time duration);
  bool start_ring(std::uint32_t stream, const Task& task);
  bool start_steps(std::uint32_t stream, const Task& task);
  void start_transfer(std::uint32_t stream, const Task& keys);
  // Keys and values are added by add(), which returns whether there are any.
  template <class Add>
  void add_keys(const Add& add);
  bool begins_next();

  [[gnu::cold]] void put_begin_on_timeline(std::uint32_t stream, const Task& task, bool over);
  [[gnu::cold]] void put_end_on_timeline(std::uint32_t stream, const Task& task);
  [[gnu::cold]] void put_on_timeline(TimelineMark mark, std::uint32_t stream, const Task& task,
                                     core::Time until = core::Time::max());

  // The head of `stream` is over.
  void complete(std::uint32_t stream);
  // What the head of `stream` waited for is here: it ends.
  void end(std::uint32_t stream, core::Time since, TimeClass counted_as);
  void end_collective(std::uint32_t stream, core::Time at);
  bool ends_now(std::uint32_t stream, core::Time at);
  void begin_shared(std::uint32_t stream, core::Time at);
  bool ends_shared(const NodeDone& done);
  void settle();

  [[nodiscard]] Rings<Port> rings() { return {frame_, port_}; }
  [[nodiscard]] Stepped<Port> steps() { return {frame_, program(), port_}; }
  [[nodiscard]] core::Time steps_end(const Task& task) const {
    return port_.steps_end(program(), task, frame_.rank_in(program()));
  }

  DeviceFrame& frame_;
  Streams<Source> streams_;
  Port& port_;
};

// ---- events

template <class Source, class Port>
void Device<Source, Port>::handle(const pdes::Event& event) {
  switch (static_cast<DeviceEvent>(event.kind)) {
    case DeviceEvent::node_done:
      return on_node_done(event.as<NodeDone>());
    case DeviceEvent::chunk_arrives:
      return on_chunk(event.as<Chunk>(), false);
    case DeviceEvent::chunk_received:
      return on_chunk(event.as<Chunk>(), true);
    case DeviceEvent::message_arrives:
      return on_message(event.as<Message>(), false);
    case DeviceEvent::message_received:
      return on_message(event.as<Message>(), true);
    case DeviceEvent::step_arrives:
      return on_step(event.as<Chunk>(), false);
    case DeviceEvent::step_received:
      return on_step(event.as<Chunk>(), true);
    case DeviceEvent::request_arrives:
      return messages().take_request(event.as<Message>());
    case DeviceEvent::ready_arrives:
      return messages().take_ready(event.as<Ready>());
    case DeviceEvent::steps_begin:
      return on_steps_begin(event.as<NodeDone>());
    case DeviceEvent::job_starts:
      return begin();
    case DeviceEvent::iteration_begins:
      return on_iteration(event.as<IterationBegins>());
    case DeviceEvent::transfer_due:
      return on_transfer(event.as<TransferDue>());
    case DeviceEvent::keys_due:
      return on_keys(event.as<KeysDue>());
    case DeviceEvent::background_due:
    case DeviceEvent::background_arrives:
    case DeviceEvent::census:
      break;
  }
  frame_.ctx.check(false, "a device received an event of unknown kind");
}

template <class Source, class Port>
void Device<Source, Port>::start(core::Time begin_at) {
  if (begin_at.ps == 0) return begin();
  frame_.parts.account->since = begin_at;
  frame_.ctx.send(frame_.ctx.self(), begin_at, kind_of(DeviceEvent::job_starts));
}

template <class Source, class Port>
void Device<Source, Port>::begin() {
  streams_.begin();
  settle();
}

template <class Source, class Port>
void Device<Source, Port>::on_node_done(const NodeDone& done) {
  if constexpr (Port::kMayShare) {
    if (frame_.parts.sharing != nullptr && !ends_shared(done)) return;
  }
  const bool expected = streams_.is_running(done.stream, done.position);
  frame_.ctx.check(expected, "a node ended that its device was not running");
  if (!expected) return;
  const Task& task = streams_.head(done.stream);
  if (task.kind == TaskKind::collective || task.kind == TaskKind::stepped) {
    return end(done.stream, frame_.parts.channels[task.channel].last_entry, task.time_class);
  }
  complete(done.stream);
  settle();
}

template <class Source, class Port>
void Device<Source, Port>::on_chunk(const Chunk& chunk, bool waited) {
  const std::uint8_t local = channel_numbered(chunk.channel);
  frame_.ctx.check(local != kNoChannel, "a device received a chunk of a group it has no part in");
  if (local == kNoChannel) return;
  if (!waited && port_.holds_back(static_cast<Interface>(chunk.interface),
                                  DeviceEvent::chunk_received, chunk)) {
    return;
  }
  take_chunk(local, chunk);
}

template <class Source, class Port>
void Device<Source, Port>::on_step(const Chunk& chunk, bool waited) {
  const std::uint8_t local = channel_numbered(chunk.channel);
  const bool has_part = local != kNoChannel && frame_.parts.stepped != nullptr;
  frame_.ctx.check(has_part, "a device received a message of a collective it has no part in");
  if (!has_part) return;
  if (!waited && chunk.wire_ps > 0 &&
      port_.holds_back(static_cast<Interface>(chunk.interface), DeviceEvent::step_received,
                       chunk)) {
    return;
  }
  take_step(local, chunk);
}

template <class Source, class Port>
void Device<Source, Port>::on_message(const Message& message, bool waited) {
  if (!waited && port_.holds_back(static_cast<Interface>(message.interface),
                                  DeviceEvent::message_received, message)) {
    return;
  }
  if (frame_.model.traces_messages) [[unlikely]] {
    MessageTrace::received(frame_.ctx, {message.source}, message.tag);
  }
  take_message(message);
}

template <class Source, class Port>
void Device<Source, Port>::on_steps_begin(const NodeDone& begun) {
  const bool expected = streams_.is_running(begun.stream, begun.position) &&
                        streams_.head(begun.stream).kind == TaskKind::stepped;
  frame_.ctx.check(expected, "a collective began that its device was not at");
  if (!expected) return;
  const Task& task = streams_.head(begun.stream);
  if (steps().begin(task)) end_collective(begun.stream, steps_end(task));
}

template <class Source, class Port>
void Device<Source, Port>::on_iteration(const IterationBegins& begins) {
  frame_.ctx.check(Source::kServes, "a device that serves nobody was told to");
  if constexpr (Source::kServes) {
    streams_.source().tell(begins, frame_.ctx);
    settle();
  }
}

template <class Source, class Port>
void Device<Source, Port>::on_transfer(const TransferDue& due) {
  frame_.ctx.check(Source::kServes, "a device that serves nobody was told to send keys");
  if constexpr (Source::kServes) {
    add_keys([&] { return streams_.source().add_transfers(frame_, due); });
    settle();
  }
}

template <class Source, class Port>
void Device<Source, Port>::on_keys(const KeysDue& due) {
  frame_.ctx.check(Source::kServes, "a device that serves nobody was told to send keys");
  if constexpr (Source::kServes) {
    const std::uint32_t at = streams_.cursor(Source::kIterations);
    add_keys([&] { return streams_.source().add_by_layer(frame_, due, at); });
    settle();
  }
}

template <class Source, class Port>
template <class Add>
void Device<Source, Port>::add_keys(const Add& add) {
  const bool was_at_end = streams_.is_at_end(Source::kTransfers);
  streams_.source().forget_sent(streams_.cursor(Source::kTransfers), frame_.ctx);
  if (add() && was_at_end) streams_.extend(Source::kTransfers);
}

// ---- what comes

template <class Source, class Port>
void Device<Source, Port>::take_chunk(std::uint8_t local, const Chunk& chunk) {
  ChannelState& channel = frame_.parts.channels[local];
  if (!rings().take(channel, chunk)) return;
  end_collective(program().channels[local].stream, rings().finish(channel));
}

template <class Source, class Port>
void Device<Source, Port>::take_step(std::uint8_t local, const Chunk& chunk) {
  const std::uint32_t stream = program().channels[local].stream;
  const bool in_progress = frame_.parts.channels[local].steps != 0;
  const Task* task = in_progress ? &streams_.head(stream) : nullptr;
  if (steps().arrive(local, task, chunk)) end_collective(stream, steps_end(*task));
}

template <class Source, class Port>
void Device<Source, Port>::take_message(const Message& message) {
  if constexpr (Source::kServes) {
    if ((message.tag & kTransferTag) != 0) {
      return streams_.source().report_keys(frame_, message);
    }
  }
  const auto stream = messages().take(message);
  if (stream) end(*stream, core::Time{message.start_ps}, TimeClass::waiting);
}

// ---- tasks; each returns whether the task is over at once

template <class Source, class Port>
bool Device<Source, Port>::start(std::uint32_t stream, const Task& task) {
  switch (task.kind) {
    case TaskKind::instant:
      return true;
    case TaskKind::compute:
      return start_compute(stream, task);
    case TaskKind::collective:
      return start_ring(stream, task);
    case TaskKind::stepped:
      return start_steps(stream, task);
    case TaskKind::send:
      if constexpr (Source::kServes) {
        if (Source::is_transfer(task)) {
          start_transfer(stream, task);
          return false;
        }
      }
      messages().start_send(stream, task);
      return false;
    case TaskKind::receive:
      return messages().start_receive(task);
    case TaskKind::mark:
      if constexpr (Source::kServes) {
        if (task.tag == Source::kIterationEnds)
          streams_.source().report(frame_);
        else
          add_keys([&] { return streams_.source().add_computed(frame_, task.tag); });
      } else if (frame_.parts.passes != nullptr) {
        TimeAccount(frame_).begin_pass(task.tag);
      }
      return true;
  }
  return true;
}

template <class Source, class Port>
bool Device<Source, Port>::start_compute(std::uint32_t stream, const Task& task) {
  const DeviceModel& model = frame_.model;
  const std::uint32_t self = frame_.self().value;
  core::Time duration = task.wire[0];
  if (!task.is_of_host()) [[likely]] {
    if (!model.jitter.off()) duration = model.jitter.apply(duration, self, task.node);
    if (!model.slow_devices.empty()) {
      duration = slowed(model.slow_devices, self, frame_.now(), duration);
    }
    if (model.overlapped_ppm != kUsualPace && streams_.communicates()) {
      duration = overlapped(duration, model.overlapped_ppm);
    }
  }
  if (duration.ps == 0) return true;
  if (model.traces) [[unlikely]]
    trace_compute(stream, task, duration);
  streams_.complete_in(duration, stream);
  return false;
}

// The task on the timeline, and its energy, over as long as it takes here.
template <class Source, class Port>
void Device<Source, Port>::trace_compute(std::uint32_t stream, const Task& task,
                                         core::Time duration) {
  if (frame_.is_on_timeline()) {
    put_on_timeline(TimelineMark::begins, stream, task, frame_.now() + duration);
  }
  if (!frame_.model.traces_power) return;
  const std::int64_t mw =
      program().above_idle_mw[static_cast<std::size_t>(&task - program().tasks.data())];
  __extension__ using Wide = __int128;
  const auto spread =
      static_cast<std::int32_t>(static_cast<Wide>(mw) * task.wire[0].ps / duration.ps);
  if (spread == 0) return;
  emit_power(frame_.ctx, {.above_idle_mw = spread,
                          .program = frame_.state.program,
                          .from = frame_.now(),
                          .until = frame_.now() + duration});
}

template <class Source, class Port>
bool Device<Source, Port>::start_ring(std::uint32_t stream, const Task& task) {
  ChannelState& channel = frame_.parts.channels[task.channel];
  const Channel& ring = program().channels[task.channel];
  const Interface interface = interface_of(rings().tier_of(channel));
  std::uint32_t steps = task.steps;
  core::Time wire = task.wire[static_cast<std::size_t>(interface)];
  if (steps == kStepsVary) [[unlikely]] {
    const std::uint32_t members = program().membership(ring, frame_.rank_in(program())).size;
    const RingPlan plan =
        ring_plan(static_cast<schema::CollectiveType>(task.collective), task.wire[0].ps, members);
    steps = plan.steps;
    wire = port_.wire_of(plan.chunk_bytes, interface);
  }
  if (steps == 0) return true;
  return rings().start(task, ring, wire, steps) && ends_now(stream, rings().finish(channel));
}

template <class Source, class Port>
bool Device<Source, Port>::start_steps(std::uint32_t stream, const Task& task) {
  const std::uint32_t ordinal = frame_.parts.channels[task.channel].ordinal;
  if (!steps().start(task, stream)) return false;
  // Over at once: because nothing has to be sent, or because all came before.
  return frame_.parts.channels[task.channel].ordinal == ordinal ||
         ends_now(stream, steps_end(task));
}

// To a device of another job, which asks for nothing: its blocks are there.
template <class Source, class Port>
void Device<Source, Port>::start_transfer(std::uint32_t stream, const Task& keys) {
  const core::DeviceId peer{static_cast<std::uint32_t>(keys.peer)};
  const Tier tier = port_.tier_to(peer);
  const core::Time wire = port_.wire_of(keys.wire[0].ps, interface_of(tier));
  const auto left = port_.send_message({peer, tier, wire, keys.tag, keys.steps}, stream);
  if (!left || *left == core::Time::max()) return;
  streams_.complete_in(*left - frame_.now(), stream);
}

// ---- their end

// The collective at the head of `stream`, started before, is over but for what is still leaving.
template <class Source, class Port>
void Device<Source, Port>::end_collective(std::uint32_t stream, core::Time at) {
  if (!ends_now(stream, at)) return;
  const Task& task = streams_.head(stream);
  end(stream, frame_.parts.channels[task.channel].last_entry, task.time_class);
}

// Whether a task that is over at `at` is so now; if not, it will be. Time::max(): the port says
// when, or it never is.
template <class Source, class Port>
bool Device<Source, Port>::ends_now(std::uint32_t stream, core::Time at) {
  if (at <= frame_.now()) return true;
  if constexpr (Port::kMayShare) {
    if (frame_.parts.sharing != nullptr) {
      begin_shared(stream, at);
      return false;
    }
  }
  if (at != core::Time::max()) streams_.complete_in(at - frame_.now(), stream);
  return false;
}

// The collective at the head of `stream` would be over at `at`, if it shared no interface.
template <class Source, class Port>
void Device<Source, Port>::begin_shared(std::uint32_t stream, core::Time at) {
  const Task& task = streams_.head(stream);
  const core::Time begins = std::min(at, port_.known_to_all(frame_.parts.channels[task.channel]));
  if (begins > frame_.now()) return streams_.complete_in(begins - frame_.now(), stream);
  SharedInterfaces(frame_).begin(stream, at - frame_.now(),
                                 port_.use_of(program(), task, frame_.rank_in(program())));
}

// Whether what was foretold of a task, whose interfaces are shared, is its end.
template <class Source, class Port>
bool Device<Source, Port>::ends_shared(const NodeDone& done) {
  if (done.stream >= streams_.source().streams()) return true;
  SharedInterfaces shared(frame_);
  if (shared.is_past(done)) return false;
  if (shared.has(done.stream)) return shared.ends(done);
  const Task& task = streams_.head(done.stream);
  if (task.kind != TaskKind::stepped || steps_end(task) <= frame_.now()) return true;
  begin_shared(done.stream, steps_end(task));
  return false;
}

template <class Source, class Port>
void Device<Source, Port>::end(std::uint32_t stream, core::Time since, TimeClass counted_as) {
  TimeAccount(frame_).split_wait(since, counted_as, streams_.head(stream).time_class);
  complete(stream);
  settle();
}

template <class Source, class Port>
void Device<Source, Port>::complete(std::uint32_t stream) {
  if (frame_.is_on_timeline()) [[unlikely]] {
    const Task& task = streams_.head(stream);
    if (task.kind != TaskKind::compute) put_end_on_timeline(stream, task);
  }
  streams_.complete(stream);
}

template <class Source, class Port>
void Device<Source, Port>::settle() {
  do {
    streams_.settle([this](std::uint32_t stream, const Task& task) {
      const bool over = start(stream, task);
      if (frame_.is_on_timeline()) [[unlikely]]
        put_begin_on_timeline(stream, task, over);
      return over;
    });
  } while (begins_next());
  TimeAccount(frame_).close(streams_.doing());
}

// Whether an iteration begins that the device was told of while another was in progress.
template <class Source, class Port>
bool Device<Source, Port>::begins_next() {
  if constexpr (Source::kServes) {
    if (!streams_.is_at_end(Source::kIterations)) return false;
    if (!streams_.source().begin_next(frame_.ctx)) return false;
    streams_.extend(Source::kIterations);
    return true;
  }
  return false;
}

// On the timeline, from this instant on: `task`, which was started. Of what is over at once only
// receives, as messages lead to them; what computes is there (start_compute()).
template <class Source, class Port>
void Device<Source, Port>::put_begin_on_timeline(std::uint32_t stream, const Task& task,
                                                 bool over) {
  if (task.kind == TaskKind::compute || (over && task.kind != TaskKind::receive)) return;
  put_on_timeline(TimelineMark::begins, stream, task, over ? frame_.now() : core::Time::max());
}

template <class Source, class Port>
void Device<Source, Port>::put_end_on_timeline(std::uint32_t stream, const Task& task) {
  const bool is_collective = task.kind == TaskKind::collective || task.kind == TaskKind::stepped;
  put_on_timeline(TimelineMark::ends, stream, task,
                  is_collective ? frame_.parts.channels[task.channel].last_entry
                                : core::Time::max());
}

template <class Source, class Port>
void Device<Source, Port>::put_on_timeline(TimelineMark mark, std::uint32_t stream,
                                           const Task& task, core::Time until) {
  const auto index = static_cast<std::uint32_t>(&task - program().tasks.data());
  emit_timeline(frame_.ctx, mark, {frame_.state.program, stream, index, until});
}

// ---- a device on a network whose port needs nothing but the device

// A Source for one event.
template <class Source>
Source source_of(const DeviceFrame& frame) {
  if constexpr (Source::kServes) {
    return Source(frame);
  } else {
    return Source(frame.model.programs[frame.state.program]);
  }
}

template <class Port, class Source = MappedProgram>
class DeviceRun {
 public:
  DeviceRun(const DeviceModel& model, DeviceState& state, pdes::Context& ctx)
      : frame_(model, state, ctx),
        port_(frame_),
        device_(frame_, source_of<Source>(frame_), port_) {}

  void start(core::Time begin) { device_.start(begin); }
  void handle(const pdes::Event& event) { device_.handle(event); }
  [[nodiscard]] Port& port() { return port_; }

 private:
  DeviceFrame frame_;
  Port port_;
  Device<Source, Port> device_;
};

// The handlers of devices that are a Run during each event.
template <class Run>
DeviceHandlers handlers_of() {
  return {[](void* state, const pdes::Event& event, pdes::Context& ctx) {
            const DeviceModel& model = ctx.model<Cluster>().devices();
            Run(model, *static_cast<DeviceState*>(state), ctx).handle(event);
          },
          [](const DeviceModel& model, DeviceState& state, pdes::Context& ctx, core::Time begin) {
            Run(model, state, ctx).start(begin);
          }};
}

// A Run where a device has a program, a Served where it has a scheduler.
template <class Run, class Served>
DeviceHandlers handlers_of_both() {
  return {[](void* memory, const pdes::Event& event, pdes::Context& ctx) {
            const DeviceModel& model = ctx.model<Cluster>().devices();
            auto& state = *static_cast<DeviceState*>(memory);
            if (state.serves) return Served(model, state, ctx).handle(event);
            Run(model, state, ctx).handle(event);
          },
          [](const DeviceModel& model, DeviceState& state, pdes::Context& ctx, core::Time begin) {
            if (state.serves) return Served(model, state, ctx).start(begin);
            Run(model, state, ctx).start(begin);
          }};
}

}  // namespace exawarp::model
