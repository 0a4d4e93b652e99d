// Messages of one lane may overtake each other: they come from different members. A member may be
// many collectives behind a root that broadcasts. So what comes early is kept by (channel, ordinal,
// lane, phase), as a count: a few entries for what is in flight, whatever the size of the group.
//
// A phase's messages all count the same. Handlers bound what they take from a message: a lane or
// phase that the collective does not have is a check, for what comes early when its collective
// begins: nothing is known of it before.
#include "model/device/stepped.h"

#include <algorithm>
#include <bit>

#include "core/check.h"
#include "model/collective/algorithm.h"
#include "model/device/analytical_port.h"
#include "model/device/folded_port.h"
#include "model/device/packet_port.h"

namespace exawarp::model {

using core::DeviceId;
using core::Time;

static_assert(std::bit_cast<MessageBody>(CarriedBody{.kind = Carried::step_one_by_one})
                  .one_by_one());

template <class Port>
typename Stepped<Port>::Place Stepped<Port>::place_of(const Task& task) const {
  Place place{what(task).collective,
              port_.membership(program_, task.channel, rank())};
  place.collective.members = place.in.size;
  Port::carry_out(place.collective);
  return place;
}

template <class Port>
DeviceId Stepped<Port>::member(const Task& task, std::uint32_t position) const {
  return port_.member(program_, task.channel, rank(), position);
}

template <class Port>
bool Stepped<Port>::start(const Task& task, std::uint32_t stream) {
  const SteppedTask& stepped = what(task);
  const bool stays = stepped.collective.type == schema::CollectiveType::PERMUTE &&
                     stepped.collective.shift == 0;
  if (stays || program_.membership(program_.channels[task.channel], rank()).size == 1) return true;
  ChannelState& channel = parts_.channels[task.channel];
  ctx_.set(channel.last_entry, ctx_.now());
  ctx_.set(channel.wire, ctx_.now());
  const Time overhead = Port::start_overhead(stepped.choice);
  if (overhead.ps == 0) return begin(task);
  ctx_.send(ctx_.self(), overhead, static_cast<pdes::EventKind>(DeviceEvent::steps_begin),
            NodeDone{stream, parts_.streams[stream].cursor});
  return false;
}

template <class Port>
bool Stepped<Port>::begin(const Task& task) {
  const Place place = place_of(task);
  ChannelState& channel = parts_.channels[task.channel];
  auto& lanes = parts_.stepped->lanes;
  const std::uint32_t first = lanes.size();
  if (!check_early(task, place)) return false;
  ctx_.set(channel.steps, 1u);
  ctx_.set(channel.arrived, place.collective.lanes);
  for (std::uint32_t lane = 0; lane < place.collective.lanes; ++lane) {
    lanes.push_back(ctx_, {task.channel, lane, 0, 0});
  }
  for (std::uint32_t lane = 0; lane < place.collective.lanes; ++lane) {
    advance(task, place, first + lane);
  }
  return finish_if_over(task);
}

template <class Port>
bool Stepped<Port>::arrive(std::uint8_t local, const Task* task, const Chunk& chunk) {
  ChannelState& channel = parts_.channels[local];
  const bool here = chunk.ordinal == channel.ordinal && channel.steps != 0 && task != nullptr;
  if (!here) {
    const bool is_late = chunk.ordinal < channel.ordinal;
    ctx_.check(!is_late, "a message of a collective arrived after its end");
    if (!is_late) keep_early(chunk);
    return false;
  }
  const Place place = place_of(*task);
  if (!has_phase(place, chunk.lane, chunk.step)) return false;
  const std::uint32_t index = first_lane(local) + chunk.lane;
  EXAWARP_CHECK(index < parts_.stepped->lanes.size(), index, parts_.stepped->lanes.size());
  SteppedLane lane = parts_.stepped->lanes[index];
  if (chunk.step > lane.phase) {
    keep_early(chunk);
    return false;
  }
  const bool expected = chunk.step == lane.phase;
  ctx_.check(expected, "a message of a collective arrived after its phase");
  if (!expected) return false;
  heard_of(channel, chunk.entry_ps);
  ++lane.arrived;
  parts_.stepped->lanes.assign(ctx_, index, lane);
  const Phase phase =
      phase_of(place.collective, place.in.position, chunk.lane, lane.phase);
  if (lane.arrived < phase.receives) return false;
  ++lane.phase;
  lane.arrived = 0;
  parts_.stepped->lanes.assign(ctx_, index, lane);
  advance(*task, place, index);
  return finish_if_over(*task);
}

// Enters the lane's phase and all that follow as far as messages that are here allow.
template <class Port>
void Stepped<Port>::advance(const Task& task, const Place& place, std::uint32_t index) {
  SteppedLane lane = parts_.stepped->lanes[index];
  const std::uint32_t position = place.in.position;
  const std::uint32_t phases = phase_count(place.collective, position, lane.lane);
  for (; lane.phase < phases; ++lane.phase) {
    const Phase phase = phase_of(place.collective, position, lane.lane, lane.phase);
    for (std::uint32_t i = 0; i < phase.sends; ++i) {
      send(task, place, lane.lane,
           transfer_of(place.collective, position, lane.lane, lane.phase, i));
    }
    lane.arrived = take_early(task, lane.lane, lane.phase);
    ctx_.check(lane.arrived <= phase.receives,
               "a phase of a collective received more messages than it waits for");
    if (lane.arrived < phase.receives) break;
  }
  parts_.stepped->lanes.assign(ctx_, index, lane);
  ChannelState& channel = parts_.channels[task.channel];
  if (lane.phase >= phases) ctx_.set(channel.arrived, channel.arrived - 1);
}

template <class Port>
bool Stepped<Port>::finish_if_over(const Task& task) {
  ChannelState& channel = parts_.channels[task.channel];
  if (channel.arrived != 0) return false;
  auto& lanes = parts_.stepped->lanes;
  const std::uint32_t first = first_lane(task.channel);
  std::uint32_t last = first;
  while (last < lanes.size() && lanes[last].channel == task.channel) ++last;
  while (last > first) lanes.erase(ctx_, --last);
  ctx_.set(channel.steps, 0u);
  ctx_.set(channel.ordinal, channel.ordinal + 1);
  return true;
}

// ---- messages

template <class Port>
void Stepped<Port>::send(const Task& task, const Place& place, std::uint32_t lane,
                         const Transfer& t) {
  const bool in_network = runs_in_network(place.collective);
  const bool into_network = t.peer == kNoMember;
  const DeviceId peer = into_network ? self() : member(task, t.peer);
  const Tier tier = into_network ? span_of(task, place) : port_.tier_to_member(peer);
  const Interface interface = interface_of(in_network ? span_of(task, place) : tier);
  if (!in_network && !t.by_switch && post(task, lane, peer, interface, t)) return;
  const Time wire_out = wire(task, t.bytes, interface);
  const auto step = static_cast<std::size_t>(interface_of(tier));
  const Time usual = port_.step_latency(tier, in_network ? Time{0} : wire_out,
                                        what(task).choice.step[step]);
  const std::uint16_t number = program_.channels[task.channel].number;
  const Ends ends = in_network && !model_.network.has_rails()
                        ? Ends{interface, interface}
                        : model_.network.ends_of(interface, self(), peer, number + lane);
  const bool is_free = in_network && t.bytes == 0;
  const Travel way =
      t.by_switch ? Travel{ctx_.now(), Time{0}, usual}
                  : leave(task, {peer, ends.out, t.queue, is_free}, {ctx_.now(), wire_out, usual});
  if (into_network || way.start == Time::max()) return;
  const bool notice = in_network && t.bytes_received == 0;
  const Time received = notice                        ? Time{0}
                        : t.bytes_received == t.bytes ? way.wire
                                                      : wire(task, t.bytes_received, interface);
  const ChannelState& channel = parts_.channels[task.channel];
  ctx_.send(port_.lp_of(peer), core::sum_to_end(way.start, way.wire) - ctx_.now() + way.latency,
            static_cast<pdes::EventKind>(DeviceEvent::step_arrives),
            Chunk{received.ps, channel.last_entry.ps, channel.ordinal, t.peer_phase,
                  number, static_cast<std::uint16_t>(ends.in), lane});
}

// Whether the port takes the message, so that the interface's clock has no part in it.
template <class Port>
bool Stepped<Port>::post(const Task& task, std::uint32_t lane, DeviceId peer, Interface interface,
                   const Transfer& t) {
  const ChannelState& channel = parts_.channels[task.channel];
  return port_.post_step(task.channel, interface,
                         {.to = peer,
                          .bytes = carried_bytes(payload(task, interface), t.bytes),
                          .body = std::bit_cast<MessageBody>(CarriedBody{
                              .time_ps = channel.last_entry.ps,
                              .first = channel.ordinal,
                              .second = t.peer_phase,
                              .kind = t.one_by_one ? Carried::step_one_by_one : Carried::step,
                              .channel = program_.channels[task.channel].number,
                              .lane = lane}),
                          .overhead = what(task).choice.step[static_cast<std::size_t>(interface)]});
}

// When a message leaves; Time::max(): it has no way, and never does. What is `free` takes no time
// on the interface, but follows what the collective has sent before.
template <class Port>
Travel Stepped<Port>::leave(const Task& task, const Handed& message, const UsualTransfer& usual) {
  ChannelState& channel = parts_.channels[task.channel];
  const LineSender sender =
      LineSender::channel(program_.channels[task.channel].number, message.queue);
  const std::optional<Travel> way =
      message.free
          ? port_.travel(message.to, {std::max(usual.ready, channel.wire), Time{0}, usual.latency})
          : port_.leave_by(message.interface, sender, message.to, usual);
  if (!way) {
    ctx_.set(channel.wire, Time::max());
    return {Time::max(), Time{0}, usual.latency};
  }
  if (!message.free) {
    ctx_.set(channel.wire, std::max(channel.wire, core::sum_to_end(way->start, way->wire)));
  }
  return *way;
}

template <class Port>
Tier Stepped<Port>::span_of(const Task& task, const Place& place) const {
  return span_of_group(model_.network, place.in.size, program_.ranks != nullptr,
                       [&](std::uint32_t position) { return member(task, position); });
}

// ---- what came early

// Whether the collective has the lane, and the lane the phase.
template <class Port>
bool Stepped<Port>::has_phase(const Place& place, std::uint32_t lane, std::uint32_t phase) const {
  const bool has_lane = lane < place.collective.lanes;
  ctx_.check(has_lane, "a message of a collective names a lane that the collective does not have");
  if (!has_lane) return false;
  const bool has = phase < phase_count(place.collective, place.in.position, lane);
  ctx_.check(has, "a message of a collective names a phase that the collective does not have");
  return has;
}

// Whether all that came before its collective, which begins, belongs to it.
template <class Port>
bool Stepped<Port>::check_early(const Task& task, const Place& place) const {
  const std::uint16_t number = program_.channels[task.channel].number;
  const std::uint32_t ordinal = parts_.channels[task.channel].ordinal;
  const auto& early = parts_.stepped->early;
  for (std::uint32_t i = 0; i < early.size(); ++i) {
    const EarlySteps e = early[i];
    const bool mine = e.channel == number && e.ordinal == ordinal;
    if (mine && !has_phase(place, e.lane, e.phase)) return false;
  }
  return true;
}

template <class Port>
std::uint32_t Stepped<Port>::take_early(const Task& task, std::uint32_t lane, std::uint32_t phase) {
  ChannelState& channel = parts_.channels[task.channel];
  auto& early = parts_.stepped->early;
  for (std::uint32_t i = 0; i < early.size(); ++i) {
    const EarlySteps e = early[i];
    if (e.channel != program_.channels[task.channel].number || e.ordinal != channel.ordinal ||
        e.lane != lane || e.phase != phase) {
      continue;
    }
    early.erase(ctx_, i);
    heard_of(channel, e.entry_ps);
    return e.count;
  }
  return 0;
}

template <class Port>
void Stepped<Port>::keep_early(const Chunk& chunk) {
  const bool is_lane = chunk.lane < kLanesMax;
  ctx_.check(is_lane, "a message of a collective names a lane that no collective has");
  if (!is_lane) return;
  auto& early = parts_.stepped->early;
  for (std::uint32_t i = 0; i < early.size(); ++i) {
    EarlySteps e = early[i];
    if (e.channel != chunk.channel || e.ordinal != chunk.ordinal || e.lane != chunk.lane ||
        e.phase != chunk.step) {
      continue;
    }
    ++e.count;
    e.entry_ps = std::max(e.entry_ps, chunk.entry_ps);
    return early.assign(ctx_, i, e);
  }
  early.push_back(ctx_, {chunk.entry_ps, chunk.ordinal, chunk.step, 1, chunk.channel,
                         static_cast<std::uint16_t>(chunk.lane)});
}

template <class Port>
std::uint32_t Stepped<Port>::first_lane(std::uint8_t channel) const {
  const auto& lanes = parts_.stepped->lanes;
  std::uint32_t i = 0;
  while (i < lanes.size() && lanes[i].channel != channel) ++i;
  return i;
}

template class Stepped<AnalyticalPort>;
template class Stepped<FoldedPort>;
template class Stepped<FoldedMessagePort>;
template class Stepped<MessagePort<WellLinks>>;
template class Stepped<MessagePort<FaultyLinks>>;
template class Stepped<PacketPort<AcrossNodes<WellLinks>>>;
template class Stepped<PacketPort<AcrossNodes<FaultyLinks>>>;
template class Stepped<PacketPort<Everywhere>>;
template class Stepped<PacketPort<AcrossNodes<WellLinks>, FlowCarrier>>;

}  // namespace exawarp::model
