#include "io/life/checkpointing.h"

#include <utility>

#include "io/life/agreement.h"

namespace exawarp::io {
namespace {

// What the checkpoint has to be of, which knows nothing of the changes of a fork's study.
Settings identity_of_past(const RunOptions& options, Settings identity) {
  if (!options.forks) return identity;
  for (Setting& one : identity) {
    if (one.key == "study") one.value = options.restart->argument(one.key);
  }
  return identity;
}

}  // namespace

Checkpointing::Checkpointing(const RunOptions& options, CheckpointFacts facts,
                             std::vector<NamedSink> sinks, pdes::Engine& engine,
                             pdes::Transport& transport)
    : options_(options) {
  if (const Checkpoint* from = options.restart) {
    agree(transport, [&] {
      from->require(identity_of_past(options, facts.identity));
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
