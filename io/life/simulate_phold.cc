#include "io/life/prepared.h"
#include "io/life/simulate.h"

namespace exawarp::io {
namespace {

Placed place(std::uint32_t lps, partition::PlacementRequest request) {
  request.atom_shift =
      pdes::phold_atom_shift(lps, request.partitions_per_rank * request.ranks);
  request.atoms = ((lps - 1) >> request.atom_shift) + 1;
  return Placed{partition::place_in_blocks(request)};
}

}  // namespace

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
  report.result = engine.run(options.progress);
  if (report.result.stopped) report.status = RunStatus::stopped;
  set_facts(report, p.engine, options.time_limit_s.value_or(0), transport);
  return report;
}

}  // namespace exawarp::io
