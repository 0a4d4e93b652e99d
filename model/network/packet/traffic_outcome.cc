#include "model/network/packet/traffic_outcome.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "core/bytes.h"
#include "core/check.h"
#include "pdes/transport.h"

namespace exawarp::model {

void TrafficOutcome::add(core::LpId lp, const void* state) {
  TrafficTotals& t = totals_;
  if (traffic_->has_flows()) return add_of_flows(lp, state);
  if (traffic_->packet_network().is_watch(lp)) {
    t.skips = static_cast<const SteadyWatchState*>(state)->totals;
    return;
  }
  if (!traffic_->packet_network().is_device(lp)) {
    return t.PacketTotals::add(*static_cast<const PacketSwitchState*>(state));
  }
  const auto& device = *static_cast<const TrafficDevice*>(state);
  t.posted += device.posted;
  t.received += device.received;
  t.last_received = std::max(t.last_received, device.last_received);
  t.PacketTotals::add(device.endpoint());
}

void TrafficOutcome::add_of_flows(core::LpId lp, const void* state) {
  TrafficTotals& t = totals_;
  if (lp == traffic_->flow_network().region()) {
    t.flows = static_cast<const FlowRegionState*>(state)->totals;
    t.unfinished += t.flows.started - t.flows.ended;
    return;
  }
  const auto& device = *static_cast<const TrafficDevice*>(state);
  t.posted += device.posted;
  t.received += device.received;
  t.last_received = std::max(t.last_received, device.last_received);
}

void TrafficOutcome::combine(pdes::Transport& transport) {
  TrafficTotals& t = totals_;
  t.PacketTotals::combine(transport);
  std::array<std::uint64_t, 2> sums{t.posted, t.received};
  transport.all_reduce_sum(sums);
  t.posted = sums[0];
  t.received = sums[1];
  t.flows.combine(transport);
  t.skips.combine(transport);
  std::array<std::uint64_t, 1> most{static_cast<std::uint64_t>(t.last_received.ps)};
  transport.all_reduce_max(most);
  t.last_received = core::Time{static_cast<std::int64_t>(most[0])};
}

void FlowTimes::deliver(core::PartitionId partition, const pdes::Emission& emission) {
  if (emission.channel != kTrafficChannel) return;
  const FlowRecord r = FlowRecord::of(emission);
  const core::Time now = emission.key.time;
  by_partition_[partition.value].push_back({now, now - r.posted, r.source, r.destination, r.bytes});
}

std::vector<std::byte> FlowTimes::saved() const {
  std::vector<std::byte> bytes;
  for (const std::vector<Flow>& flows : by_partition_)
    for (const Flow& flow : flows) core::append_bytes(bytes, flow);
  return bytes;
}

void FlowTimes::restore(std::span<const std::byte> saved) {
  core::ByteReader reader(saved);
  while (!reader.is_at_end()) by_partition_.front().push_back(reader.next<Flow>());
}

void FlowTimes::combine(pdes::Transport& transport) {
  std::vector<Flow> mine;
  for (std::vector<Flow>& flows : by_partition_) {
    mine.insert(mine.end(), flows.begin(), flows.end());
    flows.clear();
  }
  const std::vector<std::byte> all = transport.gather(std::as_bytes(std::span(mine)));
  EXAWARP_CHECK(all.size() % sizeof(Flow) == 0, all.size());
  flows_.resize(all.size() / sizeof(Flow));
  if (!all.empty()) std::memcpy(flows_.data(), all.data(), all.size());
  std::sort(flows_.begin(), flows_.end());
  took_.clear();
  for (const Flow& flow : flows_) took_.push_back(flow.took);
  std::sort(took_.begin(), took_.end());
}

core::Time FlowTimes::quantile(double share) const {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(took_.size())));
  return took_[std::clamp<std::size_t>(rank, 1, took_.size()) - 1];
}

}  // namespace exawarp::model
