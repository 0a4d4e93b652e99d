// What a run leaves behind: summary.json and summary.txt.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/report/engine_report.h"
#include "io/report/ran.h"
#include "io/study/study_cluster.h"
#include "model/energy/power_trace.h"
#include "model/link_loads.h"
#include "model/network/message_trace.h"
#include "model/network/packet/port_counters.h"
#include "model/outcome.h"
#include "model/serving/cluster_outcome.h"
#include "model/timeline/critical_path.h"
#include "model/timeline/timeline.h"
#include "partition/quality.h"

namespace exawarp::io {

// What a run takes with a resource (PathResource) kPathCheckFactor times faster.
enum class PathResource : std::uint8_t { compute, launch, bandwidth, latency };
constexpr std::size_t kPathResourceCount = 4;
constexpr std::int64_t kPathCheckFactor = 10;
struct PathCheck {
  PathResource resource;
  core::Time simulated;
};

// What bound a run, or why that is not known.
struct PathReport {
  std::optional<model::CriticalPath> found;
  std::string why_not;
  std::vector<PathCheck> checks;  // empty: not asked for
};

// Steps that repeat, of which only some were simulated.
struct Repetition {
  std::string why_not;               // each was simulated; empty: they were not
  std::int64_t steps = 0;            // of the workload
  std::int64_t simulated_steps = 0;  // of the run that the figures come from
  std::int64_t steps_in_all = 0;     // of all runs that it took
  core::Time period = {};            // what each further one takes
  core::Time from = {};              // from when on they repeat
};

// Of a job that serves, over its replicas.
struct PoolTotals : EngineTotals {
  std::uint64_t arrived = 0, finished = 0;  // requests; those handed over are finished
  std::uint64_t batches = 0;
  std::uint64_t tokens = 0;       // in them
  std::uint64_t restarts = 0;
  std::uint64_t held = 0;         // blocks, at the end
  std::uint64_t queued = 0;       // requests in any queue, at the end
  std::uint64_t blocks_most = 0;  // held at once by a replica
};

// Everything the summaries of a study are made of, and all that it refers to.
struct RunReport : Ran {
  std::unique_ptr<const Study> study;  // as it was simulated
  std::unique_ptr<const LoadedJobs> jobs;
  std::unique_ptr<const model::Cluster> cluster;
  std::unique_ptr<const ChangedClusters> changed;  // what the cluster becomes; null: nothing else
  std::optional<model::Outcome> outcome;
  std::unique_ptr<model::serving::ClusterOutcome> requests;  // of jobs that serve
  std::vector<PoolTotals> pools;  // by job; of those that serve nobody, zeros
  std::unique_ptr<model::PortCounters> counters;  // of all ranks, on rank 0; null: not asked for
  std::unique_ptr<model::MessageTrace> messages;  // of all ranks, on rank 0; null: not asked for
  std::unique_ptr<model::PowerTrace> power;  // finished, on rank 0; null: not asked for, or no end
  std::unique_ptr<model::Timeline> timeline;  // finished, on rank 0; null: not asked for
  std::optional<PathReport> path;  // on rank 0; none: not asked for
  std::vector<core::Time> alone;  // each job's duration by itself; empty: not asked for
  std::optional<Repetition> repetition;  // none: not asked for
  std::vector<model::LinkLoad> link_loads;  // finished, on rank 0
  std::optional<core::Time> steady_step;  // what one more step adds; none: not asked for, no end
  std::optional<partition::Quality> quality;  // of the placement; none: there is one partition
  std::uint32_t threads = 1;  // of a rank
  double setup_s = 0;         // host time until the first event
  std::string directory;      // of the results
  std::vector<std::string> command_line = {};  // without the program
  std::vector<std::string> overrides = {};     // of keys of the study, path=value
};

// The keys are listed in docs/guide/user_guide.md; `schema` is "exawarp-summary-1".
std::string summary_json(const RunReport& report);

// A job's duration over what it takes `alone`; 0 where that is not known.
double slowdown_of(const model::JobTotals& job, core::Time alone);

// As `phold --json` prints it.
struct PholdReport : Ran {};
std::string phold_json(const PholdReport& report);

// Events per second of the run phase; 0 where nothing ran.
double events_per_s(const pdes::RunResult& result);

// The files of a run's results, within their directory.
inline constexpr const char* kResolvedStudyFile = "study.resolved.yaml";
inline constexpr std::array kSummaryFiles{"summary.txt", "summary.json", kResolvedStudyFile};

// Creates the directory and checks that the summaries can be written there. Throws
// core::SystemError.
void prepare_directory(const std::string& directory);

// Writes files, then prints, and prints even where the files could not be written: a long run's
// result is not lost to a full disk. In this order, so that a reader of standard output who leaves
// does not stop the files. Throws what `write` threw.
void write_and_print(const std::function<void()>& write, const std::function<void()>& print);

}  // namespace exawarp::io
