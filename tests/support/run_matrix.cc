#include "tests/support/run_matrix.h"

#include <fmt/core.h>

#include <thread>

#include "partition/block.h"
#include "pdes/transport_in_process.h"

namespace exawarp::tests {
namespace {

const char* name_of(pdes::Sync sync) {
  switch (sync) {
    case pdes::Sync::sequential: return "sequential";
    case pdes::Sync::conservative: return "conservative";
    case pdes::Sync::optimistic: return "optimistic";
  }
  return "?";
}

pdes::RunResult run_rank(const MatrixModel& model, const RunCase& run, pdes::Transport& transport,
                         pdes::EmissionSink* sink) {
  const pdes::EngineOptions options{.sync = run.sync,
                                    .threads = run.threads,
                                    .seed = model.seed,
                                    .end = model.end,
                                    .memory_budget_bytes = run.memory_budget_bytes,
                                    .window = run.window,
                                    .audit_probability = run.audit_probability,
                                    .rebuild_events = run.rebuild_events,
                                    .sample_interval_s = run.sample_interval_s};
  pdes::Engine engine(*model.model, model.placer(run.ranks, run.partitions_per_rank), options,
                      transport, sink);
  return engine.run();
}

}  // namespace

std::string RunCase::text() const {
  return fmt::format(
      "{} ranks={} threads={} partitions={} window={}ps chaos={} audit={} rebuild={} budget={}",
      name_of(sync), ranks, threads, partitions_per_rank, window.ps, chaos_seed, audit_probability,
      rebuild_events, memory_budget_bytes);
}

Placer blocks_of(std::uint32_t lps, std::uint32_t atom_shift) {
  return [=](std::uint32_t ranks, std::uint32_t per_rank) {
    return partition::place_in_blocks({.atoms = ((lps - 1) >> atom_shift) + 1,
                                       .atom_shift = atom_shift,
                                       .ranks = ranks,
                                       .partitions_per_rank = per_rank});
  };
}

pdes::RunResult run_case(const MatrixModel& model, const RunCase& run, pdes::EmissionSink* sink) {
  if (run.ranks == 1) {
    const auto transport = pdes::make_single_transport();
    return run_rank(model, run, *transport, sink);
  }
  pdes::InProcessHub hub(run.ranks, run.chaos_seed);
  std::vector<pdes::RunResult> results(run.ranks);
  {
    std::vector<std::jthread> ranks;
    for (std::uint32_t r = 0; r < run.ranks; ++r) {
      ranks.emplace_back([&, r] {
        const auto transport = hub.endpoint({r});
        results[r] = run_rank(model, run, *transport, sink);
      });
    }
  }
  return results[0];
}

std::vector<RunCase> differential_cases(core::Time tiny) {
  using pdes::Sync;
  std::vector<RunCase> cases;
  for (const Sync sync : {Sync::conservative, Sync::optimistic})
    for (const std::uint32_t ranks : {1u, 2u, 4u})
      for (const std::uint32_t threads : {1u, 2u, 4u})
        cases.push_back({.sync = sync,
                         .ranks = ranks,
                         .threads = threads,
                         .partitions_per_rank = threads == 1 ? 1 : 2 * threads - 1});
  for (const std::uint32_t ranks : {1u, 2u, 4u}) {
    const std::uint64_t chaos = ranks == 1 ? 0 : 17 + ranks;
    cases.push_back({.sync = Sync::optimistic,
                     .ranks = ranks,
                     .threads = 2,
                     .partitions_per_rank = 4,
                     .window = tiny,
                     .chaos_seed = chaos});
    cases.push_back({.sync = Sync::optimistic,
                     .ranks = ranks,
                     .threads = 2,
                     .partitions_per_rank = 3,
                     .window = 1000 * tiny,
                     .chaos_seed = chaos});
  }
  return cases;
}

RunCase audited_case(core::Time window, double share) {
  return {.sync = pdes::Sync::optimistic,
          .ranks = 2,
          .threads = 2,
          .partitions_per_rank = 3,
          .window = window,
          .audit_probability = share};
}

}  // namespace exawarp::tests
