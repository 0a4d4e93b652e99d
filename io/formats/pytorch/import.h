// PyTorch execution traces, with or without Kineto profiles, as a workload graph.
#pragma once

#include <string>

#include "io/formats/chakra/import.h"
#include "io/formats/pytorch/join_profile.h"

namespace exawarp::io {

// `pattern` and `kineto` (empty: none) name files as RankFiles (source.h) does. Throws
// core::InputError. The graph is not validated.
[[nodiscard]] model::WorkloadGraph import_pytorch(const std::string& pattern,
                                                  const std::string& kineto,
                                                  const ChakraImportOptions& options,
                                                  ChakraImportReport& report,
                                                  pytorch::JoinReport& links);

}  // namespace exawarp::io
