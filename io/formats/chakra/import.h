// Chakra execution traces as a workload graph (docs/guide/chakra.md).
//
// Ranks are read one after the other, each with one open file. A rank's trace is reduced to what
// does not depend on the rank (peers become offsets, communicators the order of their first use,
// tags their order among those of a pair of ranks) and hashed; ranks that then agree share one
// program, and only the first of them is kept.
#pragma once

#include <cstdint>
#include <string>

#include "model/workload/graph.h"

namespace exawarp::io {

struct TraceSource;

// How a trace counts what it counts; the defaults are ASTRA-sim's.
struct ChakraImportOptions {
  enum class CommSize { input, output };
  enum class ControlDependencies { automatic, use, ignore };
  std::string comm_groups = {};     // a file; empty: none
  CommSize comm_size = CommSize::input;
  std::uint64_t element_bytes = 1;  // above 1: comm_size and tensor_size count elements
  bool macs = false;                // num_ops of matrix products (op_type "M") counts them
  ControlDependencies control = ControlDependencies::automatic;
  bool drop_dangling = false;       // data dependencies on nodes that are not there
  bool recorded_collectives = false;  // collectives take the durations that were recorded
};

struct ChakraImportReport {
  std::uint32_t ranks = 0, programs = 0;
  std::uint64_t nodes = 0;         // of all ranks
  std::uint64_t program_nodes = 0; // of all programs
  std::uint32_t communicators = 0, group_families = 0;
  std::uint64_t bytes = 0;         // of all traces
  bool control_given = false;               // some node has control dependencies
  std::uint32_t ranks_without_control = 0;  // whose control dependencies are not used
  std::uint64_t dangling = 0;               // dropped
};

// The graph of `source`, called `name`. Throws core::InputError. The graph is not validated.
[[nodiscard]] model::WorkloadGraph import_traces(const TraceSource& source,
                                                 const std::string& name,
                                                 const ChakraImportOptions& options,
                                                 ChakraImportReport& report);
// The same of the files of trace_files(prefix).
[[nodiscard]] model::WorkloadGraph import_chakra(const std::string& prefix,
                                                 const ChakraImportOptions& options,
                                                 ChakraImportReport& report);

}  // namespace exawarp::io
