#include "model/topology/support.h"

#include <algorithm>

namespace exawarp::model {

Distance path_over(std::initializer_list<LinksPassed> links, const NodeLatencies& latencies) {
  Distance out{.endpoint = latencies.endpoint,
               .bandwidth_bytes_per_s = std::numeric_limits<std::int64_t>::max()};
  for (const LinksPassed& passed : links) {
    if (passed.count == 0) continue;
    out.links += passed.count;
    out.latency += passed.count * passed.kind.latency;
    out.bandwidth_bytes_per_s =
        std::min(out.bandwidth_bytes_per_s, passed.kind.bandwidth_bytes_per_s);
  }
  EXAWARP_CHECK(out.links >= 1);
  out.switches = out.links - 1;
  out.latency += out.switches * latencies.forwarding;
  return out;
}

core::Time nearest_by_strides(const Topology& topology, std::uint32_t atom_shift,
                              std::span<const std::uint32_t> strides) {
  core::Time least = core::Time::max();
  for (const std::uint32_t stride : strides) {
    if (stride == 0) continue;
    for (std::uint32_t a = 0; a + stride < topology.devices(); ++a) {
      if ((a >> atom_shift) == ((a + stride) >> atom_shift)) continue;
      if (topology.minimal({a}, {a + stride}).empty()) continue;
      const MessageRoute route = topology.message_route({a}, {a + stride});
      least = std::min(least, topology.distances()[route.distance].latency);
    }
  }
  return least;
}

core::Time least_latency_over(const Topology& topology, std::uint32_t atom_shift,
                              std::span<const std::uint32_t> strides) {
  core::Time least = nearest_by_strides(topology, atom_shift, strides);
  if (least == core::Time::max()) least = nearest_by_strides(topology, 0, strides);
  return least == core::Time::max() ? core::Time{1} : std::max(least, core::Time{1});
}

}  // namespace exawarp::model
