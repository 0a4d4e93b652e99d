// LogGOPS on GOAL schedules, as logical processes: LP r is rank r of the schedule, a host.
//
// The rules (docs/guide/goal.md), for a message of s bytes, s' = max(s, 1) - 1:
//   send at t      waits for its CPU and the send side of its NIC; CPU busy to t + o + s'O, NIC to
//                  t + g + s'G; the message reaches the receiver at t + L + o
//   message at t   waits for the CPU and the receive side of the NIC that the send names; CPU busy
//                  to t + o + s'max(O, G), NIC to t + g + s'G; then it is matched
//   receive        is posted when it is free to and its CPU was; no CPU time of its own
//   s <= S         eager: the send is over when its CPU time is
//   s > S          rendezvous: the send is over at the match; its CPU and NIC are not free before
// Matching is by (source, tag), in the order posted; messages that come first wait in order.
//
// A rendezvous acts on its sender at the instant of the match, with no latency. So engine time is
// finer than the schedule's: unit T is `steps` engine ticks. At even ticks hosts hear of each
// other: at tick 0 of T messages arrive, later what a match at T has released. At odd ticks they do
// what is due at T, and where matches act at once, only what was created at earlier ticks: tick 1
// has what was due at T before, tick 3 what that created at T, at this host or by a match at
// another, and so on. So all hosts go through the instant in step, in LogGOPSim's order of
// creation. Every mode of the engine executes exactly this, so it gives one answer;
// docs/decisions/0012-goal-ticks.md has the reasons.
//
// As LogGOPSim (Parameters::as_loggopsim), what a host of several CPUs does may lie in its past.
// It does so at once, and a message of it that should have arrived by then takes one tick.
#pragma once

#include <cstdint>
#include <vector>

#include "model/guests/goal/agenda.h"
#include "model/guests/goal/match_queue.h"
#include "model/guests/goal/parameters.h"
#include "model/guests/goal/schedule.h"
#include "pdes/logical_process.h"

namespace exawarp::model::goal {

enum HostEvent : pdes::EventKind {
  kArrival,      // the head of a message
  kPastArrival,  // one that was sent in the past of its sender; as LogGOPSim only
  kWake,         // something is due
  kMatched,      // a rendezvous: the send may end
  kPastMatched,  // one in the past of its receiver; as LogGOPSim only
};

// What an operation waits for.
inline LaneId lane_of(const Op& op) {
  switch (op.type) {
    case OpType::send: return {LaneId::Kind::send, op.cpu, op.nic};
    case OpType::receive: return {LaneId::Kind::receive, op.cpu, 0};
    case OpType::calc: break;
  }
  return {LaneId::Kind::calc, op.cpu, 0};
}

// What has made a CPU busy last. A receive is posted when its CPU was free. Where a match at
// another host sets it free, that may have been just before this: the match may have come first at
// its instant, though this host hears of it a tick later.
struct Occupied {
  std::int64_t at = -1;    // units; -1: never
  std::int64_t until = 0;  // units: the CPU's clock before
  std::int64_t created = 0, creator_created = 0;  // of the order of what did it
  Place creator_place = 0, place = 0;
};

// A dependence of an operation that waits for others, too, met at `at` by what creates in `order`.
// Where a match at another host meets the last one, and its place at the instant is before this,
// it is this that has set the operation free.
struct Met {
  std::int64_t at = 0;  // units
  CreationOrder order;
  std::uint32_t op = 0;
  std::uint32_t ordinal = 0;  // among those that depend on that
};

struct Host {
  struct State {
    std::int64_t* clocks = nullptr;  // units: each CPU free, each NIC's receive side, send side
    std::uint32_t* waits = nullptr;  // by operation: dependences not yet met, or kFreed and above
    std::int64_t* earliest = nullptr;  // units, by operation: when the latest of those that it
                                       // waited for and that were met is over; null: one CPU
    Occupied* occupied = nullptr;  // by CPU; null: there is no rendezvous
    pdes::UndoVector<Met> met;     // of the latest instant that had any; where `occupied` is
    Agenda agenda;
    MatchQueue posted;       // receives
    MatchQueue unexpected;   // messages
    std::int64_t next_wake = kNoWake;  // engine ticks: the earliest wake-up under way
    std::uint32_t sequence = 0;        // things created here
    std::uint32_t started = 0;         // operations
    std::uint32_t ended = 0;
    std::uint32_t messages = 0;        // taken in
    std::uint32_t clock_count = 0;
    std::uint32_t occupied_count = 0;
    std::uint32_t unused = 0;
    std::uint32_t ops = 0;
  };
  static constexpr std::uint32_t kFreed = 1u << 31;       // plus its place in what is freed with it
  static constexpr std::uint32_t kReleased = 0xffffffff;  // in the agenda, or past it
  static constexpr std::int64_t kNoWake = core::Time::max().ps;

  static void handle(State& s, const pdes::Event& event, pdes::Context& ctx);
  static void describe(State& s, pdes::StateArchive& archive);
};

class LogGops : public pdes::Model {
 public:
  // `schedule` outlives the model. Throws core::InputError where L + o is not positive, or where
  // the schedule could take longer than engine time reaches.
  LogGops(const Schedule& schedule, const Parameters& parameters);

  [[nodiscard]] std::span<const pdes::LpType> types() const override { return {&type_, 1}; }
  [[nodiscard]] std::span<const pdes::LpRange> ranges() const override { return {&range_, 1}; }
  // L + o where every message is eager and none is late; else one engine tick.
  [[nodiscard]] pdes::Time lookahead() const override { return lookahead_; }
  void initialise(pdes::LpId lp, void* state, pdes::Context& ctx) const override;

  [[nodiscard]] const Schedule& schedule() const { return *schedule_; }
  [[nodiscard]] const Parameters& parameters() const { return parameters_; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  [[nodiscard]] bool has_rendezvous() const { return has_rendezvous_; }
  // Whether hosts of several CPUs may act in their past, as LogGOPSim.
  [[nodiscard]] bool has_past() const { return parameters_.as_loggopsim && schedule_->cpus() > 1; }
  // Whether hosts may act on each other at one instant.
  [[nodiscard]] bool acts_at_once() const { return has_rendezvous_ || has_past(); }
  // When the last CPU of a host comes free: what LogGOPSim calls its finishing time. In units.
  [[nodiscard]] std::int64_t finish(const Host::State& state) const;

 private:
  const Schedule* schedule_;
  Parameters parameters_;
  pdes::LpType type_;
  pdes::LpRange range_;
  bool has_rendezvous_ = false;
  std::int64_t steps_ = 0;  // even
  pdes::Time lookahead_;
};

}  // namespace exawarp::model::goal
