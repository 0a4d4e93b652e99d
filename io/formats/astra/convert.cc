// What of ASTRA-sim has a counterpart here, and which:
//   Ring, FullyConnected, Switch   ring, fully_connected, single_switch; several dimensions:
//   product bandwidth b                    b * 2^30 B/s latency of a hop               of a link;
//   switches and devices on the way add nothing endpoint-delay                 endpoint_latency:
//   once a message peak-perf, local-mem-bw        an accelerator that reaches both ring, direct,
//   halvingDoubling, doubleBinaryTree, and the one-variants
//                                  ring, direct, halving, double_tree over a whole group
#include "io/formats/astra/convert.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>

#include "core/error.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

using model::astra::Algorithm;
using model::astra::Dimension;
using model::astra::Job;
using model::astra::Simulated;

constexpr double kGibi = 1'073'741'824;
constexpr std::array<const char*, model::astra::kSimulatedCount> kFamilies{
    "all-reduce", "all-gather", "reduce-scatter", "all-to-all"};
constexpr std::array<const char*, model::astra::kSimulatedCount> kTypes{
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all"};

[[noreturn]] void refuse(const std::string& place, const std::string& key,
                         const std::string& what) {
  throw core::InputError(place, fmt::format("key \"{}\": {}", key, what));
}

std::string time_text(double ns) { return fmt::format("\"{} ps\"", std::llround(ns * 1'000)); }

// Of one dimension, as keys of `topology` or of an entry of its `dimensions`.
std::string keys_of(const Dimension& d, double endpoint_delay_ns, const std::string& indent) {
  // A ring of two has one link, which is what fully connected says.
  const bool mesh = d.topology == model::astra::Topology::fully_connected ||
                    (d.topology == model::astra::Topology::ring && d.npus == 2);
  const bool switched = d.topology == model::astra::Topology::switched;
  std::string out =
      fmt::format("{0}kind: {1}\n{0}link: {{bandwidth: \"{2} B/s\", latency: {3}}}\n", indent,
                  switched ? "single_switch"
                  : mesh   ? "fully_connected"
                           : "ring",
                  std::llround(d.bandwidth * kGibi), time_text(d.latency_ns));
  if (switched) out += indent + "switch_latency: \"0 s\"\n";
  return out + fmt::format("{}endpoint_latency: {}\n", indent, time_text(endpoint_delay_ns));
}

std::string fabric_of(const AstraSetUp& set_up, const Job& job) {
  const auto& dimensions = job.network.dimensions;
  const auto delay = static_cast<double>(job.system.endpoint_delay_ns);
  std::string out = fmt::format("# Made by exawarp astra convert from {} and {}.\n",
                                one_line(set_up.network), one_line(set_up.system));
  out += "name: astra\ntopology:\n";
  if (dimensions.size() == 1) return out + keys_of(dimensions[0], delay, "  ");
  out += "  kind: product\n  forwarding_latency: \"0 s\"\n  dimensions:\n";
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    out += fmt::format("    d{}:\n      devices: {}\n", d, dimensions[d].npus);
    out += keys_of(dimensions[d], delay, "      ");
  }
  return out;
}

std::string accelerator_of(const Job& job) {
  // Neither counts where operations have durations.
  const double tflops = job.system.peak_tflops > 0 ? job.system.peak_tflops : 1'000;
  const double memory =
      job.system.local_memory_gb_per_s > 0 ? job.system.local_memory_gb_per_s : 1'000;
  const std::string rate = fmt::format("\"{} TFLOP/s\"", tflops);
  return fmt::format(
      "# peak-perf and local-mem-bw of the system configuration; it reaches both.\n"
      "name: astra\n"
      "matrix_rate: {{bf16: {0}, fp16: {0}, fp32: {0}, fp64: {0}}}\n"
      "vector_rate: {0}\n"
      "memory_bandwidth: \"{1} GB/s\"\n"
      "memory_capacity: \"1 TB\"     # not given: enough\n"
      "host_bandwidth: \"1 GB/s\"    # not given: not used\n"
      "launch_latency: \"0 s\"\n"
      "efficiency: {{other: {{compute: 1.0, memory: 1.0}}}}\n",
      rate, memory);
}

// Which of the four collectives the traces have.
std::array<bool, model::astra::kSimulatedCount> used(const Job& job) {
  std::array<bool, model::astra::kSimulatedCount> out{};
  for (const auto& trace : job.traces) {
    for (const model::astra::TraceNode& node : trace->nodes) {
      if (node.kind != model::astra::NodeKind::collective) continue;
      const std::optional<Simulated> family = model::astra::simulated(node.collective);
      if (family) out[static_cast<std::size_t>(*family)] = true;
    }
  }
  return out;
}

std::string algorithm_of(const AstraSetUp& s, const Job& job, std::size_t family) {
  const std::string key = fmt::format("{}-implementation", kFamilies[family]);
  if (job.system.custom[family] != nullptr) {
    refuse(s.system, key + "-custom", "a study has no collectives that are given as graphs");
  }
  const auto& list = job.system.implementations[family];
  if (list.empty()) refuse(s.system, key, "is absent; expected one, as the traces have some");
  const model::astra::Implementation& one = list.front();
  if (job.network.dimensions.size() > 1 && !one.over_all_ranks) {
    refuse(s.system, key,
           fmt::format("runs through {} dimensions, one after another, and a group of a trace has "
                       "one here; expected a network of one dimension, or oneRing, oneDirect or "
                       "oneHalvingDoubling",
                       job.network.dimensions.size()));
  }
  if (one.window != 0) {
    refuse(s.system, key, "a direct exchange has no window here; expected direct");
  }
  const bool exchange = static_cast<Simulated>(family) == Simulated::all_to_all;
  const auto only = [&](bool possible, const char* name) -> std::string {
    if (!possible) refuse(s.system, key, fmt::format("no {} by {} here", kFamilies[family], name));
    return name;
  };
  switch (one.algorithm) {
    case Algorithm::ring:
      return only(!exchange, "ring");
    case Algorithm::direct:
      return "direct";
    case Algorithm::halving_doubling:
      return only(!exchange, "halving");
    case Algorithm::double_binary_tree:
      return only(static_cast<Simulated>(family) == Simulated::all_reduce, "double_tree");
    case Algorithm::custom:
      break;
  }
  refuse(s.system, key, "is not known here");
}

void refuse_what_has_no_counterpart(const AstraSetUp& s, const Job& job) {
  if (job.memory.kind != model::astra::MemoryKind::none) {
    refuse(s.memory, "memory-type", "a study has no remote memory; expected NO_MEMORY_EXPANSION");
  }
  if (job.system.shared_bus) refuse(s.system, "model-shared-bus", "a study has no memory bus");
  if (job.system.replay_only) {
    refuse(s.system, "replay-only", "is set; expected collectives that are simulated");
  }
  if (!job.system.custom_of_node.empty()) {
    refuse(s.system, "per-node-custom-implementation",
           "a study has no collectives that are given as graphs");
  }
  if (s.rendezvous) throw core::InputError("--rendezvous-protocol", "has no counterpart");
  if (s.queues_per_dimension > 1) {
    throw core::InputError("--num-queues-per-dim", "has no counterpart; expected 1");
  }
}

// At message fidelity all ports of a device have one speed.
bool has_one_speed(const Job& job) {
  for (const Dimension& d : job.network.dimensions) {
    if (d.bandwidth != job.network.dimensions[0].bandwidth) return false;
  }
  return true;
}

std::string study_of(const AstraSetUp& s, const Job& job) {
  std::string out = fmt::format(
      "study: astra\n"
      "workload: workload.xwg\n"
      "system: system.yaml\n"
      "network: {{fidelity: {}}}\n"
      "compute: {{fidelity: {}}}\n",
      has_one_speed(job) ? "message" : "packet", job.system.roofline ? "roofline" : "recorded");
  std::string rules;
  const auto families = used(job);
  for (std::size_t family = 0; family < families.size(); ++family) {
    if (!families[family]) continue;
    const std::string algorithm = algorithm_of(s, job, family);
    rules += fmt::format("    - {{type: {}, algorithm: {}{}}}\n", kTypes[family], algorithm,
                         algorithm == "ring" ? ", channels: 1" : "");
  }
  if (!rules.empty()) out += "collectives:\n  rules:\n" + rules;
  return out;
}

}  // namespace

AstraConversion convert_astra(const AstraSetUp& set_up, const Job& job) {
  refuse_what_has_no_counterpart(set_up, job);
  AstraConversion out;
  out.files = {{"fabric.yaml", fabric_of(set_up, job)},
               {"accelerator.yaml", accelerator_of(job)},
               {"system.yaml", "name: astra\naccelerator: accelerator.yaml\nfabric: fabric.yaml\n"},
               {"study.yaml", study_of(set_up, job)}};
  if (job.system.splits > 1) {
    out.notes.push_back(
        fmt::format("{}: preferred-dataset-splits {}: here a collective is carried "
                    "out whole",
                    one_line(set_up.system), job.system.splits));
  }
  if (!has_one_speed(job)) {
    out.notes.push_back(
        fmt::format("{}: bandwidths differ by dimension, which packet fidelity "
                    "alone has",
                    one_line(set_up.network)));
  }
  return out;
}

}  // namespace exawarp::io
