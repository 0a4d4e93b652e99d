// A collective carried out message by message, by the rules that devices at message fidelity
// follow (stepped.cc, message_port.h), without an engine.
#pragma once

#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include "core/time.h"
#include "model/collective/choice.h"
#include "model/device/group_network.h"
#include "model/network/message/line.h"

namespace exawarp::model {

// What one collective does on one group's network.
struct GroupTask {
  const Collective& c;
  const Choice& choice;
  std::uint32_t connection;
  const GroupNetwork& group;

  [[nodiscard]] core::Time wire(std::int64_t bytes, Interface interface) const {
    const std::uint32_t payload = choice.payload_ppm[static_cast<std::size_t>(interface)];
    return group.network().wire_time(carried_bytes(payload, bytes), interface);
  }
  // From when a message of `wire` has left to its arrival.
  [[nodiscard]] core::Time travel(Tier tier, core::Time wire) const {
    return group.network().travel(tier, wire) +
           choice.step[static_cast<std::size_t>(interface_of(tier))];
  }
};

// When a message comes to its receiver, and in which order at one time.
struct MessageDue {
  core::Time time;
  std::uint32_t order;   // of messages at one time: the sender's device
  std::uint64_t number;  // in the order of sending
  friend bool operator>(const MessageDue& a, const MessageDue& b) {
    if (a.time != b.time) return a.time > b.time;
    return a.order != b.order ? a.order > b.order : a.number > b.number;
  }
};

// Where the first positions stand for all: who of them gets what a member sends, and from whom.
struct StandIn {
  std::uint32_t receiver;  // a position
  std::uint32_t sender;    // a device
};
StandIn stand_in(const GroupTask& use, std::uint32_t period, std::uint32_t from, std::uint32_t to);

class GroupRun {
 public:
  // The first `period` positions stand for all: GroupNetwork::period(), or the number of members.
  GroupRun(const GroupTask& use, std::uint32_t period);

  core::Time last_end();

 private:
  struct Lane {
    std::uint32_t phase = 0, arrived = 0;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> early;  // phase, messages
  };
  struct Arrival {
    MessageDue due;
    std::uint32_t to, lane, phase;
    core::Time wire;
    Interface interface;
    bool waited;
    friend bool operator>(const Arrival& a, const Arrival& b) { return a.due > b.due; }
  };
  struct Receiving {
    core::Time clock;
    ReceiveLine line;
  };

  [[nodiscard]] Lane& lane_of(std::uint32_t position, std::uint32_t lane) {
    return lanes_[std::size_t{position} * use_.c.lanes + lane];
  }
  // Into sends_by_ and received_.
  [[nodiscard]] std::size_t side_of(std::uint32_t position, Interface interface) const {
    return std::size_t{position} * interfaces_ + static_cast<std::size_t>(interface);
  }
  void advance(std::uint32_t position, std::uint32_t lane, core::Time now);
  void send(std::uint32_t position, std::uint32_t lane, const Transfer& t, core::Time now);
  void receive(Arrival arrival);
  void take(const Arrival& arrival);

  GroupTask use_;
  std::uint32_t period_, interfaces_;
  bool in_network_;
  std::vector<Lane> lanes_;                  // by member and lane
  std::vector<SendLineAlone> sends_by_;      // by member and interface
  std::vector<Receiving> received_;          // by member and interface
  std::vector<core::Time> left_;             // by member: when all that it has sent has left
  core::Time end_;
  std::uint64_t sends_ = 0;
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals_;
};

}  // namespace exawarp::model
