#include "io/life/checkpointing.h"

#include <utility>

#include "io/life/agreement.h"

namespace exawarp::io {

Checkpointing::Checkpointing(const RunOptions& options, CheckpointFacts facts,
                             std::vector<NamedSink> sinks, pdes::Engine& engine,
                             pdes::Transport& transport)
    : options_(options) {
  if (const Checkpoint* from = options.restart) {
    agree(transport, [&] {
      from->require(facts.identity);
      from->restore(engine, sinks, transport.rank(), transport.ranks());
    });
  }
  if (options.checkpoints.directory.empty()) return;
  writer_.emplace(options.checkpoints.directory, std::move(facts), std::move(sinks), transport);
}

pdes::CutPlan Checkpointing::plan() {
  if (!writer_) return {};
  const CheckpointOptions& asked = options_.checkpoints;
  return {.every_s = asked.every > core::Time{0} ? 0 : asked.every_s,
          .every = asked.every,
          .take = [this](pdes::RankCut&& cut) { writer_->write(std::move(cut)); }};
}

void Checkpointing::describe(Ran& report) const {
  if (options_.restart != nullptr) report.restarted_from = options_.restart->path();
  if (!writer_) return;
  report.checkpoint = writer_->newest();
  report.checkpoint_bytes = writer_->bytes();
}

}  // namespace exawarp::io
