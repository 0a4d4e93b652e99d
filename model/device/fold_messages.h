// What folding (fold.h) has to know of collectives at message fidelity, where messages share
// interfaces: to whom each device's messages go and from whom others come, message by message.
//
// Devices are alike if what they send goes, in the same order and as far, to devices that are
// alike, and what they receive comes from such devices. Then a stand-in that sends each message to
// the stand-in of its receiver gets from the others what its own device gets. One thing is left
// open: which of two messages that come to a device in the same picosecond is first depends on
// devices' numbers, so that the devices of a class differ there, and the folded run may, too.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/ids.h"
#include "model/collective/collective.h"
#include "model/device/program_table.h"
#include "model/job/job.h"
#include "model/network/message/network.h"

namespace exawarp::model {

class CollectiveMessages {
 public:
  // Requires tables at message fidelity, and that all three outlive it.
  CollectiveMessages(const PlacedJob& job, const std::vector<ProgramTable>& tables,
                     const Network& network);

  // Why they say too little to fold devices by; empty: they say enough, which the others require.
  [[nodiscard]] std::string why_not() const;

  // What a device's messages say of it, as numbers: equal for two devices if theirs are, to and
  // from devices of the same classes. Different messages have the same number by chance, once in
  // 2^64 pairs for each of the two.
  struct Sides {
    std::uint64_t sent = 0, received = 0;
  };
  // By rank. Cost: O(messages of one collective of each kind), 50 ns each.
  [[nodiscard]] std::vector<Sides> sides(std::span<const std::uint32_t> class_of) const;

  // Whether each of `ranks`, one of each class by class, receives from the others as many messages
  // in each phase as it waits for.
  [[nodiscard]] bool are_complete(std::span<const std::uint32_t> class_of,
                                  std::span<const core::DeviceId> ranks) const;

 private:
  // A collective that devices of a program carry out in a channel, alike ones once. Plain rings
  // are alike whatever they carry.
  struct Kind {
    std::uint32_t channel;  // into ProgramTable::channels
    std::uint32_t number;   // among those of its channel
    Collective collective;
  };
  // A phase of a member, in a group of collective.members.
  struct At {
    const Channel& channel;
    std::uint32_t kind;  // its number
    const Collective& collective;
    std::uint32_t position, lane, phase;
  };
  struct Sent {
    core::DeviceId to;  // a rank
    std::uint32_t channel, kind, lane, phase;  // phase: the receiver's
    std::uint64_t label;                       // what is known of it at both ends
  };

  static std::vector<Kind> kinds_of(const ProgramTable& table);
  // Calls take(const At&) for each phase that `rank` goes through. Of collectives that go round,
  // the first phase stands for all.
  template <class Take>
  void for_each_phase(core::DeviceId rank, const Take& take) const;
  // Calls take(const Sent&) for each message that `rank` sends in them.
  template <class Take>
  void for_each_sent(core::DeviceId rank, const Take& take) const;
  [[nodiscard]] Tier tier(core::DeviceId a, core::DeviceId b) const {
    return network_.tier_between(job_.device_of(a), job_.device_of(b));
  }

  const PlacedJob& job_;
  const std::vector<ProgramTable>& tables_;
  const Network& network_;
  std::vector<std::vector<Kind>> kinds_;  // by program
};

}  // namespace exawarp::model
