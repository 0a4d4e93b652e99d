// Folding, exact at analytical fidelity: devices that do the same at the same times are simulated
// once. Of each class of them one device stands in for all (data-parallel replicas, the members of
// a tensor-parallel group), and its collectives take what they take among all of the members.
//
// At analytical fidelity no device waits for another's interface, so what a device does follows
// from its program, from when its peers' messages leave and how far they come, and from when the
// last member of its groups comes to a collective and what that takes. Devices are alike if these
// are: the same program, peers that are alike and as far away, and groups whose collectives take as
// long and that hold the same kinds of devices. The coarsest such classes are found by refinement,
// as states of an automaton are separated (Moore); by induction over time all devices of a class
// enter and leave every node together, so a run with one of each is the whole run, to the
// picosecond.
//
// Nothing of this is assumed of the workload: replicas that a placement puts at other distances, or
// whose programs differ, are other classes, and are simulated.
//
// At message fidelity messages share interfaces, so where each one goes and comes from matters as
// well (fold_messages.h). There a stand-in carries out collectives message by message, each to the
// stand-in of its receiver, and the folded run is the whole run but for the order of messages that
// come in the same picosecond.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "model/device/program_table.h"
#include "model/job/job.h"
#include "model/network/message/network.h"

namespace exawarp::model {

// Thread safety: const methods from any thread.
class Fold {
 public:
  // The first device of a class, as an LP that stands for all; LPs are numbered in the order of
  // these devices.
  struct StandIn {
    core::DeviceId rank;      // that device's
    std::uint32_t program;    // of the job
    std::uint64_t count = 0;  // devices of the class
  };
  // Those of a communicator, ascending, and the place of one of them there.
  struct Group {
    std::vector<std::uint32_t> members;
    std::uint32_t position = 0;
  };

  // `tables` are those of `job`, at the fidelity.
  // Cost: O(devices x (communicators + peers)) for each round of refinement, a few of them; at
  // message fidelity also what CollectiveMessages says.
  enum class Fidelity : std::uint8_t { analytical, message };
  Fold(const PlacedJob& job, const std::vector<ProgramTable>& tables, const Network& network,
       Fidelity fidelity);

  // Why it is not exact: messages between stand-ins that could not be told apart. Empty where it
  // is, which all else requires.
  [[nodiscard]] const std::string& why_not() const { return why_not_; }
  [[nodiscard]] const std::vector<StandIn>& stand_ins() const { return stand_ins_; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(stand_ins_.size()); }
  // Of a channel of the stand-in's program. No members where it has none but itself.
  [[nodiscard]] const Group& group(std::uint32_t stand_in, std::uint32_t channel) const {
    return groups_[stand_in][channel];
  }
  // How far messages between devices of these classes go; Tier::node where they exchange none but
  // the notices of collectives, which take the same time everywhere.
  [[nodiscard]] Tier tier(std::uint32_t from, std::uint32_t to) const;
  // From a rank to its stand-in, in place of its device.
  [[nodiscard]] const RankMap& ranks() const { return ranks_; }
  // What stands in for a device. At message fidelity.
  [[nodiscard]] core::LpId at(core::DeviceId device) const { return {by_device_[device.value]}; }

 private:
  struct Way {
    std::uint32_t from, to;
    Tier tier;
    friend constexpr auto operator<=>(const Way&, const Way&) = default;
  };

  void set_ways(std::vector<Way> ways);

  std::string why_not_;
  std::vector<StandIn> stand_ins_;
  std::vector<std::vector<Group>> groups_;  // by stand-in and channel
  std::vector<Way> ways_;                   // ascending
  RankMap ranks_{std::vector<std::uint32_t>{}};
  std::vector<std::uint32_t> by_device_;  // four bytes a device, of all the job's, as ranks_ has
};

}  // namespace exawarp::model
