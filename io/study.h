// A study: one workload on one system at chosen fidelities (configs/studies/*.yaml).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "io/system_config.h"
#include "io/workload_spec.h"
#include "model/cluster.h"
#include "pdes/engine.h"

namespace exawarp::io {

enum class NetworkFidelity { analytical, message };
enum class PlacementMethod { block, topology_aware, metis };

struct Study {
  std::string file;
  std::string name;         // safe as the name of a directory
  std::string description;  // may be empty
  // A checked specification, or the path of a .xwg file.
  std::variant<WorkloadSpec, std::string> workload;
  SystemConfig system;
  bool ignore_memory = false;  // goes on where the workload does not fit the accelerator
  NetworkFidelity network_fidelity = NetworkFidelity::message;
  std::int64_t eager_max_bytes = std::numeric_limits<std::int64_t>::max();
  model::CollectiveRules collectives;  // empty: the defaults of model/collective/choice.h
  model::ComputeFidelity compute_fidelity = model::ComputeFidelity::roofline;
  double compute_jitter = 0;
  std::vector<model::Slowdown> slow_devices;
  PlacementMethod placement = PlacementMethod::topology_aware;
  std::uint32_t partitions_per_rank = 0;   // 0: chosen by the number of workers
  std::optional<std::uint32_t> threads;    // none: every core the process may use
  pdes::EngineOptions engine;              // its `seed` is the study's; its `threads` is unset
};

// Reads, overrides (`path.to.key=value`) and checks a study. Throws core::InputError.
Study read_study(const std::string& path, const std::vector<std::string>& overrides);

// The study's workload, generated or mapped. Throws core::InputError.
model::WorkloadGraph graph_of(const Study& study);

// By name and in words: what --sync, --placement and the YAML keys accept.
std::span<const Choice<pdes::Sync>> sync_choices();
std::span<const Choice<PlacementMethod>> placement_choices();
// "optimistic", "topology-aware", "message", "roofline".
std::string to_name(pdes::Sync sync);
std::string to_name(PlacementMethod method);
std::string to_name(NetworkFidelity fidelity);
std::string to_name(model::ComputeFidelity fidelity);

constexpr std::uint32_t kThreadsMax = 1'024;       // of a rank
constexpr std::uint32_t kPartitionsMax = 65'536;   // of a rank, and of all ranks together

}  // namespace exawarp::io
