#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "io/formats/goal/text_reader.h"
#include "core/error.h"
#include "io/life/agreement.h"
#include "io/life/checkpointing.h"
#include "io/life/prepared.h"
#include "io/life/simulate.h"
#include "io/study/numbers.h"

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

CheckpointFacts facts_of(const GoalRun& run) {
  const Settings given = settings_of(run);
  CheckpointFacts facts{.command = "goal", .study = {}, .arguments = given, .identity = {}};
  facts.identity.assign(given.begin() + 1, given.end());  // wherever the file lies
  for (const Setting& setting : settings_of(run.file)) {
    facts.identity.push_back({"schedule", setting.value});
  }
  return facts;
}

// In the engine's time (docs/decisions/0012-goal-ticks.md), whole units of the schedule.
core::Time ticks_of(core::Time every, const LogGops& model) {
  constexpr double kPsPerNs = 1'000;
  const double units = static_cast<double>(every.ps) / kPsPerNs * model.parameters().units_per_ns;
  const double ticks = std::max(1.0, std::floor(units)) * static_cast<double>(model.steps());
  if (every == core::Time{0}) return every;
  return ticks < static_cast<double>(core::kEndOfTime.ps)
             ? core::Time{static_cast<std::int64_t>(ticks)}
             : core::kEndOfTime;
}

RunStatus status_of(const GoalReport& report) {
  if (report.result.stopped) return RunStatus::stopped;
  return report.outcome->is_complete() ? RunStatus::finished : RunStatus::deadlocked;
}

}  // namespace

Settings settings_of(const GoalRun& run) {
  const model::goal::Parameters& p = run.parameters;
  std::error_code ignored;
  return {{"file", std::filesystem::absolute(run.file, ignored).string()},
          {"L", std::to_string(p.L)},
          {"o", std::to_string(p.o)},
          {"g", std::to_string(p.g)},
          {"G", std::to_string(p.G)},
          {"O", std::to_string(p.O)},
          {"S", std::to_string(p.S)},
          {"units_per_ns", std::to_string(p.units_per_ns)},
          {"as_loggopsim", p.as_loggopsim ? "1" : "0"}};
}

GoalRun goal_run_of(const Checkpoint& checkpoint) {
  const auto number = [&](const char* name) {
    const auto value = number_from<std::int64_t>(checkpoint.argument(name));
    if (!value) throw core::InputError(checkpoint.path(), std::string("has no number: ") + name);
    return *value;
  };
  return {.file = checkpoint.argument("file"),
          .parameters = {.L = number("L"),
                         .o = number("o"),
                         .g = number("g"),
                         .G = number("G"),
                         .O = number("O"),
                         .S = static_cast<std::uint64_t>(number("S")),
                         .units_per_ns = static_cast<std::uint32_t>(number("units_per_ns")),
                         .as_loggopsim = number("as_loggopsim") != 0}};
}

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
  RunOptions in_ticks = options;
  in_ticks.checkpoints.every = ticks_of(options.checkpoints.every, *report.model);
  Checkpointing checkpoints(in_ticks, facts_of(run), {}, engine, transport);
  report.result = engine.run(options.progress, checkpoints.plan());
  checkpoints.describe(report);
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
