// Workloads as studies name them: a specification in YAML, which is generated, or a .xwg file.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "io/study/keys.h"
#include "io/study/yaml.h"
#include "model/generate/dlrm.h"
#include "model/generate/inference.h"
#include "model/generate/resnet.h"
#include "model/generate/spec.h"
#include "model/generate/transformer_spec.h"
#include "model/workload/graph.h"

namespace exawarp::io {

using WorkloadSpec = std::variant<model::TransformerSpec, model::MicrobenchmarkSpec,
                                  model::DlrmSpec, model::ResnetSpec, model::InferenceSpec>;

const Keys<NoSpec>& workload_keys();

// Reads `transformer:`, `dlrm:`, `resnet:`, `inference:` or `microbenchmark:` of `section` and
// checks it as the generator would. Throws core::InputError naming file, line and key.
WorkloadSpec read_workload_spec(const YamlSection& section);

constexpr std::uint64_t kGeneratedBytesMax = std::uint64_t{1} << 30;  // unless --max-size says more

// Generates the workload, validated and indexed. Requires a checked specification. Throws
// core::InputError at `place` where its file would have more than `bytes_max` bytes, of which it
// takes about twice as much memory.
model::WorkloadGraph generate(const WorkloadSpec& spec, const std::string& place = "workload",
                              std::uint64_t bytes_max = kGeneratedBytesMax);

// Maps and validates a .xwg file. Throws core::InputError.
model::WorkloadGraph open_workload(const std::string& path);

}  // namespace exawarp::io
