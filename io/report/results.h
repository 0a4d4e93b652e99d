// What a run leaves behind: summary.json and summary.txt.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/names.h"
#include "io/study/study.h"
#include "model/outcome.h"
#include "partition/quality.h"
#include "pdes/engine.h"

namespace exawarp::io {

enum class RunStatus { finished, deadlocked, stopped };

inline constexpr core::Named<RunStatus> kRunStatusNames[] = {
    {"finished", RunStatus::finished}, {"deadlocked", RunStatus::deadlocked},
    {"stopped", RunStatus::stopped}};
constexpr std::span<const core::Named<RunStatus>> names_of(RunStatus) { return kRunStatusNames; }
static_assert(core::names_each(kRunStatusNames));

// Everything the summaries are made of. Valid as long as what it points to.
struct RunReport {
  const Study* study = nullptr;
  const model::Cluster* cluster = nullptr;
  const model::Outcome* outcome = nullptr;
  const pdes::RunResult* result = nullptr;
  std::vector<core::Time> alone = {};  // each job's duration by itself; empty: not asked for
  std::optional<partition::Quality> quality;  // of the placement; none: there is one partition
  RunStatus status = RunStatus::finished;
  std::uint32_t ranks = 1;
  std::uint32_t threads = 1;  // of a rank
  pdes::Sync sync = pdes::Sync::optimistic;
  double setup_s = 0;         // host time until the first event
  std::uint64_t peak_rss_bytes = 0;  // of all ranks
  std::uint64_t workload_bytes = 0;  // of the mapped or generated workload; 0: not known
  std::string directory;      // of the results
};

// The keys are listed in docs/guide/user_guide.md; `schema` is "exawarp-summary-1".
std::string summary_json(const RunReport& report);

// A job's duration over what it takes `alone`; 0 where that is not known.
double slowdown_of(const model::JobTotals& job, core::Time alone);

// As `phold --json` prints it.
struct PholdReport {
  const pdes::RunResult* result = nullptr;
  pdes::Sync sync = pdes::Sync::optimistic;
  std::uint32_t ranks = 1;
  std::uint64_t peak_rss_bytes = 0;
};
std::string phold_json(const PholdReport& report);

// Events per second of the run phase; 0 where nothing ran.
double events_per_s(const pdes::RunResult& result);

// The files of a run's results, within their directory.
inline constexpr std::array kSummaryFiles{"summary.txt", "summary.json"};

// Creates the directory and checks that the summaries can be written there. Throws
// core::SystemError.
void prepare_directory(const std::string& directory);

// Writes files, then prints, and prints even where the files could not be written: a long run's
// result is not lost to a full disk. In this order, so that a reader of standard output who leaves
// does not stop the files. Throws what `write` threw.
void write_and_print(const std::function<void()>& write, const std::function<void()>& print);

// The most memory this process has held so far.
std::uint64_t peak_rss_bytes();

}  // namespace exawarp::io
