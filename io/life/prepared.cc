#include "io/life/prepared.h"

#include <array>

#include "core/check.h"
#include "core/stop_signal.h"
#include "io/life/agreement.h"
#include "io/life/workers.h"

namespace exawarp::io {

pdes::EngineOptions with_options(pdes::EngineOptions engine, const RunOptions& options) {
  if (options.sync) engine.sync = *options.sync;
  if (options.seed) engine.seed = *options.seed;
  if (options.audit) engine.audit_probability = *options.audit;
  if (options.window) engine.window = *options.window;
  if (options.time_limit_s) engine.time_limit_s = *options.time_limit_s;
  engine.sample_interval_s = options.sample_interval_s;
  engine.stop_asked = core::stop_asked;
  engine.rehearsal = options.rehearsal;
  return engine;
}

namespace {

std::uint32_t rehearsed_ranks(const RunOptions& options) {
  return options.rehearsal == nullptr ? 0 : options.rehearsal->ranks();
}

bool leaves_mode_open(const pdes::EngineOptions& engine, const RunOptions& options) {
  return !options.sync && !options.threads && options.rehearsal == nullptr &&
         engine.sync == pdes::Sync::optimistic && engine.audit_probability == 0 &&
         engine.window.ps == 0;
}

// The partitions stay as they are.
void bring_to_one_rank(core::Placement& placement) {
  placement.partitions_per_rank = placement.partitions();
  placement.ranks = 1;
}

}  // namespace

Prepared prepare(const Placeable& what, const pdes::EngineOptions& engine,
                 std::uint32_t partitions_per_rank, const RunOptions& options,
                 pdes::Transport& transport) {
  Prepared out;
  out.engine = engine;
  if (!what.threads_pay && transport.ranks() == 1 && partitions_per_rank == 0 &&
      leaves_mode_open(engine, options)) {
    out.engine.sync = pdes::Sync::sequential;
  }
  const Workers workers = choose_workers({.sync = out.engine.sync,
                                          .threads = options.threads,
                                          .partitions_per_rank = partitions_per_rank,
                                          .partitions_per_thread = what.partitions_per_thread,
                                          .atoms = what.atoms,
                                          .rehearsed_ranks = rehearsed_ranks(options)},
                                         options.notify, transport);
  const bool rehearses = options.rehearsal != nullptr;
  const std::uint32_t ranks = rehearses ? rehearsed_ranks(options) : transport.ranks();
  out.engine.threads = rehearses ? options.rehearsal_threads : workers.threads;
  agree(transport, [&] {
    Placed placed = what.place({.atoms = what.atoms,
                                .ranks = ranks,
                                .partitions_per_rank = workers.partitions_per_rank});
    out.placement = std::move(placed.placement);
    EXAWARP_CHECK(out.placement.partitions() == ranks * workers.partitions_per_rank,
                  out.placement.partitions(), workers.partitions_per_rank);
    if (rehearses) bring_to_one_rank(out.placement);
    if (options.ready) options.ready(placed.events_expected);
  });
  return out;
}

void set_facts(Ran& report, const pdes::EngineOptions& engine, double time_limit_s,
               pdes::Transport& transport) {
  std::array<std::uint64_t, 1> memory{peak_rss_bytes()};
  transport.all_reduce_sum(memory);
  std::array<std::uint64_t, 1> signal{static_cast<std::uint64_t>(core::stop_signal())};
  transport.all_reduce_max(signal);
  report.stop_signal = static_cast<int>(signal[0]);
  report.sync = engine.sync;
  report.ranks = transport.ranks();
  report.peak_rss_bytes = memory[0];
  report.time_limit_s = time_limit_s;
  report.message_library = transport.library();
}

}  // namespace exawarp::io
