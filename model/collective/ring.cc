#include "model/collective/ring.h"

#include "core/check.h"

namespace exawarp::model {

bool ring_supports(schema::CollectiveType type) {
  switch (type) {
    case schema::CollectiveType::ALL_REDUCE:
    case schema::CollectiveType::REDUCE_SCATTER:
    case schema::CollectiveType::ALL_GATHER:
    case schema::CollectiveType::BARRIER: return true;
    default: return false;
  }
}

RingPlan ring_plan(schema::CollectiveType type, std::int64_t bytes, std::uint32_t members) {
  EXAWARP_CHECK(members >= 1 && bytes >= 0, members, bytes);
  const std::uint32_t around = members - 1;
  const std::int64_t share = (bytes + members - 1) / members;
  switch (type) {
    case schema::CollectiveType::ALL_REDUCE: return {2 * around, share};
    case schema::CollectiveType::REDUCE_SCATTER: return {around, share};
    case schema::CollectiveType::ALL_GATHER: return {around, bytes};
    case schema::CollectiveType::BARRIER: return {2 * around, 0};
    default: EXAWARP_CHECK(ring_supports(type)); return {};
  }
}

bool axis_by_axis(schema::CollectiveType type, std::int64_t bytes,
                  std::span<const std::uint32_t> sizes, const StepCost& cost) {
  if (type != schema::CollectiveType::ALL_REDUCE && type != schema::CollectiveType::BARRIER) {
    return false;
  }
  const auto estimate = [&](std::uint32_t members) {
    const RingPlan plan = ring_plan(type, bytes, members);
    const core::Time wire = core::transfer_time(plan.chunk_bytes, cost.bandwidth_bytes_per_s);
    return core::product_to_end(plan.steps, core::sum_to_end(cost.latency, wire));
  };
  core::Time apart;
  std::uint32_t members = 1, axes = 0;
  for (const std::uint32_t size : sizes) {
    members *= size;
    axes += size > 1 ? 1 : 0;
    apart = core::sum_to_end(apart, estimate(size));
  }
  return axes > 1 && apart < estimate(members);
}

}  // namespace exawarp::model
