// What a run of synthetic traffic says: totals over ports and devices, and completion times.
//
//   FlowTimes flows(partitions);                      // the engine's sink
//   TrafficOutcome outcome(traffic);
//   engine.visit([&](LpId lp, const void* state) { outcome.add(lp, state); });
//   outcome.combine(transport);  flows.combine(transport);
#pragma once

#include <cstdint>
#include <vector>

#include "model/network/flow/flow_region.h"
#include "model/network/packet/packet_totals.h"
#include "model/network/packet/traffic.h"
#include "pdes/emission.h"

namespace exawarp::pdes {
class Transport;
}

namespace exawarp::model {

struct TrafficTotals : PacketTotals {
  std::uint64_t posted = 0, received = 0;  // messages
  core::Time last_received;
  FlowTotals flows;  // at flow fidelity
  SkipTotals skips;  // with packet.fast_forward
};

class TrafficOutcome {
 public:
  explicit TrafficOutcome(const TrafficModel& traffic) : traffic_(&traffic) {}
  void add(core::LpId lp, const void* state);
  // Over all ranks; collective.
  void combine(pdes::Transport& transport);
  [[nodiscard]] const TrafficTotals& totals() const { return totals_; }

 private:
  void add_of_flows(core::LpId lp, const void* state);

  const TrafficModel* traffic_;
  TrafficTotals totals_;
};

// Completion times: from the posting of a message to its last packet's arrival.
// Thread safety: as EmissionSink says.
class FlowTimes final : public pdes::EmissionSink {
 public:
  struct Flow {
    core::Time finished, took;
    std::uint32_t source, destination;
    std::int64_t bytes;
    friend constexpr auto operator<=>(const Flow&, const Flow&) = default;
  };
  explicit FlowTimes(std::uint32_t partitions) : by_partition_(partitions) {}
  void deliver(core::PartitionId partition, const pdes::Emission& emission) override;
  [[nodiscard]] std::vector<std::byte> saved() const override;
  void restore(std::span<const std::byte> saved) override;
  // Gathers the flows of all ranks on rank 0; collective. Call before flows().
  void combine(pdes::Transport& transport);
  [[nodiscard]] const std::vector<Flow>& flows() const { return flows_; }  // by time of finish
  // The least time that a share (0 to 1) of all flows took at most. Requires flows.
  [[nodiscard]] core::Time quantile(double share) const;

 private:
  std::vector<std::vector<Flow>> by_partition_;
  std::vector<Flow> flows_;
  std::vector<core::Time> took_;  // ascending
};

}  // namespace exawarp::model
