// One function a parser: it reads the bytes, and uses what it read as the program would. An
// InputError is a right answer; anything else that is thrown is not.
#include "tests/fuzz/targets.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>

#include "core/check.h"
#include "core/error.h"
#include "core/units.h"
#include "io/cli/command_line.h"
#include "io/formats/astra/config.h"
#include "io/formats/astra/traces.h"
#include "io/formats/chakra/export.h"
#include "io/formats/chakra/import.h"
#include "io/formats/chakra/json_trace.h"
#include "io/formats/goal/import.h"
#include "io/formats/goal/text_reader.h"
#include "io/formats/flows/flow_list.h"
#include "io/formats/requests/request_trace.h"
#include "io/formats/kernels/import.h"
#include "io/formats/kernels/scale_sim.h"
#include "io/formats/kernels/vidur_profile.h"
#include "io/formats/pytorch/import.h"
#include "io/formats/single_gpu/trace.h"
#include "io/formats/stablehlo/import.h"
#include "io/formats/text_workload/import.h"
#include "io/report/topology_facts.h"
#include "io/study/expression.h"
#include "io/study/study_cluster.h"
#include "io/study/suggest.h"
#include "io/study/traffic_study.h"
#include "model/compute/kernel_table.h"
#include "model/extrapolate/layouts.h"
#include "model/guests/goal/host.h"
#include "model/guests/triosim/rules.h"
#include "model/network/packet/traffic.h"
#include "model/network/packet/traffic_outcome.h"
#include "model/outcome.h"
#include "model/workload/diff.h"
#include "model/workload/validate.h"
#include "pdes/transport.h"
#include "tests/fuzz/read_workload.h"
#include "tests/fuzz/seeds.h"
#include "tests/fuzz/spoil_workload.h"
#include "tests/fuzz/use_workload.h"

