// What a study becomes: its workloads as graphs, and the cluster that runs them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "io/study/study.h"
#include "model/cluster.h"

namespace exawarp::io {

// The jobs of a study, generated or mapped. Those of one .xwg file share its graph.
struct LoadedJobs {
  std::vector<std::shared_ptr<const model::WorkloadGraph>> graphs;  // by job
  std::vector<model::Job> jobs;                                     // which point to them
};

// Throws core::InputError.
LoadedJobs load_jobs(const Study& study);

// The devices of the study's cluster: as it says, or as many as its jobs need.
std::uint32_t devices_of(const Study& study, const LoadedJobs& loaded);

// The cluster with all jobs and all background, or with one of the jobs alone, where it would be
// beside the others. `loaded` outlives it. Throws core::InputError.
std::unique_ptr<model::Cluster> cluster_of(const Study& study, const LoadedJobs& loaded,
                                           std::optional<std::uint32_t> only_job = {});

}  // namespace exawarp::io
