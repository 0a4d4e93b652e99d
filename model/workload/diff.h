// Where two workload graphs differ in what they make devices do.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/workload/graph.h"

namespace exawarp::model {

// One line a difference, the first `lines_max` of them; empty where the graphs mean the same.
//
// Devices are compared one by one: streams by index, their nodes by position, and of a node its
// fields, name, dependencies, peer (as a device) and communicator (as a list of devices). How
// programs are shared, how axes and groups are laid out, and where nodes come from do not count.
// Requires validate() of both. Cost: O(nodes) for each pair of programs, and the messages and
// collectives of every device.
[[nodiscard]] std::vector<std::string> differences(const WorkloadGraph& a, const WorkloadGraph& b,
                                                   std::size_t lines_max = 20);

}  // namespace exawarp::model
