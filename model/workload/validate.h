// Makes any workload file safe to run, hostile ones included.
//
// validate() checks everything that an accessor of graph.h or the device model takes for granted:
// bounds, cycles, enumerators, groups, peers, sizes. It says nothing about whether the workload can
// finish: find_unmatched() does, because a workload that cannot is still safe to run (it ends as a
// deadlock of the simulated system, which names the waiting devices).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/workload/graph.h"

namespace exawarp::model {

// Limits that keep every sum in range and every table small. In docs/reference/model.md.
constexpr std::uint32_t kStreamsMax = 32;             // a program
constexpr std::uint32_t kAxesMax = 16;                // a workload
constexpr std::uint32_t kDevicesMax = 1u << 24;       // a workload
constexpr std::uint64_t kSizeMax = 1ull << 62;        // bytes, flops: exclusive
constexpr std::uint64_t kCommBytesMax = 1ull << 40;   // one message or collective: exclusive
constexpr std::uint64_t kDurationMaxPs = 1ull << 62;  // summed over a program: exclusive

// Throws core::InputError "PLACE: programs[3] "stage 3" nodes[17]: what is wrong: value; expected
// ..." at the first thing that makes `graph` unsafe; otherwise indexes it (graph.index()).
// Cost: O(nodes + dependencies + listed devices), about 10 ns a node.
void validate(WorkloadGraph& graph);

// Sends that no receive takes and receives that no send feeds, by (sending program, receiving
// program, tag), one line each, at most `findings_max` and then a count. Requires validate().
std::vector<std::string> find_unmatched(const WorkloadGraph& graph, std::size_t findings_max = 20);

}  // namespace exawarp::model
