// A study: one workload or several jobs on one system at chosen fidelities (configs/studies/).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/names.h"
#include "io/study/changes.h"
#include "io/study/jobs_config.h"
#include "io/study/keys.h"
#include "io/study/system_config.h"
#include "model/cluster.h"
#include "model/energy/power_trace.h"
#include "model/network/packet/port_counters.h"
#include "pdes/engine.h"

namespace exawarp::io {

enum class NetworkFidelity { analytical, message, flow, packet };

inline constexpr core::Named<NetworkFidelity> kNetworkFidelityNames[] = {
    {"analytical", NetworkFidelity::analytical}, {"message", NetworkFidelity::message},
    {"flow", NetworkFidelity::flow}, {"packet", NetworkFidelity::packet}};
constexpr std::span<const core::Named<NetworkFidelity>> names_of(NetworkFidelity) {
  return kNetworkFidelityNames;
}
static_assert(core::names_each(kNetworkFidelityNames));
enum class PlacementMethod { block, topology_aware, metis };

inline constexpr core::Named<PlacementMethod> kPlacementMethodNames[] = {
    {"block", PlacementMethod::block}, {"topology-aware", PlacementMethod::topology_aware},
    {"metis", PlacementMethod::metis}};
constexpr std::span<const core::Named<PlacementMethod>> names_of(PlacementMethod) {
  return kPlacementMethodNames;
}
static_assert(core::names_each(kPlacementMethodNames));

// Whether steps that do the same are simulated once (io/life/repetition.cc). `automatic`: where
// that is exact; `required`: or an error.
enum class Repeating { off, automatic, required };

inline constexpr core::Named<Repeating> kRepeatingNames[] = {{"none", Repeating::off},
                                                             {"auto", Repeating::automatic},
                                                             {"exact", Repeating::required}};
constexpr std::span<const core::Named<Repeating>> names_of(Repeating) { return kRepeatingNames; }
static_assert(core::names_each(kRepeatingNames));

struct Study {
  std::string file;
  std::string name;         // safe as the name of a directory
  std::string description;  // may be empty
  std::vector<JobConfig> jobs;  // at least one
  bool by_jobs = false;         // given as `jobs:`, not as one `workload:`
  std::uint32_t devices = 0;    // of the cluster; 0: as many as the jobs need
  std::vector<BackgroundConfig> backgrounds;
  SystemConfig system;
  bool ignore_memory = false;  // goes on where the workload does not fit the accelerator
  NetworkFidelity network_fidelity = NetworkFidelity::message;
  model::PacketOptions packets;      // at fidelity packet; the seed is the study's
  bool packets_inside_nodes = false;
  bool shares_interfaces = false;  // at analytical fidelity
  std::int64_t eager_max_bytes = std::numeric_limits<std::int64_t>::max();
  model::CollectiveRules collectives;  // empty: the defaults of model/collective/choice.h
  model::Folding folding = model::Folding::off;
  Repeating repeating = Repeating::off;
  model::ComputeChoice compute = {.fidelity = model::ComputeFidelity::table};
  bool launches_graphs = false;  // kernels, without the host between them
  bool finds_idle_share = false;  // the accelerator's, before the run (io/life/idle_share.h)
  model::VariationSpec compute_jitter;
  std::vector<model::Slowdown> slow_devices;
  std::vector<model::LinkFaultSpec> link_faults;
  model::LatencyJitterSpec latency_jitter;
  std::vector<StudyChange> changes;     // ascending
  model::PortCountersOptions counters;  // of --counters
  model::PowerTraceOptions power;       // of --power
  bool trace_power = false;             // by the command line
  bool trace_messages = false;          // the same
  // Of --timeline: devices, empty for the default; absent: no timeline.
  std::optional<std::vector<std::uint32_t>> timeline_devices = {};
  model::FasterBy faster = {};  // of the check of --critical-path
  bool traces_all = false;  // of --critical-path: each device, in place of those
  PlacementMethod placement = PlacementMethod::topology_aware;
  std::uint32_t partitions_per_rank = 0;   // 0: chosen by the number of workers
  std::optional<std::uint32_t> threads;    // none: every core the process may use
  pdes::EngineOptions engine;              // its `seed` is the study's; its `threads` is unset
  Settings settings;                       // all of it as written, to compare ranks by
  ResolvedYaml resolved;
};

// Reads, overrides (`path.to.key=value`) and checks a study. Throws core::InputError.
Study read_study(const std::string& path, const std::vector<std::string>& overrides);

const Keys<Study>& study_keys();

constexpr std::uint32_t kThreadsMax = 1'024;       // of a rank
constexpr std::uint32_t kPartitionsMax = 65'536;   // of a rank, and of all ranks together

}  // namespace exawarp::io
