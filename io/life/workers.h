// How many threads and partitions a rank uses where the user does not say.
#pragma once

#include <cstdint>
#include <optional>

#include "io/cli/console.h"
#include "pdes/engine.h"
#include "pdes/transport.h"

namespace exawarp::io {

struct WorkerRequest {
  pdes::Sync sync = pdes::Sync::optimistic;
  std::optional<std::uint32_t> threads;
  std::uint32_t partitions_per_rank = 0;    // 0: choose
  std::uint32_t partitions_per_thread = 1;  // what to choose where there are several threads
  std::uint32_t atoms = 1;                  // of the whole simulation
};

struct Workers {
  std::uint32_t threads = 1;
  std::uint32_t partitions_per_rank = 1;
};

// Threads may differ between ranks; partitions do not: they follow the rank with most threads. A
// rank has no more partitions than atoms, and a line says where it was to have more. Throws
// core::InputError where the request contradicts itself (sequential on two ranks, more partitions
// than the placement can number). Collective.
Workers choose_workers(const WorkerRequest& request, const Console& console,
                       pdes::Transport& transport);

}  // namespace exawarp::io
