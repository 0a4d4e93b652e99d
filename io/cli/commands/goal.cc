#include "io/cli/commands/goal.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <system_error>

#include "io/cli/time_limit.h"
#include "io/formats/goal/outcome.h"
#include "io/formats/goal/report.h"
#include "io/formats/goal/text_reader.h"
#include "io/life/agreement.h"
#include "io/life/workers.h"
#include "io/report/results.h"
#include "io/study/suggest.h"
#include "partition/block.h"

namespace exawarp::io {
namespace {

using model::goal::LogGops;
using model::goal::Schedule;

struct Prepared {
  std::optional<Schedule> schedule;
  std::unique_ptr<LogGops> model;
  pdes::EngineOptions engine;
  core::Placement placement;
};

// What all ranks must have in common: what the schedule holds, where it can be read twice.
Settings settings_of(const GoalArguments& a) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(a.file, ignored)) return {};
  return {content_of(a.file, a.file)};
}

// In place: the model refers to the schedule.
void load(const GoalArguments& a, const TimeLimit& limit, Prepared& p) {
  model::goal::Parameters parameters = read_goal_parameters(a.parameters);
  parameters.as_loggopsim = a.as_loggopsim;
  p.schedule.emplace(open_goal(a.file));
  limit.check(a.file, "when the schedule was read");
  p.model = std::make_unique<LogGops>(*p.schedule, parameters);
  limit.check(a.file, "when the schedule was checked");
}

void prepare(const GoalArguments& a, const Workers& workers, const pdes::Transport& transport,
             Prepared& p) {
  p.engine = {.sync = a.sync,
              .threads = workers.threads,
              .window = a.window,
              .audit_probability = a.audit};
  p.placement = partition::place_in_blocks({.atoms = p.schedule->ranks(),
                                            .ranks = transport.ranks(),
                                            .partitions_per_rank = workers.partitions_per_rank});
}

}  // namespace

int run_goal(const GoalArguments& a, const Console& console, pdes::Transport& transport) {
  const TimeLimit limit(a.time_limit_s, console.started);
  Prepared p;
  Settings settings;
  agree(transport, [&] {
    load(a, limit, p);
    if (transport.ranks() > 1) settings = settings_of(a);
  });
  require_same(transport, settings);
  const Workers workers = choose_workers({.sync = a.sync,
                                          .threads = a.threads,
                                          .partitions_per_rank = a.partitions.value_or(0),
                                          .atoms = p.schedule->ranks()},
                                         console, transport);
  agree(transport, [&] { prepare(a, workers, transport, p); });
  p.engine.time_limit_s = limit.left_s();
  pdes::Engine engine(*p.model, p.placement, p.engine, transport);
  const pdes::RunResult result = engine.run();
  GoalOutcome outcome(*p.model);
  engine.visit([&](core::LpId lp, const void* state) {
    outcome.add(lp, *static_cast<const model::goal::Host::State*>(state));
  });
  outcome.combine(transport);
  const bool stopped = result.stopped_at_limit;
  std::array<std::uint64_t, 1> memory{peak_rss_bytes()};
  transport.all_reduce_sum(memory);
  if (transport.rank().value == 0) {
    const GoalReport report{.model = p.model.get(),
                            .outcome = &outcome,
                            .result = &result,
                            .sync = a.sync,
                            .ranks = transport.ranks(),
                            .peak_rss_bytes = memory[0]};
    console.out << (a.json ? goal_json(report) : printable(goal_text(report))) << std::flush;
    if (stopped) {
      const std::string reached = fmt::format("with {} operations to go", outcome.unfinished());
      console.err << limit.stopped_text(a.file, reached) << std::flush;
    } else if (!outcome.is_complete()) {
      console.err << printable(unmatched_text(report)) << std::flush;
    }
  }
  if (stopped) return kOutOfResources;
  return outcome.is_complete() ? kDone : kDeadlock;
}

}  // namespace exawarp::io
