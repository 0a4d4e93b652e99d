// Whether a part of the messages that a watch knows has settled, and how long a stretch it allows:
// the rules of steady_watch.h. Looks, and changes nothing.
#pragma once

#include <cstdint>

#include "core/time.h"
#include "model/network/packet/steady/steady_watch.h"

namespace exawarp::model {

// What `packets` take at the rate of so many over `run`.
core::WidePs time_of(core::WidePs packets, core::Time run, std::uint32_t run_packets);
// How many leave in `time`, to the nearest; in parts of a packet, `unit` to one.
std::int64_t packets_in(core::Time time, core::Time run, std::uint32_t run_packets,
                        std::int64_t unit = 1);

// The parts that a watch knows, during one event.
class SteadyParts {
 public:
  // A stretch where messages queue is of so many runs at most.
  static constexpr std::int64_t kStretchPerRun = 32;

  SteadyParts(const SteadyNetwork& network, const SteadyWatchState& state, core::Time now)
      : network_(network),
        packets_(network.packets),
        flows_(network.flows),
        shift_(network.flows.hop_shift()),
        s_(state),
        now_(now) {}

  [[nodiscard]] FlowLists lists() const { return s_.on_links.lists(shift_); }
  template <class Each>
  void each_link(std::uint32_t flow, Each&& each) const {
    for (const FlowHop& hop : lists().hops_of(flow)) {
      if (hop.link == kNoLink) break;
      each(hop.link);
    }
  }
  // When a message last came to one of its lines, or left one.
  [[nodiscard]] core::Time changed_of(std::uint32_t flow) const;
  // As far as it can be told from the message alone: it has left evenly for long enough since.
  [[nodiscard]] bool has_settled(std::uint32_t flow) const {
    return has_settled_since(s_.flows[flow], changed_of(flow));
  }
  // Whether a line of a part that has settled is asked for all that it carries, to within the error
  // asked for.
  [[nodiscard]] bool is_full(std::uint32_t link) const;

  struct Verdict {
    core::Time stretch{};                // that may be skipped; 0: none, or none that pays
    bool even = false;                   // nothing queues
    std::uint32_t unsettled = kNoFlow;   // a message for which the part has to wait
  };
  // Of the part that `flow` is of, whose flows are then those of flows().shares().
  [[nodiscard]] Verdict judge(std::uint32_t flow) const;

 private:
  [[nodiscard]] bool has_settled_since(const WatchedFlow& flow, core::Time changed) const;
  [[nodiscard]] core::WidePs rate_of(const WatchedFlow& flow) const;
  [[nodiscard]] bool lines_suffice(bool of_senders_only) const;
  [[nodiscard]] core::WidePs stretch_by_drift(const WatchedFlow& flow) const;
  [[nodiscard]] bool has_swung(const WatchedFlow& flow, core::Time changed) const;
  [[nodiscard]] std::int64_t left_of(const WatchedFlow& flow) const;
  [[nodiscard]] std::int64_t round_of(std::uint32_t flow) const;
  [[nodiscard]] bool is_worth(core::Time stretch) const;

  const SteadyNetwork& network_;
  const PacketNetwork& packets_;
  const FlowNetwork& flows_;
  std::uint32_t shift_;
  const SteadyWatchState& s_;
  core::Time now_;
};

}  // namespace exawarp::model
