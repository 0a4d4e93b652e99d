// Where the host time of a run went: the workers' time by what they did, and how evenly the
// partitions shared it.
#pragma once

#include <cstdint>
#include <span>

#include "pdes/statistics.h"

namespace exawarp::pdes {

class Transport;

struct PartitionLoad {
  std::uint64_t partition = 0;  // over all ranks
  std::uint64_t busy_ns = 0;    // executing, reading mailboxes, collecting fossils
  std::uint64_t committed_events = 0;
};

// Over all ranks. The five shares are of worker_s and add up to 1 (all are 0 where no time passed).
struct HostTime {
  double worker_s = 0;        // run time times workers, summed over ranks
  double executing = 0;       // executing events, those undone later included, and undoing them
  double mailboxes = 0;       // reading mailboxes, and undoing what a straggler there contradicts
  double collecting = 0;      // fossil collection
  double synchronising = 0;   // GVT and exchange between ranks, in which all workers wait
  double waiting = 0;         // the rest: no partition left to run in this epoch
  double mean_busy_s = 0;     // of a partition
  PartitionLoad heaviest, lightest;  // by busy_ns; on rank 0 only
};

// What one rank knows.
struct RankHostTime {
  double run_s = 0;
  std::uint32_t workers = 1;
  std::uint64_t first_partition = 0;
  std::span<const Statistics> partitions;  // of this rank, at least one
  std::uint64_t gvt_ns = 0;                // of its main thread
};

// Collective.
HostTime account_host_time(const RankHostTime& mine, Transport& transport);

}  // namespace exawarp::pdes
