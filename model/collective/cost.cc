#include "model/collective/cost.h"

#include <algorithm>

#include "core/check.h"
#include "model/collective/algorithm.h"

namespace exawarp::model {

core::Time wire_time(std::int64_t bytes, const StepCost& cost) {
  return std::max(core::Time{1}, core::transfer_time(bytes, cost.bandwidth_bytes_per_s));
}

core::Time collective_time(const Collective& c, const StepCost& cost) {
  EXAWARP_CHECK(c.members >= 1 && c.lanes >= 1, c.members, c.lanes);
  if (c.members == 1) return {};
  return description_of(c.algorithm).time(c, cost);
}

std::uint64_t collective_messages(const Collective& c) {
  EXAWARP_CHECK(c.members >= 1 && c.lanes >= 1, c.members, c.lanes);
  return c.members == 1 ? 0 : description_of(c.algorithm).messages(c);
}

}  // namespace exawarp::model
