// The longest chain of a workload's nodes, timed without a network.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/compute/accelerator.h"
#include "model/workload/ideal_schedule.h"

namespace exawarp::io {

// A workload's ideal schedule (model/workload/ideal_schedule.h), and what it counts.
struct TimedWorkload {
  enum class Unit {
    roofline_ps,  // on an accelerator
    recorded_ps,  // durations that the workload has
    flops,        // where it has none
  };
  Unit unit = Unit::flops;
  std::optional<model::IdealSchedule> schedule;  // absent: too many nodes differ
};

// Throws core::InputError where `accelerator` (may be null) cannot run a node.
[[nodiscard]] TimedWorkload timed(const model::WorkloadGraph& graph,
                                  const model::Accelerator* accelerator);

// Lines for people; a JSON object.
[[nodiscard]] std::string critical_path_text(const model::WorkloadGraph& graph,
                                             const TimedWorkload& workload);
[[nodiscard]] std::string critical_path_json(const model::WorkloadGraph& graph,
                                             const TimedWorkload& workload);

// "1.2 ms", "3 GFLOP": `value` in `unit`.
[[nodiscard]] std::string amount_of(std::uint64_t value, TimedWorkload::Unit unit);
// A node's name, or what it is where it has none.
[[nodiscard]] std::string name_of_work(const model::WorkloadGraph& graph,
                                       const model::schema::Node::Reader& node);

}  // namespace exawarp::io
