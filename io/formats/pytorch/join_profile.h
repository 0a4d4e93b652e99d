// An execution trace and the profile of the same run as one Chakra trace (docs/guide/chakra.md).
#pragma once

#include <cstdint>
#include <vector>

#include "io/formats/pytorch/execution_trace.h"
#include "io/formats/pytorch/kineto.h"

namespace exawarp::io::pytorch {

struct JoinReport {
  std::uint64_t host_nodes = 0, host_timed = 0;           // of the trace; with a duration
  std::uint64_t device_nodes = 0, device_unlaunched = 0;  // of the profile; by nobody known
  std::uint64_t transfers = 0;
};

// The nodes, with dependencies and durations. Without a profile `events` is empty: nothing has a
// duration, and what announces a transfer stands for it. Throws core::InputError that starts with
// `place`.
[[nodiscard]] std::vector<chakra::Node> join_profile(const ExecutionTrace& trace,
                                             const std::vector<KinetoEvent>& events,
                                             const std::string& place, JoinReport& report);

}  // namespace exawarp::io::pytorch
