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

constexpr std::uint32_t next_in_ring(std::uint32_t position, std::uint32_t members) {
  return position + 1 == members ? 0 : position + 1;
}

}  // namespace exawarp::model
