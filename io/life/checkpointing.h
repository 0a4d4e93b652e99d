// What one run of an engine has to do with checkpoints: going on from one, and writing them. As
// long as it lives, signals ask for an end, which is one of the moments of a checkpoint.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/stop_signal.h"
#include "io/life/checkpoint.h"
#include "io/life/simulate.h"
#include "pdes/engine.h"

namespace exawarp::io {

class Checkpointing {
 public:
  // Restores the engine and the sinks where the options say so. `facts` without those that a
  // restart takes from its checkpoint. All arguments outlive it. Throws as Checkpoint and
  // CheckpointWriter do. Collective.
  Checkpointing(const RunOptions& options, CheckpointFacts facts, std::vector<NamedSink> sinks,
                pdes::Engine& engine, pdes::Transport& transport);

  // For Engine::run().
  [[nodiscard]] pdes::CutPlan plan();
  // What of this belongs into a report.
  void describe(Ran& report) const;

 private:
  const RunOptions& options_;
  core::StopOnSignals stop_;
  std::optional<CheckpointWriter> writer_;
};

}  // namespace exawarp::io
