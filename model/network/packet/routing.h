// What the routing policies of routing/ choose by: pure functions, called once a packet and hop.
// The topology says which ports are minimal (PortChoices); what varies (a flow's identity, a
// counter, queue depths) is the caller's. No state, no allocation.
#pragma once

#include <cstdint>

#include "core/check.h"
#include "core/random.h"
#include "model/topology/topology.h"

namespace exawarp::model {

// What ECMP hashes. A connection of several queue pairs gives each a label of its own.
struct Flow {
  core::DeviceId source, destination;
  std::uint32_t label = 0;
};

// A 64-bit hash of the flow; computed where a packet starts, then carried or computed again.
constexpr std::uint64_t flow_hash(std::uint64_t seed, const Flow& flow) {
  const std::uint64_t ends = std::uint64_t{flow.source.value} << 32 | flow.destination.value;
  return core::stream_of(seed, ends, flow.label);
}

// One of `size` things by 64 random bits. Bias below size / 2^32.
constexpr std::uint32_t pick(std::uint64_t bits, std::uint32_t size) {
  return static_cast<std::uint32_t>((bits >> 32) * size >> 32);
}

// Each requires !choices.empty().
inline std::uint32_t first_port(const PortChoices& choices) { return choices[0]; }

// `spread` is Topology::spread() of the place and the destination.
inline std::uint32_t destination_port(const PortChoices& choices, std::uint32_t spread) {
  return choices[spread % choices.size()];
}

// Each switch hashes with a seed of its own, so a flow's choices at different switches are
// independent.
inline std::uint32_t ecmp_port(const PortChoices& choices, std::uint64_t flow, VertexId at) {
  if (choices.size() == 1) return choices[0];
  return choices[pick(core::mix64(flow + (at.value + 1) * core::kGoldenGamma), choices.size())];
}

// `stream` and `draw` as of core::random_bits: say, of the switch, and how many it has drawn.
inline std::uint32_t sprayed_port(const PortChoices& choices, std::uint64_t stream,
                                  std::uint64_t draw) {
  if (choices.size() == 1) return choices[0];
  return choices[pick(core::random_bits(stream, draw), choices.size())];
}

// The port with the least depth(port), in any unit from 0 on; of equal ones the first behind a
// random place.
template <class Depth>
std::uint32_t adaptive_port(const PortChoices& choices, const Depth& depth, std::uint64_t random) {
  const std::uint32_t n = choices.size();
  std::uint32_t i = pick(random, n);
  std::uint32_t best = choices[i];
  auto least = depth(best);
  for (std::uint32_t tried = 1; tried < n && least > 0; ++tried) {
    i = i + 1 == n ? 0 : i + 1;
    const auto next = depth(choices[i]);
    if (next >= least) continue;
    least = next;
    best = choices[i];
  }
  return best;
}

// A waypoint between two different devices, or `to` where detours make no sense.
VertexId valiant_waypoint(const Topology& topology, core::DeviceId from, core::DeviceId to,
                          std::uint64_t random);

// Links of a minimal path, following first ports. A handful of virtual calls.
std::uint32_t links_between(const Topology& topology, VertexId from, VertexId to);

struct Candidate {
  std::uint64_t queue_bytes = 0;  // at the port it would take first
  std::uint32_t links = 0;
};
// UGAL-L: a packet takes the detour where that promises less waiting.
constexpr bool takes_detour(const Candidate& minimal, const Candidate& detour,
                            std::int64_t bias_bytes) {
  const auto cost = [](const Candidate& c) {
    return static_cast<std::int64_t>(c.queue_bytes) * c.links;
  };
  return cost(minimal) > cost(detour) + bias_bytes;
}

}  // namespace exawarp::model
