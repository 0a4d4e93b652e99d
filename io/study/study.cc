// Section by section from the file to one structure: name, jobs, system, fidelities, faults,
// placement and engine. What depends on two sections is checked at the end.
#include "io/study/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/error.h"
#include "io/study/collectives_config.h"
#include "io/study/counters_config.h"
#include "io/study/power_config.h"
#include "io/study/faults_config.h"
#include "io/study/file_kinds.h"
#include "io/study/folder_name.h"
#include "io/study/packet_config.h"
#include "io/study/schema_sections.h"
#include "io/study/suggest.h"
#include "model/compute/jitter.h"
#include "model/workload/validate.h"

namespace exawarp::io {
namespace {

using core::Dimension;
using model::ComputeFidelity;
using pdes::Sync;

constexpr core::Named<bool> kInsideNodes[] = {{"message", false}, {"packet", true}};

constexpr const char* kNoPaths =
    "needs messages that take paths; expected network.fidelity: message or packet";

constexpr const char* kNotOfFlows =
    "is not simulated at network.fidelity flow; expected network.fidelity: message or packet";

void read_name(const YamlSection& root, Study& out, const KeySchema& key) {
  out.name = read_folder_name(root, key.name);
}

// Of sections whose keys go to the study itself.
Study& whole_study(Study& study) { return study; }

void read_packets(const YamlSection& network, Study& out, const KeySchema& key) {
  out.packets.routing.policy = kUsualRouting;
  if (const auto packet = network.optional_section(key.name)) {
    out.packets = read_packet_options(*packet);
  }
}

void read_network_jitter(const YamlSection& network, Study& out, const KeySchema& key) {
  const auto jitter = network.optional_section(key.name);
  if (!jitter) return;
  if (out.network_fidelity == NetworkFidelity::analytical) network.fail(key.name, kNoPaths);
  if (out.network_fidelity == NetworkFidelity::flow) network.fail(key.name, kNotOfFlows);
  out.latency_jitter = latency_jitter_keys().read(*jitter);
}

// Packets are described whatever the fidelity, so that one study serves all of them.
const Keys<Study>& network_keys() {
  using K = Keys<Study>;
  static const K keys(
      "network", "How closely the network is simulated.",
      {K::choice("fidelity", &Study::network_fidelity,
                 "`analytical`: closed forms, no contention; `message`: each message of an "
                 "algorithm; `flow`: each message across nodes at its fair share of the links of "
                 "its way; `packet`: each packet at each hop"),
       K::flag("share_interfaces", &Study::shares_interfaces,
               "at fidelity `analytical`: what a device sends at one time shares its interfaces, "
               "as it does at the others"),
       K::choice("inside_nodes", &Study::packets_inside_nodes,
                 std::span<const core::Named<bool>>(kInsideNodes),
                 "at fidelity `packet`: between devices of a node"),
       K::custom("packet", {ValueShape::mapping(packet_schema())},
                 "at fidelity `packet`, and of it the routing at `flow`; read, and not used, at "
                 "the others", read_packets),
       K::custom("latency_jitter", {ValueShape::mapping(latency_jitter_keys().schema())},
                 "added to each message's latency", read_network_jitter)
           .otherwise("none")});
  return keys;
}

model::ComputeFidelity& compute_fidelity(Study& study) { return study.compute.fidelity; }

const Keys<Study>& by_operation_keys() {
  using K = Keys<Study>;
  static const K keys("compute.by_operation", "Of kinds of operation that differ.", [] {
    std::vector<K::Key> all;
    for (const auto& [name, operation] : names_of(model::schema::Operation{})) {
      all.push_back(K::custom(
                        std::string(name),
                        {ValueShape::choice(core::names_in(names_of(ComputeFidelity{})))},
                        "of such operations",
                        [index = static_cast<std::size_t>(operation)](
                            const YamlSection& section, Study& out, const KeySchema& key) {
                          if (!section.has(key.name)) return;
                          out.compute.by_operation[index] =
                              section.choice(key.name, names_of(ComputeFidelity{}));
                        })
                        .otherwise("`fidelity`"));
    }
    return all;
  }());
  return keys;
}

Study& same_study(Study& study) { return study; }

constexpr const char* kSimulated = "simulated";

void read_idle_share(const YamlSection& section, Study& out, const KeySchema& key) {
  if (!section.has(key.name)) return;
  const std::string word = section.has_text(key.name) ? section.text(key.name) : "";
  if (word != kSimulated) {
    if (!word.empty() && std::isalpha(static_cast<unsigned char>(word.front())) != 0) {
      section.fail(key.name, fmt::format("\"{}\" is no number; expected one in [0, 1], or {}",
                                         printable(word), kSimulated));
    }
    out.system.accelerator.idle_share = section.real(key.name, {.min = 0, .max = 1});
    out.system.accelerator.idle_share_known = true;
    return;
  }
  out.finds_idle_share = true;
  for (const JobConfig& job : out.jobs) {
    if (job.serving == nullptr) continue;
    section.fail(key.name, fmt::format("is {}, and job \"{}\" serves requests; expected a number",
                                       kSimulated, job.name));
  }
}

const Keys<Study>& compute_keys() {
  using K = Keys<Study>;
  static const K keys(
      "compute", "How long operations take.",
      {K::choice("fidelity", compute_fidelity,
                 "`table`: measured kernels where the accelerator has them; `recorded`: durations "
                 "in the workload where it has them; `systolic`: cycles of the accelerator's "
                 "systolic arrays, for products; else `roofline`"),
       K::section("by_operation", same_study, by_operation_keys(),
                  "kinds of operation that differ")
           .otherwise("none"),
       K::flag("graphs", &Study::launches_graphs,
               "kernels are launched as graphs (CUDA's, say): `graph_launch_latency`"),
       K::custom("idle_share",
                 {ValueShape::real({.min = 0, .max = 1}), ValueShape::choice({kSimulated})},
                 "share of the time in which devices compute nothing, as is assumed for the "
                 "accelerator's `sustained_slowdown`; `simulated`: found by simulating the study "
                 "at fidelity `analytical` first",
                 read_idle_share)
           .otherwise("0.15"),
       K::custom("jitter",
                 {ValueShape::real(kJitterRange), ValueShape::mapping(jitter_schema())},
                 "relative deviation of compute times, drawn from the seed",
                 [](const YamlSection& section, Study& out, const KeySchema&) {
                   out.compute_jitter = read_jitter(section);
                 })
           .otherwise("0")});
  return keys;
}

const Keys<Study>& memory_keys() {
  using K = Keys<Study>;
  static const K keys("memory", "",
                      {K::flag("ignore", &Study::ignore_memory,
                               "runs although the workload needs more than the accelerator has")});
  return keys;
}

const Keys<Study>& point_to_point_keys() {
  using K = Keys<Study>;
  static const K keys("point_to_point", "Messages that are no collective's.",
                      {K::quantity("eager_max", &Study::eager_max_bytes, {Dimension::size, 0},
                                   "longer ones ask their receiver first (rendezvous)")
                           .otherwise("any length")});
  return keys;
}

const Keys<Study>& placement_keys() {
  using K = Keys<Study>;
  static const K keys(
      "placement", "Which rank and partition simulates what: docs/reference/partitioning.md.",
      {K::choice("method", &Study::placement, "of cutting the cluster into partitions"),
       K::integer("partitions_per_rank", &Study::partitions_per_rank, {1, kPartitionsMax},
                  "of each rank")
           .otherwise("by the workers")});
  return keys;
}

void read_threads(const YamlSection& engine, Study& out, const KeySchema& key) {
  if (!engine.has(key.name)) return;
  out.threads = static_cast<std::uint32_t>(engine.integer(key.name, {1, kThreadsMax}));
}

const Keys<Study>& engine_keys() {
  using K = Keys<Study>;
  static const K keys(
      "engine", "How the study is run; nothing here changes its results.",
      {K::choice("sync", [](Study& s) -> Sync& { return s.engine.sync; }, "of the partitions"),
       K::quantity("window", [](Study& s) -> core::Time& { return s.engine.window; },
                   {Dimension::time, 0}, "optimistic window")
           .otherwise("adapts"),
       K::quantity("memory",
                   [](Study& s) -> std::uint64_t& { return s.engine.memory_budget_bytes; },
                   {Dimension::size, 0}, "of a rank, for events and history")
           .otherwise("half of what is allowed"),
       K::real("audit", [](Study& s) -> double& { return s.engine.audit_probability; },
               {.min = 0, .max = 1}, "share of events undone, compared and run again"),
       K::real("time_limit_s", [](Study& s) -> double& { return s.engine.time_limit_s; },
               {.min = 0}, "host seconds; 0: none"),
       K::custom("threads", {ValueShape::integer({1, kThreadsMax})}, "workers of a rank",
                 read_threads)
           .otherwise("every core it may use")});
  return keys;
}

void read_all_jobs(const YamlSection& root, Study& out, const KeySchema& key) {
  out.jobs = read_jobs(root, out.name);
  out.by_jobs = root.has(key.name);
}

// Links that are slow or down mean nothing where messages take no path.
void read_faults(const YamlSection& root, Study& out, const KeySchema& key) {
  const auto faults = root.optional_section(key.name);
  if (!faults) return;
  out.slow_devices = read_slow_devices(*faults);
  out.link_faults = read_link_faults(*faults);
  const bool by_flows = out.network_fidelity == NetworkFidelity::flow;
  if (out.network_fidelity != NetworkFidelity::analytical && !by_flows) return;
  for (const char* links : {"slow_links", "slow_switches", "failed_links", "failed_switches"}) {
    if (faults->has(links)) faults->fail(links, by_flows ? kNotOfFlows : kNoPaths);
  }
}

using StudyKeys = Keys<Study>;

// In the order in which they are read: some depend on those before.
std::vector<StudyKeys::Key> what_is_simulated() {
  using K = StudyKeys;
  return {
      K::custom("study", {ValueShape::text()},
                "name, also of the results' folder: letters, digits, `_`, `-`, `.`", read_name)
          .required(),
      K::text("description", &Study::description, "one line").otherwise("none"),
      K::note("source"),
      K::custom("workload", {ValueShape::mapping(workload_keys().schema())},
                "what the devices do: a specification, or a `.xwg` file"),
      K::custom("job_placement", placement_shapes(), "which devices run the workload's ranks")
          .otherwise("`linear`"),
      K::custom("jobs", {ValueShape::list_of(ValueShape::mapping(job_schema()))},
                "several workloads side by side: docs/guide/jobs.md", read_all_jobs),
      K::integer("devices", &Study::devices, {1, model::kDevicesMax},
                 "of the cluster; those without a job are idle")
          .otherwise("as the jobs need"),
      K::custom("background", {ValueShape::list_of(ValueShape::mapping(background_schema()))},
                "traffic beside the jobs: docs/guide/jobs.md",
                [](const YamlSection& root, Study& out, const KeySchema&) {
                  out.backgrounds = read_backgrounds(root);
                })
          .otherwise("none"),
      K::custom("system", {ValueShape::mapping(system_schema())},
                "accelerators and the network between them",
                [](const YamlSection& root, Study& out, const KeySchema& key) {
                  out.system = read_system(root.section(key.name));
                })
          .required()};
}

std::vector<StudyKeys::Key> how_it_is_simulated() {
  using K = StudyKeys;
  return {
      K::section("memory", whole_study, memory_keys(), "whether it has to suffice"),
      K::section("network", whole_study, network_keys(), "how closely the network is simulated"),
      K::section("compute", whole_study, compute_keys(), "how long operations take"),
      K::choice("fold", &Study::folding,
                "devices that do the same are simulated once. `auto`: where that is exact, at "
                "fidelity `analytical`; `replicas`: at `message`, too, or the study is refused"),
      K::choice("repetition", &Study::repeating,
                "steps that do the same are simulated once: docs/guide/repetition.md. `auto`: "
                "where that is exact; `exact`: or the study is refused"),
      K::custom("faults", {ValueShape::mapping(faults_schema())},
                "what is slow or down: docs/guide/faults.md", read_faults)
          .otherwise("none"),
      K::custom("changes", {ValueShape::list_of(ValueShape::mapping(change_keys().schema()))},
                "what changes while it is simulated",
                [](const YamlSection& root, Study& out, const KeySchema& key) {
                  out.changes = read_changes(root, key);
                })
          .otherwise("none"),
      K::section("counters", &Study::counters, counters_keys(),
                 "of `run --counters`, at fidelity `packet`"),
      K::section("power", &Study::power, power_trace_keys(), "of `run --power`"),
      K::section("point_to_point", whole_study, point_to_point_keys(),
                 "messages that are no collective's"),
      K::section("collectives", &Study::collectives, collectives_keys(),
                 "which algorithm runs which collective")
          .otherwise("rings"),
      K::section("placement", whole_study, placement_keys(), "of the simulation on its processes"),
      K::section("engine", whole_study, engine_keys(), "of the simulator"),
      K::integer("seed", [](Study& s) -> std::uint64_t& { return s.engine.seed; }, {},
                 "of every random number")};
}

// What the accelerator's calibration adds to each step of a training that is generated here.
void add_calibrated_steps(Study& study) {
  for (JobConfig& job : study.jobs) {
    auto* const spec = std::get_if<WorkloadSpec>(&job.workload);
    auto* const training = spec == nullptr ? nullptr : std::get_if<model::TransformerSpec>(spec);
    if (training != nullptr) training->host_time += study.system.accelerator.calibration.step;
  }
}

}  // namespace

const Keys<Study>& study_keys() {
  static const StudyKeys keys = [] {
    std::vector<StudyKeys::Key> all = what_is_simulated();
    for (StudyKeys::Key& key : how_it_is_simulated()) all.push_back(std::move(key));
    return StudyKeys("study", "What `exawarp run` simulates.", std::move(all),
                     {{.keys = {"workload", "jobs"}}});
  }();
  return keys;
}

namespace {

// By name: a run that quietly took the roofline would look like one of cycles.
void check_systolic(const YamlSection& root, const Study& study) {
  if (study.system.accelerator.systolic) return;
  const auto refuse = [&](const std::string& key) {
    root.fail(key, fmt::format("is systolic, and accelerator \"{}\" has no `systolic`; expected "
                               "another fidelity, or its arrays there",
                               study.system.accelerator.name));
  };
  if (study.compute.fidelity == ComputeFidelity::systolic) refuse("compute.fidelity");
  for (const auto& [name, operation] : names_of(model::schema::Operation{})) {
    if (study.compute.by_operation[static_cast<std::size_t>(operation)] ==
        ComputeFidelity::systolic) {
      refuse("compute.by_operation." + std::string(name));
    }
  }
}

Study read_unchanged(const std::string& path, const std::vector<std::string>& overrides) {
  YamlDocument document(path, overrides);
  const YamlSection root = document.root();
  expect_kind(FileKind::study, root, path);
  Study out;
  out.file = path;
  out = study_keys().read(root, std::move(out));
  check_systolic(root, out);
  document.finish();
  add_calibrated_steps(out);
  if (out.system.accelerator.tables == nullptr &&
      out.compute.fidelity == ComputeFidelity::table) {
    out.compute.fidelity = ComputeFidelity::roofline;  // what every operation falls back to
  }
  out.settings = document.settings();
  out.resolved = document.resolved();
  // Machines may differ in threads, as with --threads.
  std::erase_if(out.settings, [](const Setting& s) { return s.key == "engine.threads"; });
  return out;
}

// What the study is once a change has come. `overrides`: all so far.
std::shared_ptr<const Study> changed(const Study& first,
                                     const std::vector<std::string>& overrides) {
  auto out = std::make_shared<Study>(read_unchanged(first.file, overrides));
  if (const auto key = first_difference(first.settings, out->settings, may_change)) {
    throw core::InputError(fmt::format("{}: cannot change; expected a key of {}", *key,
                                       kWhatMayChange));
  }
  out->changes.clear();
  return out;
}

}  // namespace

Study read_study(const std::string& path, const std::vector<std::string>& overrides) {
  Study out = read_unchanged(path, overrides);
  std::vector<std::string> all = overrides;
  for (StudyChange& change : out.changes) {
    all.insert(all.end(), change.set.begin(), change.set.end());
    try {
      change.study = changed(out, all);
    } catch (const core::InputError& error) {
      throw core::InputError(fmt::format("{}: key \"changes\": from {} on: {}", path,
                                         core::format_time(change.at), error.what()));
    }
  }
  return out;
}

}  // namespace exawarp::io
