// What `exawarp traffic` prints.
#pragma once

#include <memory>
#include <string>

#include "io/report/ran.h"
#include "io/study/traffic_study.h"
#include "model/network/packet/port_counters.h"
#include "model/network/packet/traffic_outcome.h"

namespace exawarp::io {

struct TrafficReport : Ran {
  std::unique_ptr<const TrafficStudy> study;  // as it was simulated
  std::unique_ptr<const model::Topology> topology;
  std::unique_ptr<const model::TrafficModel> traffic;
  model::TrafficTotals totals;
  std::unique_ptr<model::FlowTimes> flows;        // on rank 0
  std::unique_ptr<model::PortCounters> counters;  // of all ranks, on rank 0; null: not asked for
  double cpu_s = 0;  // processor time of the run phase, of all ranks
};

// The keys are listed in docs/guide/user_guide.md.
std::string traffic_json(const TrafficReport& report);
std::string traffic_text(const TrafficReport& report);
// For standard error, of a network that cannot go on.
std::string unfinished_text(const TrafficReport& report);

}  // namespace exawarp::io
