#include "model/network/packet/packet_totals.h"

#include <algorithm>
#include <array>

#include "pdes/transport.h"

namespace exawarp::model {

void PacketTotals::add(const EndpointState& endpoint) {
  repeated += endpoint.repeated;
  unfinished += endpoint.sending.size() + endpoint.receiving.size();
  const EndpointParts<const EndpointState> parts(endpoint);
  for (std::uint32_t p = 0; p < endpoint.ports; ++p) {
    add(parts.ports[p]);
    packets_sent += parts.ports[p].packets;
  }
}

void PacketTotals::add(const PacketSwitchState& state) {
  lost += state.lost;
  const PortParts<const PacketSwitchState> parts(state);
  for (std::uint32_t p = 0; p < state.ports; ++p) {
    add(parts.ports[p]);
    packet_hops += parts.ports[p].packets;
  }
}

void PacketTotals::add(const PortState& port) {
  drops += port.drops;
  marks += port.marks;
  pauses += port.pauses;
  deepest_queue = std::max(deepest_queue, port.peak);
  busiest_bytes = std::max(busiest_bytes, port.bytes);
}

void PacketTotals::combine(pdes::Transport& transport) {
  const std::array<std::uint64_t*, 8> sums{&unfinished, &packet_hops, &packets_sent, &drops,
                                           &lost,       &marks,       &pauses,       &repeated};
  std::array<std::uint64_t, sums.size()> words{};
  for (std::size_t i = 0; i < sums.size(); ++i) words[i] = *sums[i];
  transport.all_reduce_sum(words);
  for (std::size_t i = 0; i < sums.size(); ++i) *sums[i] = words[i];
  std::array<std::uint64_t, 2> most{static_cast<std::uint64_t>(deepest_queue.ps), busiest_bytes};
  transport.all_reduce_max(most);
  deepest_queue = core::Time{static_cast<std::int64_t>(most[0])};
  busiest_bytes = most[1];
}

}  // namespace exawarp::model
