#include "io/cli/commands/phold.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <memory>
#include <ostream>

#include "core/error.h"
#include "io/cli/progress.h"
#include "io/life/agreement.h"
#include "io/life/workers.h"
#include "io/report/results.h"
#include "io/report/stats_file.h"
#include "io/report/text_summary.h"
#include "partition/block.h"
#include "pdes/phold.h"

namespace exawarp::io {
namespace {

constexpr double kUnit_ps = 1'000'000;  // of --end: PHOLD's mean delay

struct Prepared {
  std::unique_ptr<pdes::Model> model;
  pdes::EngineOptions engine;
  core::Placement placement;
  std::unique_ptr<core::OutputFile> stats;  // on rank 0, where asked for
};

Prepared prepare(const PholdArguments& a, const Workers& workers,
                 const pdes::Transport& transport) {
  const double end_ps = a.end * kUnit_ps;
  if (!(end_ps <= static_cast<double>(core::kEndOfTime.ps))) {
    throw core::InputError(
        "--end", fmt::format("\"{:g}\" is later than {}; expected at most {:g}", a.end,
                             core::kEndOfTimeText,
                             static_cast<double>(core::kEndOfTime.ps) / kUnit_ps));
  }
  const core::Time end{std::llround(end_ps)};
  const std::uint32_t partitions = workers.partitions_per_rank * transport.ranks();
  const std::uint32_t shift = pdes::phold_atom_shift(a.lps, partitions);
  const std::uint32_t atoms = ((a.lps - 1) >> shift) + 1;
  Prepared p{.model = pdes::make_phold({.lps = a.lps,
                                     .start_events = a.start_events,
                                     .remote = a.remote,
                                     .seed = a.seed}),
          .engine = {.sync = a.sync,
                     .threads = workers.threads,
                     .seed = a.seed,
                     .end = end,
                     .window = a.window,
                     .audit_probability = a.audit},
          .placement = partition::place_in_blocks(
              {.atoms = atoms,
               .atom_shift = shift,
               .ranks = transport.ranks(),
               .partitions_per_rank = workers.partitions_per_rank}),
          .stats = nullptr};
  if (a.stats.path.empty()) return p;
  p.engine.sample_interval_s = a.stats.interval_s;
  if (transport.rank().value == 0) p.stats = open_table(a.stats.path);
  return p;
}

}  // namespace

int run_phold(const PholdArguments& a, const Console& console, pdes::Transport& transport) {
  const Workers workers = choose_workers({.sync = a.sync,
                                          .threads = a.threads,
                                          .partitions_per_rank = a.partitions.value_or(0),
                                          .atoms = a.lps},
                                         console, transport);
  Prepared p;
  agree(transport, [&] { p = prepare(a, workers, transport); });
  pdes::Engine engine(*p.model, p.placement, p.engine, transport);
  const pdes::RunResult result = engine.run();
  std::array<std::uint64_t, 1> memory{peak_rss_bytes()};
  transport.all_reduce_sum(memory);
  agree(transport, [&] {
    if (transport.rank().value != 0) return;
    const PholdReport report{.result = &result,
                             .sync = a.sync,
                             .ranks = transport.ranks(),
                             .peak_rss_bytes = memory[0]};
    const auto write = [&] {
      if (p.stats) write_stats(result.series, *p.stats);
    };
    write_and_print(write, [&] {
      console.out << (a.json ? phold_json(report) : phold_text(report)) << std::flush;
    });
  });
  return kDone;
}

}  // namespace exawarp::io
