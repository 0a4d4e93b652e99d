// The one call below the commands: something to simulate and how in, a report out. Whoever wants a
// simulation calls it: commands, sweeps, searches, tests.
//
//   RunReport report = simulate(read_study("study.yaml", {}), {.threads = 2}, *transport);
//   report.result.digest ...
//
// It reads what the study refers to, compares it between ranks, chooses workers, places, simulates,
// and gathers what the final states say. It prints nothing and writes no file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "io/formats/astra/set_up.h"
#include "io/life/checkpoint.h"
#include "io/life/time_limit.h"
#include "io/life/workers.h"
#include "io/report/astra_report.h"
#include "io/report/goal_report.h"
#include "io/report/results.h"
#include "io/report/serving_report.h"
#include "io/report/traffic_report.h"
#include "io/study/study.h"
#include "io/study/traffic_study.h"
#include "model/timeline/timeline.h"
#include "pdes/phold.h"
#include "pdes/rehearsal.h"
#include "pdes/transport.h"

namespace exawarp::io {

// Which share of a run is behind, 0 to 1, where so many events are committed, and about `expected`
// were to come (RunOptions::ready). Called between two epochs.
using ShareDone = std::function<double(std::uint64_t committed, std::uint64_t expected)>;

// How to simulate. What is absent is as the study says, or else the default that is named. No
// result depends on any of it but on the seed, and on a time limit that is reached.
struct RunOptions {
  std::optional<pdes::Sync> sync = {};  // optimistic
  std::optional<std::uint32_t> threads = {};     // of this rank; every core it may use
  std::optional<std::uint32_t> partitions = {};  // of a rank; by the workers
  std::optional<std::uint64_t> seed = {};        // 1
  std::optional<double> audit = {};              // share of events to audit; 0
  std::optional<core::Time> window = {};         // adapts
  std::optional<double> time_limit_s = {};       // host seconds since `started`; none
  TimeLimit::Clock::time_point started = TimeLimit::Clock::now();
  double sample_interval_s = 0;  // of the time series, in host seconds; 0: none
  bool count_ports = false;      // of a packet network
  bool trace_messages = false;   // of a study whose devices are not folded
  bool trace_power = false;      // of a study whose accelerator's power is known
  std::optional<model::TimelineOptions> timeline = {};  // of a study; none
  bool critical_path = false;    // of a study; not beside a timeline
  bool check_critical_path = false;  // runs again with each resource ten times faster, too
  bool compare_alone = false;    // of a study: simulates each job by itself, too
  bool steady_step = false;      // of a study with one transformer: simulates one more step, too
  CheckpointOptions checkpoints = {};  // to write
  const Checkpoint* restart = nullptr;  // to go on from, of the same simulation
  bool forks = false;  // but for changes from there on, of a study
  pdes::Rehearsal* rehearsal = nullptr;  // the larger run to go through the epochs of, on one rank;
                                         // `threads` and `partitions` are those of its ranks
  std::uint32_t rehearsal_threads = 1;   // that go through them

  // All may be empty.
  Notify notify = {};  // lines for the user
  // On each rank when the input is known to be good, before the first event, with the number of
  // events that there will be, about, or 0; what it throws ends the simulation on every rank.
  std::function<void(std::uint64_t events_expected)> ready = {};
  pdes::ProgressListener progress = {};
  // Before the first event of a run at packet fidelity: with a function for `progress` to call.
  std::function<void(const ShareDone&)> measure = {};
};

// What `exawarp goal` simulates.
struct GoalRun {
  std::string file;  // a schedule, text or binary
  model::goal::Parameters parameters = {};
};

// What `exawarp phold` simulates; of PholdOptions::seed only RunOptions::seed counts.
struct PholdRun {
  pdes::PholdOptions phold = {};
  core::Time end = core::kEndOfTime;
};

// By what a checkpoint knows them, and back again. Throw core::InputError.
Settings settings_of(const GoalRun& run);
GoalRun goal_run_of(const Checkpoint& checkpoint);
Settings settings_of(const PholdRun& run);
PholdRun phold_run_of(const Checkpoint& checkpoint);

// All are collective: every rank calls them with the same arguments, but for `threads`. Reports are
// complete on rank 0; their status and digest are the same on every rank. They throw
// core::InputError, core::SystemError and, on the ranks that did not fail first, OtherRankFailed.
RunReport simulate(const Study& study, const RunOptions& options, pdes::Transport& transport);
TrafficReport simulate(const TrafficStudy& study, const RunOptions& options,
                       pdes::Transport& transport);
ServingReport simulate(const ServingStudy& study, const RunOptions& options,
                       pdes::Transport& transport);
GoalReport simulate(const GoalRun& run, const RunOptions& options, pdes::Transport& transport);
PholdReport simulate(const PholdRun& run, const RunOptions& options, pdes::Transport& transport);
// On rank 0 alone, by another simulator's rules; other ranks' reports are empty. Of the options
// only the time limit and `notify` count.
AstraReport simulate(const AstraSetUp& set_up, const RunOptions& options,
                     pdes::Transport& transport);

}  // namespace exawarp::io
