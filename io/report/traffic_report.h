// What `exawarp traffic` prints.
#pragma once

#include <cstdint>
#include <string>

#include "io/study/traffic_study.h"
#include "model/network/packet/traffic_outcome.h"
#include "pdes/engine.h"

namespace exawarp::io {

// Valid as long as what it points to.
struct TrafficReport {
  const TrafficStudy* study = nullptr;
  const model::Topology* topology = nullptr;
  const model::TrafficTotals* totals = nullptr;
  const model::FlowTimes* flows = nullptr;
  const pdes::RunResult* result = nullptr;
  pdes::Sync sync = pdes::Sync::optimistic;
  std::uint32_t ranks = 1;
  double cpu_s = 0;                  // processor time of the run phase, of all ranks
  std::uint64_t peak_rss_bytes = 0;  // of all ranks
};

// The keys are listed in docs/guide/user_guide.md.
std::string traffic_json(const TrafficReport& report);
std::string traffic_text(const TrafficReport& report);

}  // namespace exawarp::io
