// Profiles of a model's operations, as Vidur's profiler writes them (microsoft/vidur 7d47513; the
// columns are in shared/reference/compute_models.md section 4): tables of comma-separated values
// with `time_stats.OPERATION.median` in milliseconds and the sizes that each row was measured at.
#pragma once

#include <cstdint>

#include "io/study/profile_study.h"
#include "model/serving/profile_time.h"

namespace exawarp::io {

// Which rows count.
struct VidurProfileRows {
  std::uint64_t tensor = 1;          // num_tensor_parallel_workers; of all_reduce: num_workers, all
                                     // in a node
  std::uint64_t block_tokens = 16;   // block_size
  std::uint64_t send_in_node = 2;    // devices_per_node of send_recv: 2 in a node, 1 across
};

// Equal sizes count with their mean; a row without a value says nothing. Throws core::InputError at
// the file, and where it can at the line.
[[nodiscard]] model::serving::Profile read_vidur_profile(const ProfileFiles& files,
                                                         const VidurProfileRows& rows);

}  // namespace exawarp::io
