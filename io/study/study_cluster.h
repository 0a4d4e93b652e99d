// What a study becomes: its workloads as graphs, and the cluster that runs them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "io/study/study.h"
#include "model/cluster.h"
#include "model/serving/pool.h"
#include "pdes/changing_model.h"

namespace exawarp::io {

// The jobs of a study, generated or mapped. Those of one .xwg file share its graph.
struct LoadedJobs {
  std::vector<std::shared_ptr<const model::WorkloadGraph>> graphs;  // by job
  std::vector<model::Job> jobs;                                     // which point to them
  // By job; null: it serves nobody. Their requests are whoever simulates them's to add.
  std::vector<std::shared_ptr<model::serving::Pool>> pools;
};

// Throws core::InputError.
LoadedJobs load_jobs(const Study& study);

// The devices of the study's cluster: as it says, or as many as its jobs need.
std::uint32_t devices_of(const Study& study, const LoadedJobs& loaded);

// The cluster with all jobs and all background, or with one of the jobs alone, where it would be
// beside the others. `loaded` outlives it. Throws core::InputError.
std::unique_ptr<model::Cluster> cluster_of(const Study& study, const LoadedJobs& loaded,
                                           std::optional<std::uint32_t> only_job = {});

// What a study's cluster becomes by its changes.
struct ChangedClusters {
  std::vector<std::unique_ptr<const model::Cluster>> later;  // by change
  std::unique_ptr<const pdes::ChangingModel> model;          // of the first, then these
};

inline const pdes::Model& model_of(const model::Cluster& first, const ChangedClusters* changed) {
  if (changed == nullptr) return first;
  return *changed->model;
}

// Null where nothing changes. `first` is the study's, of the same jobs; all outlive the result.
// Throws core::InputError where a change would need other states than there are.
std::unique_ptr<const ChangedClusters> changed_clusters_of(
    const Study& study, const LoadedJobs& loaded, const model::Cluster& first,
    std::optional<std::uint32_t> only_job = {});

}  // namespace exawarp::io
