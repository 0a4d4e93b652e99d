// What several topologies share.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "core/time.h"
#include "model/topology/topology.h"

namespace exawarp::model {

// Latencies that are no link's.
struct NodeLatencies {
  core::Time forwarding;  // of each switch, or device that forwards, on the way
  core::Time endpoint;    // of both ends together
};

constexpr std::uint32_t ceil_div(std::uint32_t a, std::uint32_t b) { return (a + b - 1) / b; }

struct LinksPassed {
  const LinkKind& kind;
  std::uint32_t count;
};

// A path over these links, with a switch (or forwarding device) between each two of them.
Distance path_over(std::initializer_list<LinksPassed> links, const NodeLatencies& latencies);

// The least latency of two devices of different atoms whose ids differ by one of `strides`;
// Time::max(): there are none. Cost: O(devices * strides).
core::Time nearest_by_strides(const Topology& topology, std::uint32_t atom_shift,
                              std::span<const std::uint32_t> strides);

// Topology::least_latency() over the pairs of devices whose ids differ by one of `strides`. Exact
// where the nearest devices of any two atoms include such a pair.
core::Time least_latency_over(const Topology& topology, std::uint32_t atom_shift,
                              std::span<const std::uint32_t> strides);

// The index-th of the ids 0, 1, ... that are neither `a` nor `b`.
constexpr std::uint32_t skip_two(std::uint32_t index, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t low = a < b ? a : b, high = a < b ? b : a;
  if (index >= low) ++index;
  return low != high && index >= high ? index + 1 : index;
}

}  // namespace exawarp::model
