// How long a run would take on so many ranks and threads, and what memory: predicted from a piece
// of it that is simulated here, on as many cores as there are for its workers.
//
// The piece goes through the epochs of the planned run (pdes/rehearsal.h): the same partitions, the
// same window, so the same executions, rollbacks and messages. What each partition takes in each
// epoch is measured; what the planned workers would wait follows (epoch_times.h), with barriers and
// exchanges as they are measured on this machine (machine_costs.h); and the rest of the run, from
// the number of its events, is as the piece is (prediction.h). As planned workers of a host share
// its memory and read each other's messages, so do the cores that simulate the piece.
//
// It writes nothing, and what it says is of host time alone. docs/guide/planning.md says how far it
// can be trusted.
#pragma once

#include <variant>

#include "io/life/simulate.h"
#include "io/report/plan_report.h"

namespace exawarp::io {

using Plannable = std::variant<Study, TrafficStudy, PholdRun>;

struct PlanRequest {
  RunShape shape;
  std::uint32_t hosts = 1;       // that the ranks are spread over evenly: divides them
  double round_trip_s = 20e-6;   // between hosts
  double sample_s = 5;           // host time of the piece, at most about
  RunOptions options;            // mode, partitions, window, seed; no files
};

// Simulates on one rank. Throws what simulate() throws.
PlanReport make_plan(const Plannable& what, const PlanRequest& request);

}  // namespace exawarp::io
