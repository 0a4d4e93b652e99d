// Device memory that a workload's programs need: as text, and against an accelerator.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "io/study/study_cluster.h"
#include "model/compute/accelerator.h"
#include "model/generate/transformer_spec.h"
#include "model/workload/graph.h"
#include "model/workload/inspect.h"

namespace exawarp::io {

// A table with a line for each program; empty where no program says what it needs.
std::string memory_text(const model::WorkloadFacts& facts);
// "Memory      45.2 GB at most, by stage 0: ..." and an end of line; or empty.
std::string memory_line(const model::WorkloadGraph& graph);

// The same of a run, beside what `accelerator` has; whether it fits.
std::string memory_summary(const model::WorkloadGraph& graph,
                           const model::Accelerator& accelerator);
// {"capacity_bytes", "fits", "programs": [...]}: of each job's programs that say what they need.
// The capacity is 0 where the accelerator does not say.
nlohmann::ordered_json memory_json(const Study& study, const LoadedJobs& loaded);

// What the text of every error of check_memory() has, and no other.
inline constexpr const char* kLacksMemory = " of memory a device: ";

// Throws core::InputError at `place` where a program needs more than `accelerator` has; one without
// memory_capacity has any.
void check_memory(const model::WorkloadGraph& graph, const model::Accelerator& accelerator,
                  const std::string& place);
// The same of a workload that is still to be generated, which takes far longer. Requires a checked
// specification.
void check_memory(const model::TransformerSpec& spec, const model::Accelerator& accelerator,
                  const std::string& place);

}  // namespace exawarp::io
