// Section by section from the file to one structure: name, jobs, system, fidelities, faults,
// placement and engine. What depends on two sections is checked at the end.
#include "io/study/study.h"

#include <algorithm>

#include "core/error.h"
#include "io/study/collectives_config.h"
#include "io/study/counters_config.h"
#include "io/study/faults_config.h"
#include "io/study/file_kinds.h"
#include "io/study/packet_config.h"
#include "model/compute/jitter.h"
#include "model/workload/validate.h"

namespace exawarp::io {
namespace {

using core::Dimension;
using model::ComputeFidelity;
using pdes::Sync;

const std::vector<Choice<Sync>> kSync{{"sequential", Sync::sequential},
                                      {"conservative", Sync::conservative},
                                      {"optimistic", Sync::optimistic}};
const std::vector<Choice<PlacementMethod>> kPlacement{
    {"block", PlacementMethod::block},
    {"topology-aware", PlacementMethod::topology_aware},
    {"metis", PlacementMethod::metis}};
const std::vector<Choice<NetworkFidelity>> kNetwork{{"analytical", NetworkFidelity::analytical},
                                                    {"message", NetworkFidelity::message},
                                                    {"packet", NetworkFidelity::packet}};
const std::vector<Choice<bool>> kInsideNodes{{"message", false}, {"packet", true}};
const std::vector<Choice<ComputeFidelity>> kCompute{{"roofline", ComputeFidelity::roofline},
                                                    {"recorded", ComputeFidelity::recorded}};

constexpr std::size_t kNameMax = 100;
constexpr const char* kNoPaths =
    "needs messages that take paths; expected network.fidelity: message or packet";

template <class E>
std::string name_of(const std::vector<Choice<E>>& choices, E value) {
  const auto at = std::ranges::find(choices, value, &Choice<E>::value);
  return at == choices.end() ? "unknown" : at->name;
}

// The name becomes that of a directory of results.
std::string read_name(const YamlSection& root) {
  const std::string name = root.text("study");
  const bool plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '-' || c == '.';
  });
  if (!plain || name.front() == '.' || name.size() > kNameMax) {
    root.fail("study", "is no name; expected letters, digits, \"_\", \"-\" and \".\", at most 100");
  }
  return name;
}

// Packets are described whatever the fidelity, so that one study serves all of them.
void read_network(const YamlSection& section, Study& out) {
  out.network_fidelity =
      section.choice<NetworkFidelity>("fidelity", kNetwork, NetworkFidelity::message);
  out.packets_inside_nodes = section.choice<bool>("inside_nodes", kInsideNodes, false);
  out.packets.routing.policy = model::RoutingPolicy::ecmp;
  if (const auto packet = section.optional_section("packet")) {
    out.packets = read_packet_options(*packet);
  }
  if (const auto jitter = section.optional_section("latency_jitter")) {
    if (out.network_fidelity == NetworkFidelity::analytical) {
      section.fail("latency_jitter", kNoPaths);
    }
    out.latency_jitter = read_latency_jitter(*jitter);
  }
}

void read_fidelities(const YamlSection& root, Study& out) {
  if (const auto network = root.optional_section("network")) read_network(*network, out);
  if (const auto compute = root.optional_section("compute")) {
    out.compute_fidelity =
        compute->choice<ComputeFidelity>("fidelity", kCompute, ComputeFidelity::roofline);
    out.compute_jitter = read_jitter(*compute);
  }
}

// Links that are slow or down mean nothing where messages take no path.
void read_faults(const YamlSection& root, Study& out) {
  const auto faults = root.optional_section("faults");
  if (!faults) return;
  out.slow_devices = read_slow_devices(*faults);
  out.link_faults = read_link_faults(*faults);
  if (out.network_fidelity != NetworkFidelity::analytical) return;
  for (const char* key : {"slow_links", "slow_switches", "failed_links", "failed_switches"}) {
    if (faults->has(key)) faults->fail(key, kNoPaths);
  }
}

void read_placement(const YamlSection& root, Study& out) {
  const auto placement = root.optional_section("placement");
  if (!placement) return;
  out.placement =
      placement->choice<PlacementMethod>("method", kPlacement, PlacementMethod::topology_aware);
  out.partitions_per_rank = static_cast<std::uint32_t>(
      placement->integer("partitions_per_rank", {1, kPartitionsMax}, 0));
}

void read_engine(const YamlSection& root, Study& out) {
  const auto engine = root.optional_section("engine");
  if (!engine) return;
  out.engine.sync = engine->choice<Sync>("sync", kSync, Sync::optimistic);
  out.engine.window = core::Time{engine->quantity("window", Dimension::time, 0, 0)};
  out.engine.memory_budget_bytes =
      static_cast<std::uint64_t>(engine->quantity("memory", Dimension::size, 0, 0));
  out.engine.audit_probability = engine->real("audit", {.min = 0, .max = 1}, 0.0);
  out.engine.time_limit_s = engine->real("time_limit_s", {.min = 0}, 0.0);
  if (engine->has("threads")) {
    out.threads = static_cast<std::uint32_t>(engine->integer("threads", {1, kThreadsMax}));
  }
}

}  // namespace

std::span<const Choice<Sync>> sync_choices() { return kSync; }
std::span<const Choice<PlacementMethod>> placement_choices() { return kPlacement; }
std::string to_name(Sync sync) { return name_of(kSync, sync); }
std::string to_name(PlacementMethod method) { return name_of(kPlacement, method); }
std::string to_name(NetworkFidelity fidelity) { return name_of(kNetwork, fidelity); }
std::string to_name(ComputeFidelity fidelity) { return name_of(kCompute, fidelity); }

Study read_study(const std::string& path, const std::vector<std::string>& overrides) {
  YamlDocument document(path, overrides);
  const YamlSection root = document.root();
  expect_kind(FileKind::study, root, path);
  Study out;
  out.file = path;
  out.name = read_name(root);
  out.description = root.text("description", "");
  root.skip("source");
  out.jobs = read_jobs(root, out.name);
  out.by_jobs = root.has("jobs");
  out.devices =
      static_cast<std::uint32_t>(root.integer("devices", {1, model::kDevicesMax}, 0));
  out.backgrounds = read_backgrounds(root);
  out.system = read_system(root.section("system"));
  if (const auto memory = root.optional_section("memory")) {
    out.ignore_memory = memory->flag("ignore", false);
  }
  read_fidelities(root, out);
  read_faults(root, out);
  if (const auto counters = root.optional_section("counters")) {
    out.counters = read_port_counters(*counters);
  }
  if (const auto messages = root.optional_section("point_to_point")) {
    out.eager_max_bytes =
        messages->quantity("eager_max", Dimension::size, 0, out.eager_max_bytes);
  }
  if (const auto collectives = root.optional_section("collectives")) {
    out.collectives = read_collectives(*collectives);
  }
  read_placement(root, out);
  read_engine(root, out);
  out.engine.seed = static_cast<std::uint64_t>(root.integer("seed", {}, 1));
  document.finish();
  out.settings = document.settings();
  // Machines may differ in threads, as with --threads.
  std::erase_if(out.settings, [](const Setting& s) { return s.key == "engine.threads"; });
  return out;
}

}  // namespace exawarp::io
