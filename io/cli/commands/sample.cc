#include "io/cli/commands/sample.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <system_error>

#include "core/error.h"
#include "core/output_file.h"
#include "core/units.h"
#include "io/formats/chakra/import.h"
#include "io/report/fidelity_report.h"
#include "io/report/printed_json.h"
#include "io/study/in_file.h"
#include "io/study/suggest.h"
#include "io/study/workload_spec.h"
#include "model/sample/draw.h"
#include "model/workload/validate.h"

namespace exawarp::io {
namespace {

// A .xwg file, or the prefix of execution traces where there is no file of that name.
model::WorkloadGraph open_given(const std::string& path) {
  std::error_code ignored;
  if (path.ends_with(".xwg") || std::filesystem::exists(path, ignored)) return open_workload(path);
  return in_file(path, [&] {
    ChakraImportReport report;
    model::WorkloadGraph graph = import_chakra(path, {}, report);
    model::validate(graph);
    return graph;
  });
}

// "out.xwg" of one graph; "out.0.xwg", "out.1.xwg", ... of several.
std::string path_of(const std::string& output, std::uint32_t count, std::uint32_t index) {
  if (count == 1) return output;
  const bool ends = output.ends_with(".xwg");
  const std::string stem = ends ? output.substr(0, output.size() - 4) : output;
  return fmt::format("{}.{}.xwg", stem, index);
}

void check_outputs(const WorkloadArguments& a) {
  std::error_code ignored;
  for (std::uint32_t i = 0; i < a.sample.request.count; ++i) {
    const std::string path = path_of(a.output, a.sample.request.count, i);
    for (const std::string& given : a.sample.like) {
      if (!std::filesystem::equivalent(path, given, ignored)) continue;
      throw core::InputError("--output", in_quotes(path) +
                                             " is one of the graphs given; expected another file");
    }
  }
}

}  // namespace

void sample_files(const WorkloadArguments& a, const Console& console) {
  const model::SampleRequest& request = a.sample.request;
  check_outputs(a);
  std::vector<model::WorkloadGraph> given, sampled;
  std::vector<model::GraphMeasures> of_given, of_sampled;
  for (const std::string& path : a.sample.like) given.push_back(open_given(path));
  const model::SampleModel model = model::fit_sample(given);
  for (const model::WorkloadGraph& graph : given) of_given.push_back(model::measure_graph(graph));
  for (std::uint32_t i = 0; i < request.count; ++i) {
    sampled.push_back(model::draw_sample(model, request, i));
    of_sampled.push_back(model::measure_graph(sampled.back()));
  }
  const FidelityReport report{.given = given.size(), .sampled = sampled.size(),
                              .seed = request.seed,
                              .rows = model::fidelity(of_given, of_sampled, request.seed)};
  for (std::uint32_t i = 0; i < request.count; ++i) {
    const std::string path = path_of(a.output, request.count, i);
    const std::uint64_t bytes = sampled[i].write(path);
    if (a.json) continue;
    console.out << fmt::format("{}: {} devices, {} programs, {} nodes each, {}\n", one_line(path),
                               core::format_grouped(sampled[i].device_count()),
                               sampled[i].program_count(),
                               core::format_grouped(sampled[i].program(0).node_count()),
                               core::format_bytes(bytes));
  }
  if (!a.sample.report.empty()) core::write_file(a.sample.report, printed(fidelity_json(report)));
  console.out << (a.json ? printed(fidelity_json(report)) : fidelity_text(report)) << std::flush;
}

}  // namespace exawarp::io
