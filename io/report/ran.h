// What every simulation says of itself, whatever it simulated.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/names.h"
#include "pdes/engine.h"

namespace exawarp::io {

// deadlocked: work is left that can never be done; stopped: host time ran out, or a signal asked.
enum class RunStatus { finished, deadlocked, stopped };

inline constexpr core::Named<RunStatus> kRunStatusNames[] = {
    {"finished", RunStatus::finished}, {"deadlocked", RunStatus::deadlocked},
    {"stopped", RunStatus::stopped}};
constexpr std::span<const core::Named<RunStatus>> names_of(RunStatus) { return kRunStatusNames; }
static_assert(core::names_each(kRunStatusNames));

struct Ran {
  RunStatus status = RunStatus::finished;
  pdes::RunResult result;
  pdes::Sync sync = pdes::Sync::optimistic;
  std::uint32_t ranks = 1;
  std::uint64_t peak_rss_bytes = 0;  // of all ranks
  double time_limit_s = 0;           // 0: none
  int stop_signal = 0;               // that asked for an end, on any rank; 0: none did
  std::string restarted_from;        // a checkpoint; empty: none
  std::string checkpoint;            // the newest that was written; empty: none
  std::uint64_t checkpoint_bytes = 0;  // of that one
  std::string message_library;       // between ranks
};

// The line for partial results of `what`, `reached` being how far they go. Ends with an end of
// line.
std::string stopped_text(const Ran& report, const std::string& what, const std::string& reached);

// The most memory this process has held so far.
std::uint64_t peak_rss_bytes();

}  // namespace exawarp::io
