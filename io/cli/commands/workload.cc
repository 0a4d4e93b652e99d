// One short function for each action: read a graph or a foreign format, call the room that knows,
// write a file or print a text. Only rank 0 works; the others learn whether it failed.
#include "io/cli/commands/workload.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "core/error.h"
#include "core/output_file.h"
#include "core/units.h"
#include "io/cli/commands/chakra.h"
#include "io/cli/commands/sample.h"
#include "io/formats/chakra/json_trace.h"
#include "io/formats/goal/import.h"
#include "io/formats/goal/text_reader.h"
#include "io/formats/single_gpu/trace.h"
#include "io/formats/stablehlo/import.h"
#include "io/formats/text_workload/import.h"
#include "io/life/agreement.h"
#include "io/life/extrapolation.h"
#include "io/report/critical_path.h"
#include "io/report/memory_report.h"
#include "io/report/printed_json.h"
#include "io/report/workload_drawing.h"
#include "io/report/workload_facts.h"
#include "io/report/workload_timeline.h"
#include "io/study/file_kinds.h"
#include "io/study/find_config.h"
#include "io/study/in_file.h"
#include "io/study/suggest.h"
#include "io/study/system_config.h"
#include "io/study/workload_spec.h"
#include "model/workload/diff.h"
#include "model/workload/inspect.h"
#include "model/workload/validate.h"

