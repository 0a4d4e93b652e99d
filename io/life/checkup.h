// What facts about a machine mean for a run, and what to do: `exawarp doctor`.
#pragma once

#include <vector>

#include "io/life/host_facts.h"
#include "io/report/checkup_report.h"

namespace exawarp::io {

// One of each subject at least, in an order of their own; where something is wrong in several ways,
// the worst.
std::vector<Finding> check_up(const HostFacts& facts);

}  // namespace exawarp::io
