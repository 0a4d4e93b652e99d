// A text workload of ASTRA-sim 1.0 as a workload graph (docs/guide/chakra.md says what runs when).
#pragma once

#include <cstdint>
#include <string>

#include "model/workload/graph.h"

namespace exawarp::io {

struct TextImportOptions {
  std::uint32_t ranks = 1;
  std::uint32_t model_parallel = 0;  // ranks of a model-parallel group; 0: as the file says
  std::uint32_t passes = 1;
  std::int64_t cycle_ps = 1'000;  // what times count
};

// Throws core::InputError. The graph is not validated.
[[nodiscard]] model::WorkloadGraph import_text_workload(const std::string& path,
                                                        const TextImportOptions& options);

}  // namespace exawarp::io