namespace exawarp::io {
namespace {

using Action = WorkloadArguments::Action;

void write_workload(const model::WorkloadGraph& graph, const std::string& path,
                    const Console& console) {
  const std::uint64_t bytes = graph.write(path);
  console.out << fmt::format("{}: {} devices, {} programs, {}\n", one_line(path),
                             core::format_grouped(graph.device_count()), graph.program_count(),
                             core::format_bytes(bytes))
              << std::flush;
}

model::Accelerator read_accelerator_file(const std::string& given) {
  const std::string path = find_config(given, kAcceleratorFolders);
  YamlDocument document(path);
  expect_kind(FileKind::accelerator, document.root(), path);
  model::Accelerator accelerator = read_accelerator(document.root());
  document.finish();
  return accelerator;
}

void generate_file(const WorkloadArguments& a, const Console& console) {
  const std::string file = find_config(a.input, kWorkloadFolders);
  YamlDocument document(file, a.overrides);
  expect_kind(FileKind::workload, document.root(), file);
  const WorkloadSpec spec = read_workload_spec(document.root());
  document.finish();
  const model::WorkloadGraph graph = generate(spec, file, a.bytes_max);
  if (!a.accelerator.empty() && !a.ignore_memory) {
    check_memory(graph, read_accelerator_file(a.accelerator), file);
  }
  write_workload(graph, a.output, console);
  console.out << printable(memory_line(graph)) << std::flush;
}

void import_goal_file(const WorkloadArguments& a, const Console& console) {
  write_workload(import_goal(open_goal(a.input)), a.output, console);
}

void import_text_file(const WorkloadArguments& a, const Console& console) {
  model::WorkloadGraph graph = import_text_workload(a.input, a.text);
  model::validate(graph);
  write_workload(graph, a.output, console);
}

void import_single_gpu_file(const WorkloadArguments& a, const Console& console) {
  const model::RecordedStep step = read_single_gpu_trace(a.input, a.tensors);
  write_workload(extrapolated_graph(step, a.recorded, a.input), a.output, console);
}

void convert_file(const WorkloadArguments& a, const Console& console) {
  convert_trace(a.input, a.output);
  console.out << one_line(a.output) << "\n" << std::flush;
}

void import_stablehlo_file(const WorkloadArguments& a, const Console& console) {
  stablehlo::ImportOptions options{.mesh = {},
                                   .fuse = a.fusion,
                                   .entry = a.entry,
                                   .trip_count = a.trip_count,
                                   .module = a.module};
  if (!a.mesh.empty()) options.mesh = stablehlo::parse_mesh_option(a.mesh);
  const stablehlo::Import import = stablehlo::import_stablehlo(a.input, options);
  write_workload(import.graph, a.output, console);
  console.out << printable(stablehlo::import_text(import)) << std::flush;
}

// A workload is valid when it is safe to run and every send has its receive.
void validate_file(const WorkloadArguments& a, const Console& console) {
  const model::WorkloadGraph graph = open_workload(a.input);
  const std::vector<std::string> unmatched = model::find_unmatched(graph);
  if (a.json) {
    console.out << printed(
        {{"file", a.input}, {"valid", unmatched.empty()}, {"unmatched", unmatched}});
  } else if (unmatched.empty()) {
    console.out << fmt::format("{}: valid: {} devices, {} programs\n", one_line(a.input),
                               core::format_grouped(graph.device_count()),
                               graph.program_count());
  } else {
    for (const std::string& finding : unmatched) console.out << printable(finding) << "\n";
  }
  console.out << std::flush;
  if (!unmatched.empty()) {
    throw core::InputError(a.input, "cannot finish: " + unmatched.front());
  }
}

// Differences are the answer, and an exit code as of bad input, as those of unmatched messages.
void diff_files(const WorkloadArguments& a, const Console& console) {
  const std::vector<std::string> lines =
      model::differences(open_workload(a.input), open_workload(a.output));
  for (const std::string& line : lines) console.out << printable(line) << "\n";
  console.out << std::flush;
  if (!lines.empty()) throw core::InputError(a.output, "differs from " + a.input);
}

void check_device(const WorkloadArguments& a, const model::WorkloadGraph& graph) {
  if (!a.device || *a.device < graph.device_count()) return;
  throw core::InputError("--device",
                         fmt::format("{}; expected less than {}", *a.device, graph.device_count()));
}

TimelineForm timeline_form(const std::string& path) {
  if (path.ends_with(".txt")) return TimelineForm::text;
  if (path.ends_with(".svg")) return TimelineForm::svg;
  if (path.ends_with(".json")) return TimelineForm::chrome;
  throw core::InputError("--timeline", in_quotes(path) + "; expected FILE.txt, .svg or .json");
}

void draw_file(const WorkloadArguments& a, const Console& console) {
  const model::WorkloadGraph graph = open_workload(a.input);
  check_device(a, graph);
  const bool dot = a.action == Action::export_dot;
  core::write_file(a.output,
                   dot ? workload_dot(graph, a.device) : workload_graphml(graph, a.device));
  console.out << one_line(a.output) << "\n" << std::flush;
}

void inspect_file(const WorkloadArguments& a, const Console& console) {
  const model::WorkloadGraph graph = open_workload(a.input);
  check_device(a, graph);
  std::optional<model::Accelerator> accelerator;
  if (!a.accelerator.empty()) {
    accelerator = read_accelerator_file(a.accelerator);
  }
  const TimedWorkload workload = timed(graph, accelerator ? &*accelerator : nullptr);
  if (!a.timeline.empty()) {
    const TimelineForm form = timeline_form(a.timeline);
    core::write_file(a.timeline, timeline(graph, workload, a.device.value_or(0), form));
  }
  const model::WorkloadFacts facts = model::inspect(graph);
  console.out << (a.json ? facts_json(facts, critical_path_json(graph, workload))
                         : printable(facts_text(facts, critical_path_text(graph, workload))))
              << std::flush;
}

void handle(const WorkloadArguments& a, const Console& console) {
  switch (a.action) {
    case Action::generate: return generate_file(a, console);
    case Action::import_goal: return import_goal_file(a, console);
    case Action::import_stablehlo: return import_stablehlo_file(a, console);
    case Action::inspect: return inspect_file(a, console);
    case Action::validate: return validate_file(a, console);
    case Action::import_chakra: return import_chakra_file(a, console);
    case Action::import_pytorch: return import_pytorch_file(a, console);
    case Action::import_single_gpu: return import_single_gpu_file(a, console);
    case Action::import_text: return import_text_file(a, console);
    case Action::export_chakra:
    case Action::export_json: return export_trace_files(a, console);
    case Action::export_dot:
    case Action::export_graphml: return draw_file(a, console);
    case Action::convert: return convert_file(a, console);
    case Action::diff: return diff_files(a, console);
    case Action::sample: return sample_files(a, console);
  }
}

}  // namespace

int handle_workload(const WorkloadArguments& a, const Console& console,
                    pdes::Transport& transport) {
  agree(transport, [&] {
    if (transport.rank().value == 0) in_file(a.input, [&] { handle(a, console); });
  });
  return kDone;
}

}  // namespace exawarp::io
