// A queue of arrivals by time, and a clock for each side of each interface: what devices, ports and
// the engine do for one collective at message fidelity, in the same order of equal times.
#include "model/device/group_run.h"

#include <algorithm>
#include <functional>

#include "model/collective/algorithm.h"
#include "model/network/message/message.h"

namespace exawarp::model {

using core::Time;

// The receiver's stand-in gets it from the member that is as far before it.
StandIn stand_in(const GroupTask& use, std::uint32_t period, std::uint32_t from, std::uint32_t to) {
  const std::uint32_t receiver = to % period, n = use.c.members;
  const std::uint64_t sender = (std::uint64_t{from} + n - (to - receiver)) % n;
  return {receiver, use.group.device(static_cast<std::uint32_t>(sender)).value};
}

GroupRun::GroupRun(const GroupTask& use, std::uint32_t period)
    : use_(use),
      period_(period),
      interfaces_(kInterfaceCount + use.group.network().further_interfaces()),
      in_network_(runs_in_network(use.c)),
      lanes_(std::size_t{period} * use.c.lanes),
      sends_by_(std::size_t{period} * interfaces_),
      received_(std::size_t{period} * interfaces_),
      left_(period) {}

Time GroupRun::last_end() {
  for (std::uint32_t p = 0; p < period_; ++p) {
    for (std::uint32_t lane = 0; lane < use_.c.lanes; ++lane) advance(p, lane, Time{0});
  }
  while (!arrivals_.empty()) {
    const Arrival next = arrivals_.top();
    arrivals_.pop();
    end_ = std::max(end_, next.due.time);
    if (next.waited) {
      take(next);
    } else {
      receive(next);
    }
  }
  return std::max(end_, *std::ranges::max_element(left_));
}

// Enters the lane's phase and all that follow as far as messages that are here allow.
void GroupRun::advance(std::uint32_t position, std::uint32_t index, Time now) {
  Lane& lane = lane_of(position, index);
  const std::uint32_t phases = phase_count(use_.c, position, index);
  for (; lane.phase < phases; ++lane.phase) {
    const Phase phase = phase_of(use_.c, position, index, lane.phase);
    for (std::uint32_t i = 0; i < phase.sends; ++i) {
      send(position, index, transfer_of(use_.c, position, index, lane.phase, i), now);
    }
    lane.arrived = 0;
    const auto early =
        std::ranges::find(lane.early, lane.phase, &std::pair<std::uint32_t, std::uint32_t>::first);
    if (phase.receives != 0 && early != lane.early.end()) {
      lane.arrived = early->second;
      lane.early.erase(early);
    }
    if (lane.arrived < phase.receives) return;
  }
}

void GroupRun::send(std::uint32_t position, std::uint32_t lane, const Transfer& t, Time now) {
  const GroupNetwork& group = use_.group;
  const bool into_network = t.peer == kNoMember;
  const Tier tier = into_network ? group.span() : group.tier(position, t.peer);
  const Interface side = interface_of(in_network_ ? group.span() : tier);
  const bool is_free = in_network_ && t.bytes == 0;  // a notice: it follows what has been sent
  const Time wire = is_free ? Time{0} : use_.wire(t.bytes, side);
  const Time travel = use_.travel(tier, in_network_ ? Time{0} : wire);
  const Ends ends = in_network_ && !group.network().has_rails()
                        ? Ends{side, side}
                        : group.network().ends_of(side, group.device(position),
                                                  group.device(into_network ? position : t.peer),
                                                  use_.connection + lane);
  Time sent = now;
  if (!t.by_switch) {
    Time& left = left_[position];
    if (is_free) {
      sent = std::max(now, left);
    } else {
      sent =
          sends_by_[side_of(position, ends.out)].leaves(LineSender::channel(0, t.queue), wire, now);
      left = std::max(left, sent);
    }
  }
  if (into_network) return;
  const bool is_notice = in_network_ && t.bytes_received == 0;
  const Time taken = is_notice                     ? Time{0}
                     : t.bytes_received == t.bytes ? wire
                                                   : use_.wire(t.bytes_received, side);
  const StandIn there = stand_in(use_, period_, position, t.peer);
  arrivals_.push({.due = {.time = core::sum_to_end(sent, travel),
                          .order = there.sender,
                          .number = sends_++},
                  .to = there.receiver,
                  .lane = lane,
                  .phase = t.peer_phase,
                  .wire = taken,
                  .interface = ends.in,
                  .waited = false});
}

void GroupRun::receive(Arrival arrival) {
  if (arrival.wire.ps > 0) {
    Receiving& at = received_[side_of(arrival.to, arrival.interface)];
    const Reception reception = received_at(arrival.due.time, at.clock, arrival.wire, at.line,
                                            use_.group.network().line_memory());
    at = {reception.end, reception.line};
    if (reception.end > arrival.due.time) {
      arrival.due = {reception.end, use_.group.device(arrival.to).value, sends_++};
      arrival.waited = true;
      return arrivals_.push(arrival);
    }
  }
  take(arrival);
}

void GroupRun::take(const Arrival& arrival) {
  Lane& lane = lane_of(arrival.to, arrival.lane);
  if (arrival.phase != lane.phase) {
    const auto early = std::ranges::find(lane.early, arrival.phase,
                                         &std::pair<std::uint32_t, std::uint32_t>::first);
    if (early != lane.early.end()) {
      ++early->second;
    } else {
      lane.early.emplace_back(arrival.phase, 1);
    }
    return;
  }
  if (++lane.arrived < phase_of(use_.c, arrival.to, arrival.lane, lane.phase).receives) return;
  ++lane.phase;
  advance(arrival.to, arrival.lane, arrival.due.time);
}

}  // namespace exawarp::model
