// How many threads and partitions a rank uses where the user does not say.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "pdes/engine.h"
#include "pdes/transport.h"

namespace exawarp::io {

// Takes a line for the user, without its end; may be empty.
using Notify = std::function<void(const std::string&)>;

struct WorkerRequest {
  pdes::Sync sync = pdes::Sync::optimistic;
  std::optional<std::uint32_t> threads;
  std::uint32_t partitions_per_rank = 0;    // 0: choose
  std::uint32_t partitions_per_thread = 1;  // what to choose where there are several threads
  std::uint32_t atoms = 1;                  // of the whole simulation
  std::uint32_t rehearsed_ranks = 0;        // of a run that is rehearsed; 0: none is
};

struct Workers {
  std::uint32_t threads = 1;
  std::uint32_t partitions_per_rank = 1;
};

// Threads may differ between ranks; partitions do not: they follow the rank with most threads. A
// rank has no more partitions than atoms; where it was to have more, a line for the user goes to
// `notify`, on rank 0. Throws core::InputError where the request contradicts itself (sequential on
// two ranks, more partitions than the placement can number). Collective.
Workers choose_workers(const WorkerRequest& request, const Notify& notify,
                       pdes::Transport& transport);

}  // namespace exawarp::io
