// A simulation reads its study and its graph from files. Both are temporary: they are gone however
// the program ends.
#include "io/life/extrapolation.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include "core/digest.h"
#include "core/error.h"
#include "core/output_file.h"
#include "core/temporary_files.h"
#include "io/study/study.h"
#include "model/workload/validate.h"
#include "pdes/transport.h"

namespace exawarp::io {
namespace {

class TemporaryPath {
 public:
  TemporaryPath() {
    const std::string folder = std::filesystem::temp_directory_path().string();
    const core::TemporaryFile file = core::create_temporary(folder, folder);
    close(file.descriptor);
    path_ = file.path;
  }
  ~TemporaryPath() { core::remove_temporary(path_); }
  TemporaryPath(const TemporaryPath&) = delete;
  TemporaryPath& operator=(const TemporaryPath&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// In single quotes of YAML.
std::string quoted_path(const std::string& path) {
  std::string out = "'";
  for (const char c : std::filesystem::absolute(path).string()) {
    out += c;
    if (c == '\'') out += c;  // doubled
  }
  return out + "'";
}

Study study_of(const ExtrapolationCluster& cluster, const std::string& graph) {
  const TemporaryPath file;
  core::write_file(file.path(), fmt::format("study: extrapolated\n"
                                            "workload: recorded.xwg\n"
                                            "system: {}\n"
                                            "compute: {{fidelity: recorded}}\n",
                                            quoted_path(cluster.system)));
  Study study = read_study(file.path(), cluster.overrides);
  study.jobs.front().workload = graph;
  return study;
}

// Seconds of computation, of a device on average.
double computing_s(const model::WorkloadGraph& graph) {
  std::vector<double> of_program(graph.program_count());
  for (std::uint32_t p = 0; p < of_program.size(); ++p) {
    const model::Program program = graph.program(p);
    for (std::uint32_t n = 0; n < program.node_count(); ++n) {
      const auto node = program.node(n);
      if (node.getKind() != model::schema::NodeKind::COMPUTE) continue;
      of_program[p] += static_cast<double>(node.getDurationPs()) * 1e-12;
    }
  }
  double sum = 0;
  for (std::uint32_t d = 0; d < graph.device_count(); ++d) {
    sum += of_program[graph.program_of(model::DeviceId{d})];
  }
  return sum / graph.device_count();
}

std::uint64_t samples_of(bool is_data_parallel, std::uint32_t devices, std::uint32_t batch) {
  return std::uint64_t{is_data_parallel ? devices : 1} * batch;
}

}  // namespace

model::WorkloadGraph extrapolated_graph(const model::RecordedStep& step,
                                        const model::Extrapolation& to, const std::string& trace) {
  const std::string refusal = refusal_of(step, to);
  if (!refusal.empty()) throw core::InputError(trace, refusal);
  model::WorkloadGraph graph =
      model::extrapolated(step, to, std::filesystem::path(trace).stem().string());
  model::validate(graph);
  return graph;
}

ExtrapolatedPoint simulate_extrapolated(const model::RecordedStep& step,
                                        const model::Extrapolation& to, const std::string& trace,
                                        const ExtrapolationCluster& cluster,
                                        const RunOptions& options) {
  const model::WorkloadGraph graph = extrapolated_graph(step, to, trace);
  const TemporaryPath file;
  graph.write(file.path());
  const Study study = study_of(cluster, file.path());
  const auto transport = pdes::make_single_transport();
  const RunReport report = simulate(study, options, *transport);
  if (report.status != RunStatus::finished) {
    throw core::InputError(trace, "comes to no end on this cluster");
  }
  const bool data = to.layout == model::ExtrapolatedLayout::data_parallel;
  return {.layout = std::string(core::name_of(to.layout)),
          .devices = to.devices,
          .samples = samples_of(data, to.devices, to.batch),
          .step_s = core::to_seconds(report.outcome->iteration_time()),
          .recorded_s = computing_s(graph),
          .digest = core::to_hex(report.result.digest)};
}

ExtrapolatedPoint by_triosim_rules(const model::RecordedStep& step,
                                   const model::triosim::Rules& rules, const std::string& trace) {
  using model::triosim::Case;
  const std::string refusal = refusal_of(step, rules);
  if (!refusal.empty()) throw core::InputError(trace, refusal);
  const std::optional<double> step_s = step_time_s(step, rules);
  if (!step_s) throw core::InputError(trace, "comes to no end by these rules");
  const bool data = rules.which == Case::data_parallel || rules.which == Case::ddp;
  return {.layout = std::string(core::name_of(rules.which)),
          .devices = rules.devices,
          .samples = samples_of(data, rules.devices, rules.batch),
          .step_s = *step_s,
          .recorded_s = recorded_time_s(step, rules),
          .digest = ""};
}

}  // namespace exawarp::io
