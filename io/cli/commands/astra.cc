#include "io/cli/commands/astra.h"

#include <fmt/format.h>

#include <optional>
#include <ostream>
#include <string>

#include "core/digest.h"
#include "core/output_file.h"
#include "io/formats/astra/convert.h"
#include "io/formats/chakra/import.h"
#include "io/life/agreement.h"
#include "io/life/simulate.h"
#include "io/report/result_files.h"
#include "io/study/suggest.h"
#include "model/workload/validate.h"

namespace exawarp::io {

namespace {

// What tells one set-up from another.
ResolvedYaml described(const AstraSetUp& s) {
  std::string text = fmt::format("network-backend: {}\n",
                                 s.congestion_aware ? "congestion-aware" : "congestion-unaware");
  const auto add = [&](const char* key, const std::string& value) {
    text += fmt::format("{}: {}\n", key, in_quotes(value));
  };
  add("workload-configuration", s.workload);
  add("system-configuration", s.system);
  add("network-configuration", s.network);
  add("remote-memory-configuration", s.memory);
  add("comm-group-configuration", s.comm_groups);
  text += fmt::format("num-queues-per-dim: {}\ninjection-scale: {}\nrendezvous-protocol: {}\n",
                      s.queues_per_dimension, s.injection_scale, s.rendezvous);
  core::Hasher hash;
  hash.bytes(text.data(), text.size());
  return {text, core::to_hex({hash.value()})};
}

void open_results(const AstraArguments& a, const ResolvedYaml& set_up, const RunOptions& options,
                  std::optional<ResultFiles>& files) {
  ResultFiles::Paths paths;
  paths.directory = a.out_directory;
  paths.replace = a.force;
  files.emplace(paths, set_up);
  if (files->directory() == a.out_directory) return;
  options.notify(a.out_directory + ": holds the results of another set-up; these go to " +
                 files->directory() + " (--force replaces)");
}

void publish(const AstraReport& report, const AstraArguments& a, const ResolvedYaml& set_up,
             std::optional<ResultFiles>& files, const Console& console) {
  const std::string json = a.json || files ? astra_json(report) : std::string();
  write_and_print([&] { if (files) files->write(set_up, report.lines, json); },
                  [&] { console.out << (a.json ? json : report.lines) << std::flush; });
}

// On rank 0.
void convert(const AstraArguments& a, const Console& console) {
  Warnings warnings;
  const model::astra::Job job = read_astra_job(a.set_up, [](const char*) {}, warnings);
  const AstraConversion converted = convert_astra(a.set_up, job);
  const bool groups = a.set_up.comm_groups.find("empty") == std::string::npos;
  ChakraImportReport report;
  model::WorkloadGraph graph =
      import_chakra(a.set_up.workload,
                    {.comm_groups = groups ? a.set_up.comm_groups : std::string()}, report);
  model::validate(graph);
  prepare_directory(a.converted);
  graph.write(a.converted + "/workload.xwg");
  core::OutputFiles files;
  for (const ConvertedFile& file : converted.files) {
    files.add(a.converted + "/" + file.name, file.text);
  }
  files.commit();
  for (const std::string& line : converted.notes) console.err << line + "\n" << std::flush;
  console.out << one_line(a.converted) + "/study.yaml\n" << std::flush;
}

}  // namespace

int run_astra(const AstraArguments& a, const Console& console, pdes::Transport& transport) {
  if (a.action == AstraArguments::Action::convert) {
    agree(transport, [&] {
      if (transport.rank().value == 0) convert(a, console);
    });
    return kDone;
  }
  const RunOptions options = with_console(a.options, console);
  const bool first_rank = transport.rank().value == 0;
  std::optional<ResultFiles> files;
  const ResolvedYaml set_up = described(a.set_up);
  agree(transport, [&] {
    if (first_rank && !a.out_directory.empty()) open_results(a, set_up, options, files);
  });
  const AstraReport report = simulate(a.set_up, options, transport);
  if (first_rank) publish(report, a, set_up, files, console);
  if (report.status == RunStatus::deadlocked) console.err << deadlock_text(report) << std::flush;
  if (report.status == RunStatus::stopped) {
    const std::string reached = fmt::format("at {} ns: {} of {} ranks finished", report.result.end,
                                            report.result.finished, report.npus);
    Ran ran;
    ran.time_limit_s = report.time_limit_s;
    console.err << stopped_text(ran, a.set_up.system, reached) << std::flush;
  }
  return exit_code_of(report.status);
}

}  // namespace exawarp::io
