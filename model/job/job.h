// Jobs: workloads that share a cluster, each in its own rank space. Rank r of a job is what its
// workload graph calls device r: groups, peers and tags are the job's own, and no message passes
// between jobs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "model/job/placement.h"
#include "model/workload/graph.h"

namespace exawarp::model {

namespace serving {
struct Pool;
}

struct Job {
  std::string name = {};
  const WorkloadGraph* graph = nullptr;  // validated; outlives the cluster
  PlacementSpec placement = {};
  core::Time start = {};   // when its devices begin
  std::string place = {};  // "file:line: key ...", what an error starts with
  // Of a job that serves, whose graph is pool_graph() of it; else null. Outlives the cluster.
  const serving::Pool* pool = nullptr;
};

// A job on the devices of a cluster.
struct PlacedJob {
  std::string name;
  const WorkloadGraph* graph;
  core::Time start;
  std::unique_ptr<const RankMap> ranks;  // null: each rank's number is its device's
  std::uint32_t ranks_in_node = 1;       // see Allocation::ranks_in_node()
  std::uint32_t first_program = 0;       // index of its first one among those of all jobs
  const serving::Pool* pool = nullptr;   // of a job that serves
  bool runs = true;                      // false: its devices stay idle (ClusterOptions::only_job)

  [[nodiscard]] core::DeviceId device_of(core::DeviceId rank) const {
    return ranks == nullptr ? rank : ranks->device_of(rank);
  }
};

}  // namespace exawarp::model
