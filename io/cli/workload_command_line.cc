// Each conversion is a subcommand with an input and an output; what several formats share (steps,
// counting, streams) is added by one function. Texts become values in finish_workload().
#include "io/cli/workload_command_line.h"

#include <CLI/CLI.hpp>
#include <array>
#include <limits>

#include "io/cli/option_values.h"

namespace exawarp::io {
namespace {

using Action = WorkloadArguments::Action;

// A subcommand that reads one thing and writes another.
struct Conversion {
  const char* name;
  const char* description;
  const char* input;  // INPUT
  const char* input_text;
  const char* output_text;
  Action action;
};
CLI::App& add_conversion(CLI::App& app, WorkloadArguments& a, const Conversion& c) {
  CLI::App& sub = *app.add_subcommand(c.name, c.description);
  sub.add_option(c.input, a.input, c.input_text)->required();
  sub.add_option("-o,--output", a.output, c.output_text)->required();
  sub.callback([&a, action = c.action] { a.action = action; });
  return sub;
}

constexpr const char* kWritesXwg = "the .xwg file to write";
const CLI::Validator kIndex(unsigned_up_to(std::numeric_limits<std::uint32_t>::max()), "");

// What all traces of nodes with dependencies have in common.
void add_trace_options(CLI::App& app, WorkloadArguments& a) {
  app.add_option("--comm-groups", a.chakra.comm_groups, "communicators (JSON)");
  app.add_flag("--drop-dangling", a.chakra.drop_dangling,
               "leaves out dependencies on nodes that are not there");
  app.add_flag("--recorded-collectives", a.chakra.recorded_collectives,
               "collectives take the durations that were recorded");
}

void add_chakra_import(CLI::App& app, WorkloadArguments& a, RawWorkloadOptions& raw) {
  CLI::App& chakra =
      add_conversion(app, a,
                     {"chakra", "from execution traces PREFIX.<rank>.et or PREFIX.<rank>.json",
                      "PREFIX", "prefix of the traces", kWritesXwg, Action::import_chakra});
  add_trace_options(chakra, a);
  chakra
      .add_option("--element-bytes", a.chakra.element_bytes,
                  "comm_size and tensor_size count elements of so many bytes (default: 1)")
      ->check(CLI::Range(1u, 64u));
  chakra.add_flag("--macs", a.chakra.macs, "num_ops of matrix products counts MACs, not FLOPs");
  chakra.add_option("--comm-size", raw.comm_size,
                    "comm_size is of a collective's input (default) or output");
  chakra.add_option("--ctrl-deps", raw.control,
                    "auto (default: where they are an order), use or ignore");
}

void add_pytorch_import(CLI::App& app, WorkloadArguments& a) {
  CLI::App& pytorch =
      add_conversion(app, a,
                     {"pytorch", "from PyTorch execution traces, linked with Kineto's", "TRACE",
                      "ExecutionTraceObserver's JSON; {rank} in the name stands for the rank",
                      kWritesXwg, Action::import_pytorch});
  pytorch.add_option("--kineto", a.kineto, "the profiler's JSON of the same run, named alike");
  add_trace_options(pytorch, a);
}

void add_text_import(CLI::App& app, WorkloadArguments& a, RawWorkloadOptions& raw) {
  CLI::App& text = add_conversion(app, a,
                                  {"text", "from a text workload of ASTRA-sim 1.0", "FILE",
                                   "the text workload", kWritesXwg, Action::import_text});
  text.add_option("--ranks", a.text.ranks, "how many ranks run it")
      ->required()
      ->check(CLI::Range(1u, 1u << 24));
  text.add_option("--passes", a.text.passes, "forward and backward passes (default: 1)")
      ->check(CLI::Range(1u, 1u << 20));
  text.add_option("--model-parallel", a.text.model_parallel,
                  "ranks of a model-parallel group (default: as the file says)")
      ->check(CLI::Range(1u, 1u << 24));
  text.add_option("--cycle", raw.cycle, "what times count (default: \"1 ns\")");
}

void add_single_gpu_import(CLI::App& app, WorkloadArguments& a, RawWorkloadOptions& raw) {
  CLI::App& recorded =
      add_conversion(app, a,
                     {"single-gpu", "from a step that was recorded on one GPU, for several",
                      "TRACE", "operators of the recorded step (CSV)", kWritesXwg,
                      Action::import_single_gpu});
  recorded.add_option("--tensors", a.tensors, "their tensors (CSV)")->required();
  recorded.add_option("--devices", a.recorded.devices, "how many")
      ->required()
      ->check(CLI::Range(1u, 1u << 16));
  recorded.add_option("--layout", raw.layout,
                      "data_parallel (default), tensor_parallel or pipeline");
  add_recorded(recorded, a.recorded, raw.recorded);
}

void add_stablehlo_import(CLI::App& app, WorkloadArguments& a) {
  CLI::App& stablehlo =
      add_conversion(app, a,
                     {"stablehlo", "from a StableHLO module (MLIR text)", "INPUT",
                      "the file to import", kWritesXwg, Action::import_stablehlo});
  stablehlo.add_option("--mesh", a.mesh, "devices by axis, the last fastest: data=4,tensor=2");
  stablehlo.add_flag("!--no-fusion", a.fusion, "each operation is a kernel of its own");
  stablehlo.add_option("--trip-count", a.trip_count, "of loops that do not tell theirs")
      ->transform(CLI::Validator(unsigned_up_to(std::uint64_t{1} << 22), ""));
  stablehlo.add_option("--entry", a.entry, "the function to run (main)");
  stablehlo.add_option("--module", a.module, "of several in the file, counted from 1")
      ->transform(kIndex);
}

void add_workload_import(CLI::App& app, WorkloadArguments& a, RawWorkloadOptions& raw) {
  app.require_subcommand(1);
  add_chakra_import(app, a, raw);
  add_conversion(app, a,
                 {"goal", "from a GOAL schedule, text or binary", "INPUT", "the file to import",
                  kWritesXwg, Action::import_goal});
  add_pytorch_import(app, a);
  add_single_gpu_import(app, a, raw);
  add_stablehlo_import(app, a);
  add_text_import(app, a, raw);
}

void add_workload_export(CLI::App& app, WorkloadArguments& a) {
  app.require_subcommand(1);
  const Conversion conversions[] = {
      {"chakra", "execution traces PREFIX.<rank>.et", "FILE", "workload (.xwg)",
       "prefix of the traces to write", Action::export_chakra},
      {"json", "execution traces PREFIX.<rank>.json", "FILE", "workload (.xwg)",
       "prefix of the traces to write", Action::export_json},
      {"dot", "a program as a graph for Graphviz", "FILE", "workload (.xwg)", "the .dot to write",
       Action::export_dot},
      {"graphml", "a program as GraphML", "FILE", "workload (.xwg)", "the .graphml to write",
       Action::export_graphml}};
  for (const Conversion& conversion : conversions) {
    CLI::App& sub = add_conversion(app, a, conversion);
    if (conversion.action == Action::export_dot || conversion.action == Action::export_graphml) {
      sub.add_option("--device", a.device, "whose program (default: all, each once)")
          ->transform(kIndex);
    }
  }
}

void add_inspect(CLI::App& app, WorkloadArguments& a) {
  CLI::App& inspect = *app.add_subcommand("inspect", "says what a workload consists of");
  inspect.add_option("FILE", a.input, "workload (.xwg)")->required();
  inspect.add_flag("--json", a.json, "prints one JSON object");
  inspect.add_option("--accelerator", a.accelerator,
                     "times computations on it (configs/accelerators/*.yaml)");
  inspect.add_option("--timeline", a.timeline,
                     "writes when a device does what, without a network: FILE.txt, .svg or .json "
                     "(Chrome trace)");
  inspect.add_option("--device", a.device, "whose timeline (default: 0)")->transform(kIndex);
  inspect.callback([&a] { a.action = Action::inspect; });
}

// Whole numbers from 1.
CLI::Validator count_up_to(std::uint64_t max) {
  return CLI::Validator(
      [max](std::string& text) {
        const std::optional<std::uint64_t> value = unsigned_from(text);
        if (!value || *value == 0 || *value > max) {
          return fmt::format("{}; expected a whole number from 1 to {}", in_quotes(text), max);
        }
        text = std::to_string(*value);
        return std::string();
      },
      "");
}

void add_sample(CLI::App& app, WorkloadArguments& a) {
  CLI::App& sample = *app.add_subcommand("sample", "draws graphs that are like given ones");
  SampleArguments& s = a.sample;
  sample
      .add_option("--like", s.like, "workloads (.xwg) or prefixes of execution traces, one or more")
      ->required()
      ->expected(1, 10'000);
  sample.add_option("--seed", s.request.seed, "seed of every draw (default: 1)")
      ->transform(CLI::Validator(unsigned_up_to(std::numeric_limits<std::uint64_t>::max()), ""));
  sample.add_option("--nodes", s.request.nodes, "nodes of a program (default: about as given)")
      ->transform(count_up_to(model::kSampleNodesMax));
  sample.add_option("--ranks", s.request.ranks, "devices (default: as given)")
      ->transform(count_up_to(model::kSampleRanksMax));
  sample.add_option("--count", s.request.count, "how many graphs (default: 1)")
      ->transform(count_up_to(model::kSampleCountMax));
  sample
      .add_option("-o,--output", a.output,
                  "the .xwg file to write; of several graphs OUT.0.xwg, OUT.1.xwg, ...")
      ->required();
  sample.add_option("--report", s.report, "file for the fidelity as JSON");
  sample.add_flag("--json", a.json, "prints the fidelity as one JSON object");
  sample.callback([&a] { a.action = Action::sample; });
}

}  // namespace

void add_workload(CLI::App& app, WorkloadArguments& a, RawWorkloadOptions& raw) {
  app.require_subcommand(1);
  CLI::App& generate =
      add_conversion(app, a,
                     {"generate", "writes the workload of a specification", "SPEC",
                      "workload specification (YAML)", kWritesXwg, Action::generate});
  generate.add_option("--set", raw.overrides, "replaces a key: path.to.key=value (repeatable)")
      ->take_all()
      ->allow_extra_args(false);
  generate.add_option("--accelerator", a.accelerator,
                      "accelerator (YAML) whose memory the workload has to fit");
  generate.add_flag("--ignore-memory", a.ignore_memory, "goes on where it does not fit");
  generate.add_option("--max-size", raw.max_size,
                      "of the file to write, e.g. \"4 GiB\" (default: 1 GiB)");
  add_workload_import(*app.add_subcommand("import", "makes a workload of what others wrote"), a,
                      raw);
  add_workload_export(*app.add_subcommand("export", "writes a workload in another format"), a);
  add_conversion(app, a,
                 {"convert", "rewrites one execution trace: FILE.et as FILE.json, or back", "INPUT",
                  "the trace", "the trace to write", Action::convert});
  CLI::App* diff = app.add_subcommand("diff", "says where two workloads differ");
  diff->add_option("A", a.input, "workload (.xwg)")->required();
  diff->add_option("B", a.output, "workload (.xwg)")->required();
  diff->callback([&a] { a.action = Action::diff; });
  add_inspect(app, a);
  add_sample(app, a);
  CLI::App* validate = app.add_subcommand("validate", "checks a workload");
  validate->add_option("FILE", a.input, "workload (.xwg)")->required();
  validate->add_flag("--json", a.json, "prints one JSON object");
  validate->callback([&a] { a.action = Action::validate; });
}

void finish_workload(const RawWorkloadOptions& raw, WorkloadArguments& a) {
  a.overrides = raw.overrides;
  finish_recorded(raw.recorded, a.recorded);
  if (!raw.layout.empty()) {
    a.recorded.layout = parse_choice<model::ExtrapolatedLayout>("--layout", raw.layout);
  }
  using Size = ChakraImportOptions::CommSize;
  using Control = ChakraImportOptions::ControlDependencies;
  if (!raw.comm_size.empty()) {
    const std::array choices{core::Named<Size>{"input", Size::input},
                             core::Named<Size>{"output", Size::output}};
    a.chakra.comm_size = parse_choice<Size>("--comm-size", raw.comm_size, choices);
  }
  if (!raw.control.empty()) {
    const std::array choices{core::Named<Control>{"auto", Control::automatic},
                             core::Named<Control>{"use", Control::use},
                             core::Named<Control>{"ignore", Control::ignore}};
    a.chakra.control = parse_choice<Control>("--ctrl-deps", raw.control, choices);
  }
  if (!raw.max_size.empty()) {
    const core::ParsedQuantity size = core::parse_quantity(raw.max_size, core::Dimension::size);
    if (!size.ok()) {
      throw core::InputError("--max-size", in_quotes(raw.max_size) + " " + size.error);
    }
    a.bytes_max = static_cast<std::uint64_t>(size.value);
  }
  if (!raw.cycle.empty()) {
    a.text.cycle_ps = parse_time("--cycle", raw.cycle).ps;
    constexpr std::int64_t kCycleMaxPs = 1'000'000'000;
    if (a.text.cycle_ps < 1 || a.text.cycle_ps > kCycleMaxPs) {
      throw core::InputError("--cycle", in_quotes(raw.cycle) + "; expected up to 1 ms");
    }
  }
}

}  // namespace exawarp::io
