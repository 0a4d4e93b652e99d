#include <filesystem>
#include <system_error>

#include "io/formats/goal/text_reader.h"
#include "io/life/agreement.h"
#include "io/life/prepared.h"
#include "io/life/simulate.h"

namespace exawarp::io {
namespace {

using model::goal::LogGops;
using model::goal::Schedule;

// What all ranks must have in common: what the schedule holds, where it can be read twice.
Settings settings_of(const std::string& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return {};
  return {content_of(file, file)};
}

void load(const GoalRun& run, const TimeLimit& limit, GoalReport& report) {
  report.schedule = std::make_unique<const Schedule>(open_goal(run.file));
  limit.check(run.file, "when the schedule was read");
  report.model = std::make_unique<const LogGops>(*report.schedule, run.parameters);
  limit.check(run.file, "when the schedule was checked");
}

RunStatus status_of(const GoalReport& report) {
  if (report.result.stopped) return RunStatus::stopped;
  return report.outcome->is_complete() ? RunStatus::finished : RunStatus::deadlocked;
}

}  // namespace

GoalReport simulate(const GoalRun& run, const RunOptions& options, pdes::Transport& transport) {
  const TimeLimit limit(options.time_limit_s.value_or(0), options.started);
  GoalReport report;
  Settings settings;
  agree(transport, [&] {
    load(run, limit, report);
    if (transport.ranks() > 1) settings = settings_of(run.file);
  });
  require_same(transport, settings);
  const Placeable what{.atoms = report.schedule->ranks(),
                       .place = [](const partition::PlacementRequest& request) {
                         return Placed{partition::place_in_blocks(request)};
                       }};
  Prepared p = prepare(what, with_options(pdes::EngineOptions{}, options),
                       options.partitions.value_or(0), options, transport);
  p.engine.time_limit_s = limit.left_s();
  pdes::Engine engine(*report.model, p.placement, p.engine, transport);
  report.result = engine.run(options.progress);
  report.outcome.emplace(*report.model);
  engine.visit([&](core::LpId lp, const void* state) {
    report.outcome->add(lp, *static_cast<const model::goal::Host::State*>(state));
  });
  report.outcome->combine(transport);
  report.status = status_of(report);
  set_facts(report, p.engine, options.time_limit_s.value_or(0), transport);
  return report;
}

}  // namespace exawarp::io
