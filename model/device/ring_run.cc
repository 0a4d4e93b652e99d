// Repetition is found as by Brent: the state of one phase is kept and compared with those that
// follow, until twice as many phases have passed.
#include "model/device/ring_run.h"

#include <algorithm>
#include <functional>

#include "model/collective/algorithm.h"
#include "model/network/message/message.h"

namespace exawarp::model {

using core::Time;

RingRun::RingRun(const GroupTask& use, std::uint32_t period)
    : use_(use),
      period_(period),
      phases_(phase_count(use.c, 0, 0)),
      hops_(std::size_t{period} * use.c.lanes) {
  Clocks clocks;
  for (std::uint32_t p = 0; p < period_; ++p) {
    for (std::uint32_t lane = 0; lane < use_.c.lanes; ++lane) prepare(p, lane, clocks);
  }
  state_.progress.resize(hops_.size());
  state_.clocks.resize(clocks.size());
}

// Those that are used alone: a device of a fully connected network has an interface for each other.
std::uint32_t RingRun::number_of(const Side& side, Clocks& clocks) {
  return clocks.try_emplace(side, static_cast<std::uint32_t>(clocks.size())).first->second;
}

void RingRun::prepare(std::uint32_t position, std::uint32_t lane, Clocks& clocks) {
  const GroupNetwork& group = use_.group;
  const Transfer t = transfer_of(use_.c, position, lane, 0, 0);
  const Tier tier = group.tier(position, t.peer);
  const Interface side = interface_of(tier);
  const Time wire = use_.wire(t.bytes, side);
  const Ends ends = group.network().ends_of(side, group.device(position), group.device(t.peer),
                                            use_.connection + lane);
  const StandIn next = stand_in(use_, period_, position, t.peer);
  const std::uint32_t to = next.receiver * use_.c.lanes + lane;
  Hop& here = hops_[std::size_t{position} * use_.c.lanes + lane];
  here.to = to;
  here.sent_clock = number_of({position, ends.out, true}, clocks);
  here.sends = wire;
  here.travel = use_.travel(tier, wire);
  Hop& there = hops_[to];
  there.received_clock = number_of({next.receiver, ends.in, false}, clocks);
  there.receives = wire;
  there.order = next.sender;
  there.waited_order = group.device(next.receiver).value;
  longest_wire_ = std::max(longest_wire_, wire);
}

Time RingRun::last_end() {
  for (std::uint32_t at = 0; at < hops_.size(); ++at) advance(at);
  while (!state_.arrivals.empty()) {
    const Arrival next = pop();
    state_.now = next.due.time;
    const std::uint32_t phase = state_.progress[0].phase;
    if (next.waited) {
      take(next.to);
    } else {
      receive(next);
    }
    if (looks_back_ && state_.progress[0].phase != phase) look_back();
  }
  return state_.now;
}

// Enters the lane's phase and all that follow as far as messages that are here allow.
void RingRun::advance(std::uint32_t at) {
  Progress& lane = state_.progress[at];
  for (; lane.phase < phases_; ++lane.phase) {
    send(at);
    if (lane.arrived <= lane.phase) return;
  }
}

void RingRun::send(std::uint32_t at) {
  const Hop& hop = hops_[at];
  Time& busy = state_.clocks[hop.sent_clock];
  busy = sent_at(state_.now, busy, hop.sends);
  push(core::sum_to_end(busy, hop.travel), hops_[hop.to].order, hop.to, false);
}

void RingRun::push(Time time, std::uint32_t order, std::uint32_t to, bool waited) {
  state_.arrivals.push_back({{time, order, next_number_++}, to, waited});
  std::ranges::push_heap(state_.arrivals, std::greater<>(), &Arrival::due);
}

RingRun::Arrival RingRun::pop() {
  std::ranges::pop_heap(state_.arrivals, std::greater<>(), &Arrival::due);
  const Arrival next = state_.arrivals.back();
  state_.arrivals.pop_back();
  return next;
}

void RingRun::receive(const Arrival& arrival) {
  const Hop& hop = hops_[arrival.to];
  if (hop.receives.ps > 0) {
    Time& busy = state_.clocks[hop.received_clock];
    busy = std::max(state_.now, core::sum_to_end(busy, hop.receives));  // all are of one length
    if (busy > state_.now) return push(busy, hop.waited_order, arrival.to, true);
  }
  take(arrival.to);
}

void RingRun::take(std::uint32_t at) {
  Progress& lane = state_.progress[at];
  if (++lane.arrived != lane.phase + 1) return;  // of a phase to come
  ++lane.phase;
  advance(at);
}

// ---- repetition

void RingRun::look_back() {
  const std::uint32_t phase = state_.progress[0].phase;
  if (!before_.progress.empty() && repeats()) {
    looks_back_ = false;
    return skip(phase - before_.progress[0].phase, state_.now - before_.now);
  }
  if (phase < remember_at_) return;
  remember_at_ = 2 * phase;
  before_ = state_;
  std::ranges::sort(before_.arrivals, std::greater<>(), &Arrival::due);
}

bool RingRun::repeats() const {
  const Time since = state_.now - before_.now;
  const std::uint32_t phases = state_.progress[0].phase - before_.progress[0].phase;
  // A clock counts as long as something that comes now could have to wait for it.
  const auto busy_for = [this](const State& state, std::size_t clock) {
    return std::max(state.clocks[clock] - state.now, Time{0} - longest_wire_);
  };
  for (std::size_t i = 0; i < state_.clocks.size(); ++i) {
    if (busy_for(state_, i) != busy_for(before_, i)) return false;
  }
  for (std::size_t i = 0; i < state_.progress.size(); ++i) {
    const Progress& then = before_.progress[i];
    if (state_.progress[i] != Progress{then.phase + phases, then.arrived + phases}) return false;
  }
  if (state_.arrivals.size() != before_.arrivals.size()) return false;
  std::vector<Arrival> now = state_.arrivals;
  std::ranges::sort(now, std::greater<>(), &Arrival::due);
  return std::ranges::equal(now, before_.arrivals, [since](const Arrival& a, const Arrival& b) {
    return a.due.time == b.due.time + since && a.due.order == b.due.order && a.to == b.to &&
           a.waited == b.waited;
  });
}

// As many times `phases`, which took `time`, as leave each lane with a phase to come to its end in.
void RingRun::skip(std::uint32_t phases, Time time) {
  const auto furthest = std::ranges::max_element(state_.progress, {}, &Progress::phase);
  if (furthest->phase >= phases_) return;
  const std::uint32_t times = (phases_ - 1 - furthest->phase) / phases;
  const Time by = core::product_to_end(times, time);
  skipped_ = times * phases;
  for (Progress& lane : state_.progress) {
    lane.phase += skipped_;
    lane.arrived += skipped_;
  }
  const auto shift = [by](Time& t) { t = core::sum_to_end(t, by); };
  shift(state_.now);
  std::ranges::for_each(state_.clocks, shift);
  for (Arrival& arrival : state_.arrivals) shift(arrival.due.time);
}

}  // namespace exawarp::model
