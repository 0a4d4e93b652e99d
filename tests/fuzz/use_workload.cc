// Reads everything that a workload graph can be asked for, as simulation, inspection and export do.
#include "tests/fuzz/use_workload.h"

#include <unistd.h>

#include <filesystem>
#include <string>

#include "core/check.h"
#include "core/error.h"
#include "io/formats/chakra/export.h"
#include "io/formats/chakra/import.h"
#include "io/formats/chakra/json_trace.h"
#include "io/report/critical_path.h"
#include "io/report/workload_drawing.h"
#include "io/report/workload_facts.h"
#include "io/report/workload_timeline.h"
#include "model/workload/diff.h"
#include "model/workload/validate.h"
#include "tests/fuzz/read_workload.h"
#include "tests/fuzz/seeds.h"

namespace exawarp::fuzz {
namespace {

constexpr std::uint32_t kDevicesMax = 4'096;  // beyond, reading takes seconds
constexpr std::uint32_t kExportedDevicesMax = 16;
constexpr std::uint64_t kExportedNodesMax = 4'000;

std::uint64_t node_count(const model::WorkloadGraph& graph) {
  std::uint64_t nodes = 0;
  for (std::uint32_t p = 0; p < graph.program_count(); ++p) {
    nodes += graph.program(p).node_count();
  }
  return nodes;
}

// A folder of this process, empty, and removed at the end.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("exawarp_fuzz_" + std::to_string(getpid()) + "_export")) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directory(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string path(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

void inspect_and_time(const model::WorkloadGraph& graph) {
  static const io::SystemConfig system = small_system();
  const model::WorkloadFacts facts = model::inspect(graph);
  for (const model::Accelerator* accelerator : {static_cast<const model::Accelerator*>(nullptr),
                                                &system.accelerator}) {
    const io::TimedWorkload timed = io::timed(graph, accelerator);
    EXAWARP_CHECK(!io::facts_text(facts, io::critical_path_text(graph, timed)).empty());
    EXAWARP_CHECK(!io::facts_json(facts, io::critical_path_json(graph, timed)).empty());
    if (!timed.schedule || !timed.schedule->finishes) continue;
    for (const io::TimelineForm form :
         {io::TimelineForm::text, io::TimelineForm::svg, io::TimelineForm::chrome}) {
      EXAWARP_CHECK(!io::timeline(graph, timed, graph.device_count() - 1, form).empty());
    }
  }
}

// What was exported may be refused, as names that are no UTF-8 are, but ends no process.
template <class Work>
void may_refuse(const Work& work) {
  try {
    work();
  } catch (const core::InputError&) {
  }
}

void write_traces(const model::WorkloadGraph& graph) {
  const Folder folder;
  may_refuse([&] { io::export_json(graph, folder.path("j")); });
  io::export_chakra(graph, folder.path("c"));
  may_refuse([&] { io::convert_trace(folder.path("c.0.et"), folder.path("d.0.json")); });
  may_refuse([&] {
    io::ChakraImportReport report;
    model::WorkloadGraph again = io::import_chakra(folder.path("c"), {}, report);
    model::validate(again);
    static_cast<void>(model::differences(graph, again));
  });
}

}  // namespace

void use_workload(const model::WorkloadGraph& graph) {
  if (graph.device_count() > kDevicesMax) return;
  read_workload(graph);
  inspect_and_time(graph);
  EXAWARP_CHECK(!io::workload_dot(graph, {}).empty());
  EXAWARP_CHECK(!io::workload_graphml(graph, graph.device_count() - 1).empty());
  EXAWARP_CHECK(model::differences(graph, graph).empty());
  if (graph.device_count() > kExportedDevicesMax || node_count(graph) > kExportedNodesMax) return;
  write_traces(graph);
}

}  // namespace exawarp::fuzz