namespace exawarp::fuzz {
namespace {

constexpr std::size_t kErrorBytesMax = 8'000;  // paths may be long, and a line may name two
constexpr std::uint64_t kEventsMax = 3'000;    // of a simulation: a millisecond or so
constexpr double kSecondsMax = 0.1;            // of one whose events are not known beforehand

// The texts between separators; at least one.
std::vector<std::string> split(std::string_view bytes) {
  std::vector<std::string> parts(1);
  for (const char c : bytes) {
    if (c == kSeparator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// A file of this process, removed at its end.
class InputFile {
 public:
  explicit InputFile(const std::string& name)
      : path_((std::filesystem::temp_directory_path() /
               ("exawarp_fuzz_" + std::to_string(getpid()) + "_" + name))
                  .string()) {}
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  const std::string& holding(std::string_view bytes) const {
    std::ofstream out(path_, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path_;
  }
  // Holds the first of the texts in `bytes`; the others replace keys in it, as `--set` does.
  struct Overridden {
    std::string path;
    std::vector<std::string> overrides;
  };
  [[nodiscard]] Overridden with_overrides(std::string_view bytes) const {
    std::vector<std::string> parts = split(bytes);
    const std::string first = std::move(parts.front());
    parts.erase(parts.begin());
    return {holding(first), std::move(parts)};
  }

 private:
  std::string path_;
};

template <class Work>
bool accepts(const Work& work) {
  try {
    work();
    return true;
  } catch (const core::InputError& error) {
    const std::string line = io::one_line(error.what());  // as run_main prints it
    EXAWARP_CHECK(!line.empty() && line.size() <= kErrorBytesMax, line.size(), line);
    EXAWARP_CHECK(line.find('\n') == std::string::npos, line);
    return false;
  }
}

// Runs the model in one partition, at most `seconds_max` long (0: no limit), and where it came to
// its end, `visit(engine, transport)`.
pdes::RunResult run_sequential(const pdes::Model& model, const core::Placement& placement,
                               double seconds_max, auto&& visit) {
  const auto transport = pdes::make_single_transport();
  pdes::Engine engine(model, placement,
                      {.sync = pdes::Sync::sequential, .time_limit_s = seconds_max}, *transport);
  const pdes::RunResult result = engine.run();
  if (!result.stopped) visit(engine, *transport);
  return result;
}

core::Placement one_partition(std::uint32_t atoms, std::uint32_t atom_shift) {
  core::Placement placement;
  placement.atom_shift = atom_shift;
  placement.partition_of_atom.assign(atoms, 0);
  return placement;
}
// What a validated workload leads to: the cluster, its traffic and, where that is little work, a
// simulation, whose handlers trust the validator. Packets and background traffic make more events
// than the workload has.
void simulate(const model::Cluster& cluster, bool events_known = true) {
  constexpr std::uint32_t kLpsMax = 4'096;
  if (cluster.lp_count() > kLpsMax) return;
  const model::Traffic traffic = cluster.traffic();
  std::uint64_t events = 0;
  for (const std::uint64_t work : traffic.work) {
    events += work;
    if (work > kEventsMax || events > kEventsMax) return;
  }
  const pdes::RunResult result =
      run_sequential(cluster, one_partition(cluster.atom_count(), cluster.atom_shift()),
                     events_known ? 0 : kSecondsMax, [&](auto& engine, auto& transport) {
                       model::Outcome outcome(cluster);
                       engine.visit(
                           [&](core::LpId lp, const void* state) { outcome.add(lp, state); });
                       outcome.combine(transport);
                     });
  EXAWARP_CHECK(!events_known || result.total.committed_events() <=
                                     2 * kEventsMax + cluster.lp_count(),
                events);
}
void simulate(const model::WorkloadGraph& graph, const io::SystemConfig& system,
              const model::ClusterOptions& options) {
  simulate(model::Cluster(graph, system.accelerator, system.fabric, options));
}

bool is_small(const model::TransformerSpec& spec) {
  const model::ParallelSpec& p = spec.parallel;
  return p.tensor * p.pipeline * p.data * p.context <= 64 && model::layers_of(spec.model) <= 32 &&
         spec.model.moe.experts <= 256 && spec.steps <= 4 &&
         spec.global_batch_sequences <= 64 * p.data * spec.micro_batch_sequences;
}
bool is_small(const model::DlrmSpec& spec) {
  return spec.devices <= 64 && spec.steps <= 4 && spec.cross_layers <= 16;
}
bool is_small(const model::ResnetSpec& spec) { return spec.devices <= 64 && spec.steps <= 4; }
bool is_small(const model::InferenceSpec& spec) {
  const model::InferenceParallel& p = spec.parallel;
  return p.tensor * p.pipeline * p.data <= 64 && spec.model.layers <= 32 &&
         spec.output_tokens <= 64;
}
bool is_small(const model::MicrobenchmarkSpec& spec) {
  return spec.devices <= 1'024 && spec.repeats <= 100;
}

bool run_study(std::string_view bytes) {
  static const InputFile file("study.yaml");
  const InputFile::Overridden input = file.with_overrides(bytes);
  return accepts([&] {
    const io::Study study = io::read_study(input.path, input.overrides);
    for (const io::JobConfig& job : study.jobs) {
      const auto* spec = std::get_if<io::WorkloadSpec>(&job.workload);
      if (spec == nullptr || !std::visit([](const auto& s) { return is_small(s); }, *spec)) return;
    }
    if (study.devices > 1'024 || study.jobs.size() > 4) return;
    const io::LoadedJobs loaded = io::load_jobs(study);
    if (io::devices_of(study, loaded) > 1'024) return;
    simulate(*io::cluster_of(study, loaded),
             study.backgrounds.empty() && study.network_fidelity != io::NetworkFidelity::packet);
  });
}

bool run_workload_spec(std::string_view bytes) {
  static const InputFile file("workload.yaml");
  const InputFile::Overridden input = file.with_overrides(bytes);
  return accepts([&] {
    io::YamlDocument document(input.path, input.overrides);
    const io::WorkloadSpec spec = io::read_workload_spec(document.root());
    document.finish();
    if (!std::visit([](const auto& s) { return is_small(s); }, spec)) return;
    const model::WorkloadGraph graph = io::generate(spec);
    read_workload(graph);
    EXAWARP_CHECK(model::find_unmatched(graph).empty());
  });
}

bool run_system(std::string_view bytes) {
  static const InputFile file("system.yaml");
  static const model::WorkloadGraph graph = small_graph();
  const InputFile::Overridden input = file.with_overrides(bytes);
  return accepts([&] {
    io::YamlDocument document(input.path, input.overrides);
    const io::SystemConfig system = io::read_system(document.root());
    document.finish();
    simulate(graph, system, {});
  });
}

// Synthetic traffic, run where its network and its messages are few.
bool run_traffic(std::string_view bytes) {
  static const InputFile file("traffic.yaml");
  const InputFile::Overridden input = file.with_overrides(bytes);
  return accepts([&] {
    const io::TrafficStudy study = io::read_traffic_study(input.path, input.overrides);
    if (study.devices > 256) return;
    const auto topology = model::make_topology(study.fabric, study.devices);
    if (topology->switches() > 4'096) return;
    EXAWARP_CHECK(!io::topology_text(io::facts_of(*topology)).empty());
    const model::TrafficModel traffic(*topology, study.network, study.traffic, 0);
    if (traffic.messages() > kEventsMax) return;
    const std::uint32_t lps = traffic.packet_network().lp_count();
    static_cast<void>(run_sequential(traffic, one_partition(lps, 0), kSecondsMax,
                                     [&](auto& engine, auto& transport) {
      model::TrafficOutcome outcome(traffic);
      engine.visit([&](core::LpId lp, const void* state) { outcome.add(lp, state); });
      outcome.combine(transport);
    }));
  });
}

// Runs the workload briefly at each fidelity, where it has few devices.
void simulate_everywhere(const model::WorkloadGraph& graph) {
  static const io::SystemConfig system = small_system();
  if (graph.device_count() > 256) return;
  simulate(graph, system, {});
  simulate(graph, system, {.analytical_network = true});
  model::ClusterOptions packets{.packets = model::PacketOptions(), .packets_inside_nodes = true};
  packets.packets->packet_bytes = 1 << 20;
  static_cast<void>(accepts([&] {
    simulate(model::Cluster(graph, system.accelerator, system.fabric, packets), false);
  }));
}

bool run_xwg(std::string_view bytes) {
  static const InputFile file("workload.xwg");
  const std::string& path = file.holding(bytes);
  return accepts([&] {
    const model::WorkloadGraph graph = io::open_workload(path);
    use_workload(graph);
    simulate_everywhere(graph);
  });
}

// A workload that validates is safe in every part of the program, even one that refuses it.
bool run_xwg_fields(std::string_view bytes) {
  return accepts([&] {
    model::WorkloadGraph graph = spoiled_workload(bytes);
    model::validate(graph);
    static_cast<void>(accepts([&] { use_workload(graph); }));
    static_cast<void>(accepts([&] { simulate_everywhere(graph); }));
  });
}

// A trace as both of its readers take it; what is imported is also written and read again.
bool run_chakra(std::string_view bytes) {
  static const InputFile file("trace.0.et"), again("again.0.et");
  const std::string& path = file.holding(bytes);
  const auto prefix_of = [](const std::string& name) { return name.substr(0, name.size() - 5); };
  static_cast<void>(accepts([&] {
    std::map<std::uint32_t, model::astra::CommGroup> groups;
    static_cast<void>(io::read_astra_traces(prefix_of(path), 1, groups));
  }));
  return accepts([&] {
    io::ChakraImportReport report;
    model::WorkloadGraph graph = io::import_chakra(prefix_of(path), {}, report);
    model::validate(graph);
    read_workload(graph);
    const std::string& copy = again.holding("");
    io::export_chakra(graph, prefix_of(copy));
    std::filesystem::remove(prefix_of(copy) + ".comm_groups.json");
    model::WorkloadGraph second = io::import_chakra(prefix_of(copy), {}, report);
    model::validate(second);
    const std::vector<std::string> lines = model::differences(graph, second);
    EXAWARP_CHECK(lines.empty(), lines.front());
  });
}

// A trace as JSON; what is converted imports as the same.
bool run_trace_json(std::string_view bytes) {
  static const InputFile file("json.0.json"), copy("json_copy.0.et");
  const std::string& path = file.holding(bytes);
  return accepts([&] {
    io::ChakraImportReport report;
    model::WorkloadGraph graph =
        io::import_chakra(path.substr(0, path.size() - 7), {.recorded_collectives = true}, report);
    model::validate(graph);
    read_workload(graph);
    const std::string& other = copy.holding("");
    io::convert_trace(path, other);
    model::WorkloadGraph second = io::import_chakra(other.substr(0, other.size() - 5),
                                                    {.recorded_collectives = true}, report);
    model::validate(second);
    const std::vector<std::string> lines = model::differences(graph, second);
    EXAWARP_CHECK(lines.empty(), lines.front());
  });
}

// A trace and the profile of the same run.
bool run_pytorch(std::string_view bytes) {
  static const InputFile trace("trace.json"), profile("profile.json");
  const std::vector<std::string> parts = split(bytes);
  const std::string& trace_path = trace.holding(parts.front());
  const std::string profile_path = parts.size() > 1 ? profile.holding(parts[1]) : std::string();
  return accepts([&] {
    io::ChakraImportReport report;
    io::pytorch::JoinReport links;
    model::WorkloadGraph graph = io::import_pytorch(trace_path, profile_path, {}, report, links);
    model::validate(graph);
    read_workload(graph);
  });
}

bool run_text_workload(std::string_view bytes) {
  static const InputFile file("workload.txt");
  const std::string& path = file.holding(bytes);
  return accepts([&] {
    model::WorkloadGraph graph =
        io::import_text_workload(path, {.ranks = 8, .model_parallel = 0, .passes = 2});
    model::validate(graph);
    read_workload(graph);
    EXAWARP_CHECK(model::find_unmatched(graph).empty());
  });
}

// The files of an ASTRA-sim set-up: system, network, memory, communicators.
bool run_astra_files(std::string_view bytes) {
  static const InputFile system("system.json"), network("network.yml"), memory("memory.json"),
      groups("groups.json");
  std::vector<std::string> parts = split(bytes);
  parts.resize(4);
  return accepts([&] {
    io::Warnings warnings;
    static_cast<void>(io::read_astra_network(network.holding(parts[1]), warnings));
    static_cast<void>(io::read_astra_system(system.holding(parts[0]), 1, warnings));
    static_cast<void>(io::read_astra_memory(memory.holding(parts[2]), warnings));
    static_cast<void>(io::read_comm_groups(groups.holding(parts[3])));
  });
}

// Text and binary, by the first bytes. Small schedules run, and become workloads where they can.
bool run_goal(std::string_view bytes) {
  static const InputFile file("schedule.goal");
  const std::string& path = file.holding(bytes);
  return accepts([&] {
    const model::goal::Schedule schedule = io::open_goal(path);
    if (schedule.operation_count() > kEventsMax || schedule.ranks() > kEventsMax) return;
    const model::goal::LogGops model(schedule, {});
    static_cast<void>(run_sequential(model, one_partition(schedule.ranks(), 0), 0,
                                     [](auto&, auto&) {}));
    static_cast<void>(accepts([&] { read_workload(io::import_goal(schedule)); }));
  });
}

bool run_stablehlo(std::string_view bytes) {
  static const InputFile file("module.mlir");
  const std::string& path = file.holding(bytes);
  return accepts([&] {
    io::stablehlo::ImportOptions options;
    options.steps_max = 1 << 14;  // more take seconds and gigabytes, as they may
    const auto import = io::stablehlo::import_stablehlo(path, options);
    EXAWARP_CHECK(!io::stablehlo::import_text(import).empty());
    constexpr std::uint32_t kProgramsMax = 64;
    if (import.graph.program_count() <= kProgramsMax) read_workload(import.graph);
  });
}

// What is said within the grid, at its edge and far beyond.
bool run_kernel_table(std::string_view bytes) {
  return accepts([&] {
    const auto table = model::KernelTable::parse("kernels.xkt", bytes);
    for (const double size : {1.0, 3.0, 16.0, 1e6, 1e12}) {
      const auto e = table.estimate(table.slice_count() - 1, {size, size, size, size});
      EXAWARP_CHECK(!e || e->us > 0, e->us);
    }
    EXAWARP_CHECK(table.error(1) >= 0, table.error(1));
  });
}

// A format, a file in it, and what its kernels compute; or SCALE-Sim's topology and configuration.
bool run_kernel_import(std::string_view bytes) {
  std::vector<std::string> parts = split(bytes);
  parts.resize(3);
  return accepts([&] {
    if (parts[0] == "systolic") {
      model::SystolicArray array;
      if (!parts[2].empty()) array = io::read_scale_sim_config("array.cfg", parts[2]).array;
      for (const io::SystolicLayer& layer : io::read_topology("layers.csv", parts[1])) {
        EXAWARP_CHECK(model::count_systolic(array, layer.shape).folds > 0, layer.place);
      }
      return;
    }
    io::KernelImportOptions options;
    options.format = core::value_of<io::KernelFormat>(parts[0]).value_or(io::KernelFormat::csv);
    options.clock_hz = 1'000'000'000;
    options.type = "bf16";
    options.shapes_file = "shapes.csv";
    options.shapes = parts[2];
    const io::KernelImport import = io::import_kernels("kernels", parts[1], options);
    EXAWARP_CHECK(!import.tables.empty(), import.kernels);
    for (const model::KernelTable& table : import.tables) {
      const std::string file = table.file_text("fuzz");
      EXAWARP_CHECK(model::KernelTable::parse("again.xkt", file).file_text("fuzz") == file, file);
    }
  });
}

// The first byte says the format.
bool run_request_trace(std::string_view bytes) {
  if (bytes.empty()) return false;
  static const InputFile file("requests");
  const std::string& path = file.holding(bytes.substr(1));
  const auto format = static_cast<io::RequestFormat>(static_cast<unsigned char>(bytes[0]) % 3);
  return accepts([&] {
    core::Time last{0};
    for (const io::RecordedRequest& r : io::read_request_trace(path, format).requests) {
      EXAWARP_CHECK(r.arrival >= last && r.prompt >= 1 && r.output >= 1, r.arrival.ps);
      last = r.arrival;
    }
  });
}

// Operations, attention and all-reduces; what is read is asked for the time of a batch.
bool run_vidur_profile(std::string_view bytes) {
  static const InputFile mlp("mlp.csv"), attention("attention.csv"), reduce("reduce.csv");
  const std::vector<std::string> parts = split(bytes);
  io::ProfileFiles files{.mlp = mlp.holding(parts[0]),
                         .attention = attention.holding(parts.size() > 1 ? parts[1] : ""),
                         .all_reduce = "",
                         .send_recv = ""};
  if (parts.size() > 2) files.all_reduce = reduce.holding(parts[2]);
  return accepts([&] {
    const model::serving::ProfileTime time(io::read_vidur_profile(files, {.tensor = 2}), 100'000);
    for (const std::uint64_t n : {1U, 7U, 1'000U, 1U << 24}) {
      const model::serving::IterationWork work{.tokens = 2 * n,
                                               .decodes = n,
                                               .decode_context = n * n,
                                               .prompts = 1,
                                               .prompt_tokens = n,
                                               .prompt_squares = n * n};
      EXAWARP_CHECK(time.of(work).ps >= 0 && time.send(work).ps >= 0, n);
    }
  });
}

// A trace and its tensors; what is read becomes every graph, and is timed by every rule.
bool run_single_gpu(std::string_view bytes) {
  static const InputFile trace("trace.csv"), tensors("tensors.csv");
  const std::vector<std::string> parts = split(bytes);
  const std::string& trace_path = trace.holding(parts[0]);
  const std::string& tensor_path = tensors.holding(parts.size() > 1 ? parts[1] : "");
  return accepts([&] {
    const model::RecordedStep step = io::read_single_gpu_trace(trace_path, tensor_path);
    for (const auto& layout : model::kExtrapolatedLayoutNames) {
      const model::Extrapolation to{
          .layout = layout.value, .devices = 2, .trace_batch = 8, .batch = 8, .micro_batch = 4};
      if (!refusal_of(step, to).empty()) continue;
      model::WorkloadGraph graph = model::extrapolated(step, to, "fuzz");
      model::validate(graph);
    }
    for (const auto& rule : model::triosim::kCaseNames) {
      const model::triosim::Rules rules{
          .which = rule.value, .devices = 2, .trace_batch = 8, .batch = 8, .micro_batch = 4};
      if (!refusal_of(step, rules).empty()) continue;
      const std::optional<double> time_s = step_time_s(step, rules);
      EXAWARP_CHECK(!time_s || *time_s >= 0, rule.name);
    }
  });
}

// A list of flows among 16 devices.
bool run_flow_list(std::string_view bytes) {
  static const InputFile file("flows.csv");
  const std::string& path = file.holding(bytes);
  return accepts([&] {
    const model::FlowList list = io::read_flow_list(path, 16);
    std::size_t flows = 0;
    for (std::uint32_t d = 0; d < 16; ++d) {
      core::Time last{0};
      for (const model::ListedFlow& flow : list.of({d})) {
        EXAWARP_CHECK(flow.source == d && flow.destination < 16 && flow.destination != d, d);
        EXAWARP_CHECK(flow.bytes >= 0 && flow.start >= last, flow.bytes, flow.start.ps);
        last = flow.start;
        ++flows;
      }
    }
    EXAWARP_CHECK(flows == list.all().size(), flows);
  });
}

bool run_units(std::string_view bytes) {
  bool any = false;
  for (const core::Dimension dimension : {core::Dimension::time, core::Dimension::size,
                                          core::Dimension::bandwidth, core::Dimension::rate}) {
    const core::ParsedQuantity parsed = core::parse_quantity(bytes, dimension);
    EXAWARP_CHECK(!parsed.ok() || parsed.value >= 0, parsed.value);
    EXAWARP_CHECK(parsed.error.size() <= kErrorBytesMax, parsed.error.size());
    if (!parsed.ok()) continue;
    any = true;
    const auto value = static_cast<std::uint64_t>(parsed.value);
    EXAWARP_CHECK(!core::format_time(core::Time{parsed.value}).empty());
    EXAWARP_CHECK(!core::format_bytes(value).empty() && !core::format_grouped(value).empty());
    EXAWARP_CHECK(!core::format_count(static_cast<double>(value)).empty());
  }
  return any;
}

// A condition of a sweep.
bool run_expression(std::string_view bytes) {
  static const std::vector<std::string> names{"tensor", "pipeline", "data", "devices"};
  return accepts([&] {
    const io::Expression expression(bytes, "sweep.yaml:3", names);
    static_cast<void>(expression.holds(std::array{8.0, 4.0, 2.0, 64.0}));
    static_cast<void>(expression.holds(std::array{1.0, 3.0, -1024.0, 1e300}));
  });
}

bool run_command_line(std::string_view bytes) {
  return accepts([&] { static_cast<void>(io::parse_command_line(split(bytes))); });
}

constexpr Target kTargets[] = {
    {"study", run_study, study_seeds, study_words},
    {"workload_spec", run_workload_spec, workload_spec_seeds, study_words},
    {"system", run_system, system_seeds, study_words},
    {"traffic", run_traffic, traffic_seeds, study_words},
    {"xwg", run_xwg, xwg_seeds, xwg_words},
    {"xwg_fields", run_xwg_fields, spoil_seeds, spoil_words},
    {"chakra", run_chakra, chakra_seeds, chakra_words},
    {"trace_json", run_trace_json, trace_json_seeds, trace_json_words},
    {"pytorch", run_pytorch, pytorch_seeds, pytorch_words},
    {"text_workload", run_text_workload, text_workload_seeds, text_workload_words},
    {"astra_files", run_astra_files, astra_file_seeds, astra_file_words},
    {"goal", run_goal, goal_seeds, goal_words},
    {"stablehlo", run_stablehlo, stablehlo_seeds, stablehlo_words},
    {"kernel_table", run_kernel_table, kernel_table_seeds, kernel_table_words},
    {"kernel_import", run_kernel_import, kernel_import_seeds, kernel_import_words},
    {"flow_list", run_flow_list, flow_list_seeds, flow_list_words},
    {"request_trace", run_request_trace, request_trace_seeds, request_trace_words},
    {"single_gpu", run_single_gpu, single_gpu_seeds, single_gpu_words},
    {"vidur_profile", run_vidur_profile, vidur_profile_seeds, vidur_profile_words},
    {"units", run_units, unit_seeds, unit_words},
    {"expression", run_expression, expression_seeds, expression_words},
    {"command_line", run_command_line, command_line_seeds, command_line_words},
};

}  // namespace

std::span<const Target> targets() { return kTargets; }

const Target* find_target(std::string_view name) {
  for (const Target& target : kTargets) {
    if (target.name == name) return &target;
  }
  return nullptr;
}

}  // namespace exawarp::fuzz
