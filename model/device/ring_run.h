// A collective that runs round its members, carried out message by message as GroupRun does, to the
// picosecond, in a fraction of the time.
//
// All its messages have one size and each member sends to one other on a lane, so that what a
// message costs is known beforehand, and messages that are here need only be counted. And what
// happens repeats: where the state, seen from one lane of the first member as it enters a phase, is
// as it was some phases ago, all that lies between comes again, and is skipped as often as no lane
// comes to its end by it. The state is the phases and counts of all lanes, until when interfaces
// are busy, and the messages under way in their order, all of it relative to that phase and time.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "core/time.h"
#include "model/device/group_run.h"

namespace exawarp::model {

class RingRun {
 public:
  // As GroupRun's. Requires runs_round(use.c).
  RingRun(const GroupTask& use, std::uint32_t period);

  core::Time last_end();

  // Phases of each lane that were not carried out, for tests.
  [[nodiscard]] std::uint32_t skipped() const { return skipped_; }

 private:
  // What goes to a member on a lane, and what it does in turn. Clocks are numbered.
  struct Hop {
    std::uint32_t to = 0;  // the next one on this lane
    std::uint32_t sent_clock = 0, received_clock = 0;
    std::uint32_t order = 0, waited_order = 0;  // MessageDue::order of what comes, and has waited
    core::Time sends, receives;                 // how long a message keeps the interface
    core::Time travel;
  };
  struct Progress {
    std::uint32_t phase = 0, arrived = 0;
    friend bool operator==(const Progress&, const Progress&) = default;
  };
  struct Arrival {
    MessageDue due;
    std::uint32_t to;
    bool waited;
  };
  struct State {
    core::Time now;
    std::vector<Progress> progress;  // by member and lane
    std::vector<core::Time> clocks;  // by number
    std::vector<Arrival> arrivals;   // a heap, the next one first
  };

  // Of a member's interface: where it sends, or where it receives.
  using Side = std::tuple<std::uint32_t, Interface, bool>;
  using Clocks = std::map<Side, std::uint32_t>;  // their numbers
  static std::uint32_t number_of(const Side& side, Clocks& clocks);
  void prepare(std::uint32_t position, std::uint32_t lane, Clocks& clocks);
  void advance(std::uint32_t at);
  void send(std::uint32_t at);
  void push(core::Time time, std::uint32_t order, std::uint32_t to, bool waited);
  Arrival pop();
  void receive(const Arrival& arrival);
  void take(std::uint32_t at);
  void look_back();
  void skip(std::uint32_t phases, core::Time time);
  [[nodiscard]] bool repeats() const;

  GroupTask use_;
  std::uint32_t period_, phases_;
  std::vector<Hop> hops_;  // by member and lane
  core::Time longest_wire_;
  State state_, before_;   // before_: its arrivals are sorted, the next one last
  std::uint64_t next_number_ = 0;
  std::uint32_t remember_at_ = 8;  // the phase whose state is looked for next
  bool looks_back_ = true;
  std::uint32_t skipped_ = 0;
};

}  // namespace exawarp::model
