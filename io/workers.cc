#include "io/workers.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "core/error.h"
#include "core/machine.h"
#include "io/study.h"

namespace exawarp::io {
namespace {

constexpr std::uint32_t kAtomsPerPartition = 4;

// Ranks of this job on this machine, as the launcher says.
std::uint32_t ranks_on_this_machine() {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"}) {
    const char* text = std::getenv(name);
    std::uint32_t value = 0;
    if (text != nullptr &&
        std::from_chars(text, text + std::strlen(text), value).ec == std::errc{} && value > 0) {
      return value;
    }
  }
  return 1;
}

// Ranks that the launcher did not bind see every processor and must share them.
std::uint32_t default_threads() {
  const core::Machine machine = core::discover_machine();
  const bool bound = machine.cpus.size() < static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_ONLN));
  const std::uint32_t share = bound ? 1 : ranks_on_this_machine();
  return std::clamp(machine.workers_max / share, 1u, kThreadsMax);
}

}  // namespace

Workers choose_workers(const WorkerRequest& request, const pdes::Transport& transport) {
  const std::uint32_t ranks = transport.ranks();
  if (request.sync == pdes::Sync::sequential) {
    if (ranks > 1) {
      throw core::InputError(
          "--sync sequential",
          fmt::format("runs on one rank, and there are {}; expected conservative or optimistic",
                      ranks));
    }
    return {};
  }
  Workers out;
  out.threads = request.threads.value_or(0);
  if (out.threads == 0) out.threads = default_threads();
  const std::uint32_t most = std::max(1u, kPartitionsMax / ranks);
  if (request.partitions_per_rank > most) {
    throw core::InputError(
        fmt::format("partitions per rank: {} on {} ranks are too many; expected at most {}",
                    request.partitions_per_rank, ranks, most));
  }
  out.partitions_per_rank = request.partitions_per_rank;
  if (out.partitions_per_rank == 0) {
    const std::uint32_t useful = std::max(1u, request.atoms / ranks);
    // Partitions of a few atoms would roll back more than they even out.
    const std::uint32_t per_thread =
        std::clamp(useful / out.threads / kAtomsPerPartition, 1u, request.partitions_per_thread);
    out.partitions_per_rank =
        out.threads > 1 ? std::min({out.threads * per_thread, useful, most}) : 1;
  }
  return out;
}

}  // namespace exawarp::io
