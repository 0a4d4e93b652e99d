// A case becomes an engine's options and one thread for each rank over an in-process transport.
#include "tests/support/run_matrix.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <mutex>
#include <optional>
#include <thread>

#include "core/random.h"
#include "partition/block.h"
#include "pdes/transport_in_process.h"

namespace exawarp::tests {
namespace {

// What ranks keep of their cuts, by cut.
class CutKeeper {
 public:
  explicit CutKeeper(std::vector<WholeCut>* cuts) : cuts_(cuts) {}

  // `number` counts the cuts of a rank.
  void keep(std::uint64_t number, pdes::RankCut&& cut) {
    const std::optional<std::size_t> index = index_of(number);
    if (!index) return;
    const std::lock_guard lock(mutex_);
    if (cuts_->size() <= *index) cuts_->resize(*index + 1);
    WholeCut& whole = (*cuts_)[*index];
    whole.totals = cut.totals;
    std::ranges::move(cut.chunks, std::back_inserter(whole.chunks));
  }

 private:
  // The first 16 are kept, then every other one, from 32 on every fourth and so on.
  static std::optional<std::size_t> index_of(std::uint64_t number) {
    constexpr int kBits = 4;
    const int shift = std::max(0, static_cast<int>(std::bit_width(number)) - kBits);
    if (number >> shift << shift != number) return {};
    return static_cast<std::size_t>(shift) * (1u << (kBits - 1)) + (number >> shift);
  }

  std::mutex mutex_;
  std::vector<WholeCut>* cuts_;
};

pdes::RunResult run_rank(const MatrixModel& model, const RunCase& run, pdes::Transport& transport,
                         pdes::EmissionSink* sink, const Cutting& cutting, CutKeeper& keeper) {
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
  if (cutting.from != nullptr) {
    for (const pdes::CutChunk& chunk : cutting.from->chunks)
      if (engine.wants(chunk)) engine.restore(chunk.bytes);
    engine.go_on_from(cutting.from->totals);
  }
  pdes::CutPlan plan{.every_s = cutting.every_s, .every = cutting.every, .take = {}};
  std::size_t taken = 0;
  if (cutting.taken != nullptr)
    plan.take = [&](pdes::RankCut&& cut) { keeper.keep(taken++, std::move(cut)); };
  return engine.run({}, plan);
}

}  // namespace

RunCase drawn_case(Draws& draw, const DrawnCases& cases) {
  RunCase run;
  run.sync = draw.chance(4) ? pdes::Sync::conservative : pdes::Sync::optimistic;
  run.ranks = std::uint32_t{1} << draw.below(2);
  run.threads = draw.between(1, 2);
  run.partitions_per_rank = draw.between(2, 5);
  const auto longest_ps = static_cast<std::uint32_t>(cases.longest_window.ps);
  run.window = core::Time{draw.chance(3) ? 0 : std::int64_t{draw.below(longest_ps)}};
  run.audit_probability = draw.chance(2) ? cases.audit_probability : 0;
  run.rebuild_events = draw.chance(4) ? cases.rebuild_events : 0;
  return run;
}

std::string RunCase::text() const {
  return fmt::format(
      "{} ranks={} threads={} partitions={} window={}ps chaos={} audit={} rebuild={} budget={}",
      core::name_of(sync), ranks, threads, partitions_per_rank, window.ps, chaos_seed,
      audit_probability, rebuild_events, memory_budget_bytes);
}

Placer blocks_of(std::uint32_t lps, std::uint32_t atom_shift) {
  return [=](std::uint32_t ranks, std::uint32_t per_rank) {
    return partition::place_in_blocks({.atoms = ((lps - 1) >> atom_shift) + 1,
                                       .atom_shift = atom_shift,
                                       .ranks = ranks,
                                       .partitions_per_rank = per_rank});
  };
}

pdes::RunResult run_case(const MatrixModel& model, const RunCase& run, pdes::EmissionSink* sink,
                         const Cutting& cutting) {
  CutKeeper keeper(cutting.taken);
  if (run.ranks == 1) {
    const auto transport = pdes::make_single_transport();
    return run_rank(model, run, *transport, sink, cutting, keeper);
  }
  pdes::InProcessHub hub(run.ranks, run.chaos_seed);
  std::vector<pdes::RunResult> results(run.ranks);
  {
    std::vector<std::jthread> ranks;
    for (std::uint32_t r = 0; r < run.ranks; ++r) {
      ranks.emplace_back([&, r] {
        const auto transport = hub.endpoint({r});
        results[r] = run_rank(model, run, *transport, sink, cutting, keeper);
      });
    }
  }
  return results[0];
}

RunCase random_case(std::uint64_t seed) {
  std::uint64_t draws = 0;
  const auto draw = [&](std::uint64_t n) {
    return core::random_bits(core::stream_of(seed, 0xca5e), draws++) % n;
  };
  RunCase run;
  run.sync = draw(5) == 0 ? pdes::Sync::conservative : pdes::Sync::optimistic;
  run.ranks = std::uint32_t{1} << draw(3);
  run.threads = static_cast<std::uint32_t>(1 + draw(3));
  run.partitions_per_rank = static_cast<std::uint32_t>(1 + draw(6));
  run.window = draw(3) == 0 ? core::Time{0} : core::Time{static_cast<std::int64_t>(1 + draw(9999))};
  run.chaos_seed = draw(2) == 0 ? 0 : 1 + draw(1000);
  run.audit_probability = draw(3) == 0 ? 0.3 : 0;
  run.memory_budget_bytes = draw(4) == 0 ? 1 : 0;
  return run;
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
#ifdef __SANITIZE_THREAD__
  // One thread races with nobody, and more than four with nobody whom four do not meet.
  std::erase_if(cases, [](const RunCase& run) {
    const std::uint32_t threads = run.ranks * run.threads;
    return threads < 2 || threads > 4;
  });
#endif
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
