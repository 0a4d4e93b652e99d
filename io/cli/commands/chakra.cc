#include "io/cli/commands/chakra.h"

#include <fmt/format.h>

#include <ostream>
#include <utility>

#include "core/units.h"
#include "io/formats/chakra/export.h"
#include "io/formats/chakra/import.h"
#include "io/formats/pytorch/import.h"
#include "io/study/suggest.h"
#include "io/study/workload_spec.h"
#include "model/workload/validate.h"

namespace exawarp::io {

namespace {

void finish_import(model::WorkloadGraph graph, const ChakraImportReport& report,
                   const WorkloadArguments& a, const Console& console) {
  model::validate(graph);
  graph.write(a.output);
  const double share =
      report.nodes == 0 ? 0
                        : 100.0 * (1.0 - static_cast<double>(report.program_nodes) /
                                             static_cast<double>(report.nodes));
  console.out << fmt::format(
      "{}: {} ranks, {} programs; {} nodes of {} kept, {:.1f} % shared; {} communicators in {} "
      "families; read {}\n",
      one_line(a.output), core::format_grouped(report.ranks), report.programs,
      core::format_grouped(report.program_nodes), core::format_grouped(report.nodes), share,
      report.communicators, report.group_families, core::format_bytes(report.bytes));
  if (report.dangling > 0) {
    console.err << fmt::format("{}: {} dependencies on nodes that are not there were dropped\n",
                               one_line(a.input), report.dangling);
  }
  if (report.ranks_without_control > 0 && report.control_given) {
    console.err << fmt::format("{}: control dependencies of {} ranks are no order (a call tree, "
                               "say) and were not used\n",
                               one_line(a.input), report.ranks_without_control);
  }
  console.out << std::flush;
}

}  // namespace

void import_chakra_file(const WorkloadArguments& a, const Console& console) {
  ChakraImportReport report;
  model::WorkloadGraph graph = import_chakra(a.input, a.chakra, report);
  finish_import(std::move(graph), report, a, console);
}

void import_pytorch_file(const WorkloadArguments& a, const Console& console) {
  ChakraImportReport report;
  pytorch::JoinReport links;
  model::WorkloadGraph graph = import_pytorch(a.input, a.kineto, a.chakra, report, links);
  finish_import(std::move(graph), report, a, console);
  console.out << fmt::format("{} host operations, {} of them timed; {} device operations; {} "
                             "transfers\n",
                             core::format_grouped(links.host_nodes),
                             core::format_grouped(links.host_timed),
                             core::format_grouped(links.device_nodes),
                             core::format_grouped(links.transfers))
              << std::flush;
  if (links.device_unlaunched > 0) {
    console.err << fmt::format("{}: {} device operations were launched by none of the host "
                               "operations\n", one_line(a.kineto), links.device_unlaunched);
  }
}

void export_trace_files(const WorkloadArguments& a, const Console& console) {
  const model::WorkloadGraph graph = open_workload(a.input);
  const bool json = a.action == WorkloadArguments::Action::export_json;
  json ? export_json(graph, a.output) : export_chakra(graph, a.output);
  console.out << fmt::format("{}.<rank>.{}: {} ranks\n", one_line(a.output), json ? "json" : "et",
                             core::format_grouped(graph.device_count()))
              << std::flush;
}

}  // namespace exawarp::io
