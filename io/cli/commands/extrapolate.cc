#include "io/cli/commands/extrapolate.h"

#include <fmt/format.h>

#include <ostream>

#include "core/error.h"
#include "core/units.h"
#include "io/formats/single_gpu/trace.h"
#include "io/life/extrapolation.h"
#include "io/report/extrapolation_report.h"
#include "io/study/find_config.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

constexpr std::string_view kSystemFolders[] = {"systems"};

void write_graph(const ExtrapolateArguments& a, const model::RecordedStep& step,
                 const Console& console) {
  if (a.layouts.size() != 1 || a.devices.size() != 1) {
    throw core::InputError("--output", "is one graph; expected one --layout and one of --devices, "
                                       "and no --rules");
  }
  model::Extrapolation to = a.to;
  to.layout = a.layouts.front();
  to.devices = a.devices.front();
  const model::WorkloadGraph graph = extrapolated_graph(step, to, a.trace);
  const std::uint64_t bytes = graph.write(a.output);
  console.out << fmt::format("{}: {} devices, {} programs, {}\n", one_line(a.output),
                             core::format_grouped(graph.device_count()), graph.program_count(),
                             core::format_bytes(bytes))
              << std::flush;
}

void add_points(const ExtrapolateArguments& a, const model::RecordedStep& step,
                const Console& console, ExtrapolationReport& report) {
  for (const model::triosim::Case which : a.cases) {
    model::triosim::Rules rules = a.rules;
    rules.which = which;
    for (const std::uint32_t devices : a.devices) {
      rules.devices = which == model::triosim::Case::single ? 1 : devices;
      report.points.push_back(by_triosim_rules(step, rules, a.trace));
      if (which == model::triosim::Case::single) break;
    }
  }
  if (a.layouts.empty()) return;
  const ExtrapolationCluster cluster{find_config(a.cluster, kSystemFolders), a.overrides};
  RunOptions options = a.options;
  options.notify = [&](const std::string& line) { console.err << line + "\n" << std::flush; };
  for (const model::ExtrapolatedLayout layout : a.layouts) {
    model::Extrapolation to = a.to;
    to.layout = layout;
    for (const std::uint32_t devices : a.devices) {
      to.devices = devices;
      report.points.push_back(simulate_extrapolated(step, to, a.trace, cluster, options));
    }
  }
}

}  // namespace

int run_extrapolate(const ExtrapolateArguments& a, const Console& console,
                    pdes::Transport& transport) {
  if (transport.ranks() > 1) {
    throw core::InputError("extrapolate", "runs on one rank; expected --threads N without mpirun");
  }
  const model::RecordedStep step = read_single_gpu_trace(a.trace, a.tensors);
  if (!a.output.empty()) {
    write_graph(a, step, console);
    return 0;
  }
  ExtrapolationReport report{.trace = a.trace,
                             .operators = step.operators.size(),
                             .trace_batch = a.to.trace_batch,
                             .batch = a.to.batch,
                             .on = a.layouts.empty() ? "TrioSim's rules" : a.cluster,
                             .points = {}};
  for (const model::RecordedOperator& op : step.operators) report.recorded_s += op.time_us * 1e-6;
  add_points(a, step, console, report);
  console.out << (a.json ? extrapolation_json(report) : printable(extrapolation_text(report)))
              << std::flush;
  return 0;
}

}  // namespace exawarp::io
