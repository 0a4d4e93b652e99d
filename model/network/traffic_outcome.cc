#include "model/network/traffic_outcome.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "core/check.h"
#include "model/switch/packet_switch.h"
#include "pdes/transport.h"

namespace exawarp::model {

void TrafficOutcome::add(core::LpId lp, const void* state) {
  TrafficTotals& t = totals_;
  if (traffic_->packet_network().is_device(lp)) {
    const auto& device = *static_cast<const TrafficDevice*>(state);
    const EndpointState& endpoint = device.endpoint();
    t.posted += device.posted;
    t.received += device.received;
    t.repeated += endpoint.repeated;
    t.unfinished += endpoint.sending.size() + endpoint.receiving.size();
    t.last_received = std::max(t.last_received, device.last_received);
    const EndpointParts<const EndpointState> parts(endpoint);
    for (std::uint32_t p = 0; p < endpoint.ports; ++p) {
      add_port(parts.ports[p]);
      t.packets_sent += parts.ports[p].packets;
    }
    return;
  }
  const auto& node = *static_cast<const PacketSwitchState*>(state);
  t.lost += node.lost;
  for (std::uint32_t p = 0; p < node.ports; ++p) {
    add_port(node.port_states()[p]);
    t.packet_hops += node.port_states()[p].packets;
  }
}

void TrafficOutcome::add_port(const PortState& port) {
  totals_.drops += port.drops;
  totals_.marks += port.marks;
  totals_.pauses += port.pauses;
  totals_.deepest_queue = std::max(totals_.deepest_queue, port.peak);
  totals_.busiest_bytes = std::max(totals_.busiest_bytes, port.bytes);
}

void TrafficOutcome::combine(pdes::Transport& transport) {
  TrafficTotals& t = totals_;
  const std::array<std::uint64_t*, 10> sums{&t.posted,       &t.received, &t.unfinished,
                                            &t.packet_hops,  &t.packets_sent, &t.drops,
                                            &t.lost,         &t.marks,    &t.pauses,
                                            &t.repeated};
  std::array<std::uint64_t, sums.size()> words{};
  for (std::size_t i = 0; i < sums.size(); ++i) words[i] = *sums[i];
  transport.all_reduce_sum(words);
  for (std::size_t i = 0; i < sums.size(); ++i) *sums[i] = words[i];
  std::array<std::uint64_t, 3> most{static_cast<std::uint64_t>(t.last_received.ps),
                                    static_cast<std::uint64_t>(t.deepest_queue.ps),
                                    t.busiest_bytes};
  transport.all_reduce_max(most);
  t.last_received = core::Time{static_cast<std::int64_t>(most[0])};
  t.deepest_queue = core::Time{static_cast<std::int64_t>(most[1])};
  t.busiest_bytes = most[2];
}

void FlowTimes::deliver(core::PartitionId partition, const pdes::Emission& emission) {
  if (emission.channel != kTrafficChannel) return;
  const FlowRecord r = FlowRecord::of(emission);
  const core::Time now = emission.key.time;
  by_partition_[partition.value].push_back({now, now - r.posted, r.source, r.destination});
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
