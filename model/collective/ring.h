// Ring collectives as descriptions of steps, independent of the network below.
//
// The members of a group form a ring by position. In each step every member sends one chunk to its
// successor; step k leaves when step k-1 has arrived; the collective is over when the last step has
// arrived (and the member's own last chunk has left). With n members (Patarasuk, Yuan: "Bandwidth
// optimal all-reduce algorithms for clusters of workstations", JPDC 2009):
//
//   all-reduce       2(n-1) steps of ceil(buffer / n)
//   reduce-scatter     n-1  steps of ceil(input / n)
//   all-gather         n-1  steps of the member's own shard (its input)
//   barrier          2(n-1) steps of 0 bytes
//
// Alone on its links such a collective takes steps * (chunk / bandwidth + latency) exactly.
#pragma once

#include <cstdint>
#include <span>

#include "core/time.h"
#include "model/workload/workload.capnp.h"

namespace exawarp::model {

struct RingPlan {
  std::uint32_t steps = 0;  // 0: nothing to do (a group of one)
  std::int64_t chunk_bytes = 0;
};

// Whether ring_plan() knows `type`. Others are refused before time zero.
bool ring_supports(schema::CollectiveType type);

// `bytes`: as Program::node's commBytes. Requires ring_supports(type), members >= 1.
RingPlan ring_plan(schema::CollectiveType type, std::int64_t bytes, std::uint32_t members);

// What a step costs, for choosing between algorithms.
struct StepCost {
  core::Time latency;
  std::int64_t bandwidth_bytes_per_s = 1;
};

// Whether a collective over a mesh with `sizes` members along its axes runs axis by axis, each time
// as a ring of that axis with the whole buffer, instead of as one ring of all. Both give an
// all-reduce or a barrier the same result; the first takes sum of 2(n_a - 1) steps of B / n_a, the
// second 2(product - 1) steps of B / product. The lesser estimate wins: for the gradient norm of
// 32,768 devices, 554 steps instead of 65,534. Never for other types.
bool axis_by_axis(schema::CollectiveType type, std::int64_t bytes,
                  std::span<const std::uint32_t> sizes, const StepCost& cost);

constexpr std::uint32_t next_in_ring(std::uint32_t position, std::uint32_t members) {
  return position + 1 == members ? 0 : position + 1;
}

}  // namespace exawarp::model
