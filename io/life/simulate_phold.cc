#include <fmt/format.h>

#include "core/error.h"
#include "io/life/checkpointing.h"
#include "io/life/prepared.h"
#include "io/life/simulate.h"
#include "io/study/numbers.h"

namespace exawarp::io {
namespace {

Placed place(std::uint32_t lps, partition::PlacementRequest request) {
  request.atom_shift =
      pdes::phold_atom_shift(lps, request.partitions_per_rank * request.ranks);
  request.atoms = ((lps - 1) >> request.atom_shift) + 1;
  return Placed{partition::place_in_blocks(request)};
}

}  // namespace

Settings settings_of(const PholdRun& run) {
  const pdes::PholdOptions& p = run.phold;
  return {{"lps", std::to_string(p.lps)},
          {"start_events", std::to_string(p.start_events)},
          {"remote", fmt::format("{}", p.remote)},
          {"end_ps", std::to_string(run.end.ps)},
          {"seed", std::to_string(p.seed)}};
}

PholdRun phold_run_of(const Checkpoint& checkpoint) {
  const auto of = [&]<class T>(const char* name, T) {
    const auto value = number_from<T>(checkpoint.argument(name));
    if (!value) throw core::InputError(checkpoint.path(), std::string("has no number: ") + name);
    return *value;
  };
  return {.phold = {.lps = of("lps", std::uint32_t{}),
                    .start_events = of("start_events", std::uint32_t{}),
                    .remote = of("remote", double{}),
                    .seed = of("seed", std::uint64_t{})},
          .end = core::Time{of("end_ps", std::int64_t{})}};
}

PholdReport simulate(const PholdRun& run, const RunOptions& options, pdes::Transport& transport) {
  const TimeLimit limit(options.time_limit_s.value_or(0), options.started);
  const Placeable what{.atoms = run.phold.lps,
                       .place = [&](const partition::PlacementRequest& request) {
                         return place(run.phold.lps, request);
                       }};
  Prepared p = prepare(what, with_options(pdes::EngineOptions{.end = run.end}, options),
                       options.partitions.value_or(0), options, transport);
  p.engine.time_limit_s = limit.left_s();
  pdes::PholdOptions phold = run.phold;
  phold.seed = p.engine.seed;
  const std::unique_ptr<pdes::Model> model = pdes::make_phold(phold);
  pdes::Engine engine(*model, p.placement, p.engine, transport);
  PholdReport report;
  PholdRun what_runs = run;
  what_runs.phold = phold;
  const Settings given = settings_of(what_runs);
  const CheckpointFacts facts{
      .command = "phold", .study = {}, .arguments = given, .identity = given};
  Checkpointing checkpoints(options, facts, {}, engine, transport);
  report.result = engine.run(options.progress, checkpoints.plan());
  checkpoints.describe(report);
  if (report.result.stopped) report.status = RunStatus::stopped;
  set_facts(report, p.engine, options.time_limit_s.value_or(0), transport);
  return report;
}

}  // namespace exawarp::io
