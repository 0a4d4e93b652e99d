// When every node would run if the network took no time: the critical path of a workload, and what
// a device's timeline looks like before any network is chosen.
//
// Streams run in order, a node starts when its dependencies are done, a receive when its message
// was sent, a collective when the last of its members has come to it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/workload/graph.h"

namespace exawarp::model {

// How long a node takes, in whatever unit the caller counts. Asked once for each node of each
// program that is no message, collective or marker; those take none.
using NodeCost = std::function<std::uint64_t(const Program& program, std::uint32_t node)>;

struct NodeTimes {
  std::uint64_t start = 0, end = 0;
};

struct PathStep {
  std::uint32_t device = 0;  // one of those alike
  std::uint32_t node = 0;    // of its program
  NodeTimes times;
};

struct IdealSchedule {
  bool finishes = true;  // false: nodes wait for each other, or for what is never sent
  std::string waiting;   // then: for what, in a line
  std::uint64_t length = 0;
  std::vector<PathStep> path;  // from the first node to the last; each starts when one before ends
  // Devices that behave alike share their times.
  std::vector<std::uint32_t> class_of;        // by device
  std::vector<std::vector<NodeTimes>> times;  // by class, by node
};

constexpr std::uint64_t kScheduleNodesMax = 1u << 23;         // of all classes
constexpr std::uint64_t kLengthMax = std::uint64_t{1} << 62;  // start, end and length stop there

// Requires validate(). nullopt where more than kScheduleNodesMax nodes differ.
// Cost: O(devices * partners * rounds of refinement + nodes of all classes).
std::optional<IdealSchedule> ideal_schedule(const WorkloadGraph& graph, const NodeCost& cost);

}  // namespace exawarp::model
