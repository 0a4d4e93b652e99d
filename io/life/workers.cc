#include "io/life/workers.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "core/check.h"
#include "core/error.h"
#include "core/machine.h"
#include "io/life/agreement.h"
#include "io/study/study.h"

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

std::uint32_t threads_of(const WorkerRequest& request, std::uint32_t ranks) {
  if (request.sync == pdes::Sync::sequential && ranks > 1) {
    throw core::InputError(
        "--sync sequential",
        fmt::format("runs on one rank, and there are {}; expected conservative or optimistic",
                    ranks));
  }
  if (request.sync == pdes::Sync::sequential) return 1;
  return request.threads ? *request.threads : default_threads();
}

// `threads`: of the rank that has most.
std::uint32_t partitions_of(const WorkerRequest& request, std::uint32_t ranks,
                            std::uint32_t threads) {
  const std::uint32_t most = std::max(1u, kPartitionsMax / ranks);
  if (request.partitions_per_rank > most) {
    throw core::InputError(
        fmt::format("partitions per rank: {} on {} ranks are too many; expected at most {}",
                    request.partitions_per_rank, ranks, most));
  }
  if (request.partitions_per_rank != 0) {
    const std::uint32_t share = request.atoms / ranks + (request.atoms % ranks == 0 ? 0 : 1);
    return std::min(request.partitions_per_rank, std::max(1u, share));
  }
  if (threads == 1) return 1;
  const std::uint32_t useful = std::max(1u, request.atoms / ranks);
  // Partitions of a few atoms would roll back more than they even out.
  const std::uint32_t per_thread =
      std::clamp(useful / threads / kAtomsPerPartition, 1u, request.partitions_per_thread);
  return std::min({threads * per_thread, useful, most});
}

}  // namespace

Workers choose_workers(const WorkerRequest& request, const Notify& notify,
                       pdes::Transport& transport) {
  const std::uint32_t ranks =
      request.rehearsed_ranks == 0 ? transport.ranks() : request.rehearsed_ranks;
  Workers out;
  agree(transport, [&] { out.threads = threads_of(request, ranks); });
  if (request.sync == pdes::Sync::sequential) return out;
  std::array<std::uint64_t, 1> most_threads{out.threads};
  transport.all_reduce_max(most_threads);
  agree(transport, [&] {
    out.partitions_per_rank =
        partitions_of(request, ranks, static_cast<std::uint32_t>(most_threads[0]));
  });
  EXAWARP_CHECK(out.threads != 0 && out.partitions_per_rank != 0, out.threads);
  const bool fewer = out.partitions_per_rank < request.partitions_per_rank;
  if (fewer && notify && transport.rank().value == 0) {
    notify(fmt::format("partitions per rank: {} are more than there is to place; {} {} used",
                       request.partitions_per_rank, out.partitions_per_rank,
                       out.partitions_per_rank == 1 ? "is" : "are"));
  }
  return out;
}

}  // namespace exawarp::io
