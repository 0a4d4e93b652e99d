// A step recorded on one GPU, on other numbers of them: by simulation of its workload graphs on a
// cluster, or by TrioSim's rules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/life/simulate.h"
#include "io/report/extrapolation_report.h"
#include "model/extrapolate/layouts.h"
#include "model/guests/triosim/rules.h"

namespace exawarp::io {

// The graph, validated. `trace` is what errors name. Throws core::InputError.
model::WorkloadGraph extrapolated_graph(const model::RecordedStep& step,
                                        const model::Extrapolation& to, const std::string& trace);

struct ExtrapolationCluster {
  std::string system;                  // a file
  std::vector<std::string> overrides;  // of keys of the study, path=value
};

// Simulates on as many devices of the cluster as `to` says. Throws core::InputError, where the
// simulation deadlocks too, and core::SystemError.
ExtrapolatedPoint simulate_extrapolated(const model::RecordedStep& step,
                                        const model::Extrapolation& to, const std::string& trace,
                                        const ExtrapolationCluster& cluster,
                                        const RunOptions& options);

// Throws core::InputError.
ExtrapolatedPoint by_triosim_rules(const model::RecordedStep& step,
                                   const model::triosim::Rules& rules, const std::string& trace);

}  // namespace exawarp::io
