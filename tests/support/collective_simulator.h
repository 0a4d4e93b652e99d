// Runs one collective by its description (model/collective/collective.h) on an alpha-beta network,
// with data: which member's contribution to which block is where. Independent of the devices that
// run the same descriptions, and of the closed forms.
#pragma once

#include <cstdint>
#include <string>

#include "core/time.h"
#include "model/collective/collective.h"
#include "model/collective/ring.h"

namespace exawarp::tests {

struct CollectiveRun {
  core::Time time;             // when the last member is done
  std::uint64_t messages = 0;  // between members
  std::string problem;         // empty: every member ended with exactly the right data
};

// Requires at most 128 members. All start at time 0.
CollectiveRun run_collective(const model::Collective& c, const model::StepCost& cost);

}  // namespace exawarp::tests
