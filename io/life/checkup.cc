// One function for each subject. A run that would not start, or end halfway, is `stops`; one that
// is slower than it need be, or that would stop with more ranks or a larger study, a warning.
#include "io/life/checkup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/units.h"

namespace exawarp::io {
namespace {

constexpr std::uint64_t kMiB = 1 << 20, kGiB = 1 << 30;
// What the smallest studies take at their peak (20 to 27 MiB), rounded up; and what they map, which
// is more: libraries, stacks of threads, regions that are not all touched.
constexpr std::uint64_t kMemoryMin = 32 * kMiB, kMappedMin = 96 * kMiB;
constexpr std::uint64_t kResultsBytes = 64 << 10;  // of a small study, its largest file
// Boards of a rank (pdes/shared_exchange.h) and what Open MPI has of its own.
constexpr std::uint64_t kSharedMemoryOfARank = 8 * kMiB;
// Below the first no study can be read; below the second Open MPI's ranks do not come up.
constexpr std::uint64_t kOpenFilesMin = 6, kOpenFilesOfRanks = 32, kOpenFilesUsual = 1'024;

Finding fine(std::string subject, std::string found) {
  return {std::move(subject), Verdict::fine, std::move(found), ""};
}
Finding warning(std::string subject, std::string found, std::string advice) {
  return {std::move(subject), Verdict::warning, std::move(found), std::move(advice)};
}
Finding stops(std::string subject, std::string found, std::string advice) {
  return {std::move(subject), Verdict::stops, std::move(found), std::move(advice)};
}

std::string counted(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

Finding mpi_of(const HostFacts& f) {
  if (f.ranks == 1 && f.launched > 1) {
    return stops("MPI", fmt::format("Slurm started {} tasks, and each is alone", f.launched),
                 "each would run the whole study: srun --mpi=pmix (srun --mpi=list says what there "
                 "is), or mpirun in place of srun");
  }
  if (f.library != "none") {
    return fine("MPI", fmt::format("{}, {}, {} on this machine", f.library,
                                   counted(f.ranks, "rank"), f.machine_ranks));
  }
  if (!f.mpirun_found) {
    return warning("MPI", "one rank; no mpirun in PATH",
                   "for several ranks: apt-get install openmpi-bin, or module load of the "
                   "cluster's MPI that exawarp was built with");
  }
  if (f.root_is_refused) {
    return warning("MPI", "one rank; mpirun refuses to start ranks as root",
                   "for several ranks: another user, or OMPI_ALLOW_RUN_AS_ROOT=1 and "
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 in a container");
  }
  return fine("MPI", "one rank; mpirun is there to start more");
}

Finding cores_of(const HostFacts& f) {
  const std::size_t cpus = f.machine.cpus.size();
  const std::string found =
      fmt::format("{} of {} processors, {}", cpus, f.cpus_online, counted(f.machine.cores, "core"));
  if (f.machine_ranks > f.cpus_online) {
    return warning(
        "cores",
        fmt::format("{} ranks on {}", f.machine_ranks, counted(f.cpus_online, "processor")),
        "ranks wait by turns: no more ranks than cores");
  }
  if (f.machine.workers_max < cpus) {
    return warning("cores", fmt::format("{}, a quota of {}", found, f.machine.workers_max),
                   "the control group's quota is what counts, and is what a run uses by default: "
                   "ask for more (docker --cpus, Kubernetes limits.cpu)");
  }
  const bool share_is_less = cpus < f.cpus_online / f.machine_ranks;
  if (share_is_less) {
    return warning("cores", found,
                   "a run has a thread for each processor that it may use. If it should use more: "
                   "mpirun --bind-to none or --bind-to numa, srun --cpus-per-task N, taskset");
  }
  return fine("cores", found);
}

Finding numa_of(const HostFacts& f) {
  const std::string found =
      fmt::format("{} of {}", f.numa_domains_used, counted(f.numa_domains, "domain"));
  if (f.numa_domains_used > 1 && f.machine_ranks == 1) {
    return warning("NUMA", found + " in one rank",
                   "threads of one rank share memory across domains; a rank for each is faster: "
                   "mpirun --map-by ppr:1:numa --bind-to numa");
  }
  return fine("NUMA", found);
}

Finding huge_pages_of(const HostFacts& f) {
  if (f.huge_pages == "always" || f.huge_pages == "madvise") {
    return fine("huge pages", f.huge_pages);
  }
  return warning("huge pages", f.huge_pages.empty() ? "the kernel has none" : f.huge_pages,
                 "events and states are asked for in huge pages, and run slower without: as root, "
                 "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
}

Finding memory_of(const HostFacts& f) {
  const std::uint64_t available = f.machine.memory_available_bytes;
  const std::uint64_t of_a_rank = available / std::max(1u, f.machine_ranks);
  const std::string limit = f.memory_limit_bytes <= f.machine.memory_bytes
                                ? fmt::format("; the control group's limit is {}",
                                              core::format_bytes(f.memory_limit_bytes))
                                : "";
  const std::string found = fmt::format("{} free of {}{}", core::format_bytes(available),
                                        core::format_bytes(f.machine.memory_bytes), limit);
  const std::string advice =
      "fewer ranks on this machine, a larger share of it (sbatch --mem, docker --memory), or less "
      "of what else runs";
  if (of_a_rank < kMemoryMin) return stops("memory", found, advice);
  if (of_a_rank < kGiB) return warning("memory", found, "large studies need more: " + advice);
  if (f.counts_reserved_memory) {
    return warning("memory", found + "; vm.overcommit_memory=2",
                   "memory that is reserved and never used counts, too: as root, sysctl "
                   "vm.overcommit_memory=0");
  }
  return fine("memory", found);
}

// A limit of what is mapped: the address space, or the data segment.
Finding mapped_of(std::string subject, std::uint64_t limit, std::string_view option,
                  const HostFacts& f) {
  if (limit == kUnlimited) return fine(std::move(subject), "unlimited");
  const std::string advice =
      fmt::format("memory counts before it is used: ulimit -{} unlimited", option);
  const std::string found = core::format_bytes(limit);
  if (limit < kMappedMin) return stops(std::move(subject), found, advice);
  if (limit < f.machine.memory_bytes) return warning(std::move(subject), found, advice);
  return fine(std::move(subject), found);
}

Finding open_files_of(const HostFacts& f) {
  const std::uint64_t limit = f.limits.open_files;
  if (limit == kUnlimited) return fine("open files", "unlimited");
  const std::string advice =
      "ranks hold connections, imports of traces a file for each rank that "
      "they read: ulimit -n 4096";
  const std::string found = fmt::format("{}", limit);
  const std::uint64_t needed = f.ranks > 1 ? kOpenFilesOfRanks + f.ranks : kOpenFilesMin;
  if (limit < needed) return stops("open files", found, advice);
  if (limit < std::max<std::uint64_t>(kOpenFilesUsual, 2 * f.ranks))
    return warning("open files", found, advice);
  return fine("open files", found);
}

Finding processes_of(const HostFacts& f) {
  const std::uint64_t limit = f.limits.processes;
  if (limit == kUnlimited) return fine("processes", "unlimited");
  const std::uint64_t needed = std::uint64_t{f.machine.workers_max} * 2 + 16;
  const std::string found = fmt::format("{}", limit);
  const std::string advice = fmt::format(
      "threads count as processes of their user, and ranks of this machine have up to "
      "{}: ulimit -u 4096",
      needed);
  if (limit < f.machine.workers_max) return stops("processes", found, advice);
  if (limit < needed) return warning("processes", found, advice);
  return fine("processes", found);
}

Finding file_size_of(const HostFacts& f) {
  const std::uint64_t limit = f.limits.file_bytes;
  if (limit == kUnlimited) return fine("file size", "unlimited");
  const std::string found = core::format_bytes(limit);
  const std::string advice =
      "a run whose results, workload or trace grow larger ends with exit "
      "code 4: ulimit -f unlimited";
  return limit < kResultsBytes ? stops("file size", found, advice)
                               : warning("file size", found, advice);
}

Finding processor_time_of(const HostFacts& f) {
  const std::uint64_t limit = f.limits.processor_s;
  if (limit == kUnlimited) return fine("processor time", "unlimited");
  return warning("processor time", fmt::format("{} s", limit),
                 "summed over threads; the system then kills the run: ulimit -t unlimited");
}

Finding shared_memory_of(const HostFacts& f) {
  const std::uint64_t needed = kSharedMemoryOfARank * f.machine_ranks;
  const std::string advice = fmt::format(
      "ranks of one machine exchange events there, {} for each: docker --shm-size 1g, mount -o "
      "remount,size=1G /dev/shm; or EXAWARP_EXCHANGE=messages",
      core::format_bytes(kSharedMemoryOfARank));
  const Verdict bad = f.machine_ranks > 1 ? Verdict::stops : Verdict::warning;
  if (!f.shared_memory) return {"shared memory", bad, "no /dev/shm", advice};
  const std::string found =
      fmt::format("{} free of {} in {}", core::format_bytes(f.shared_memory->free_bytes),
                  core::format_bytes(f.shared_memory->size_bytes), f.shared_memory->path);
  if (!f.shared_memory->writable) return {"shared memory", bad, "not writable", advice};
  if (f.shared_memory->free_bytes < needed) return {"shared memory", bad, found, advice};
  return fine("shared memory", found);
}

Finding temporary_of(const HostFacts& f) {
  const std::string found =
      fmt::format("{}, {} free", f.temporary.path, core::format_bytes(f.temporary.free_bytes));
  if (f.temporary.writable && f.temporary.free_bytes >= kMiB) {
    return fine("temporary files", found);
  }
  return {"temporary files", f.ranks > 1 ? Verdict::stops : Verdict::warning,
          f.temporary.writable ? found : f.temporary.path + " is not writable",
          "mpirun keeps its session there: TMPDIR=DIR on a local disk"};
}

Finding results_of(const HostFacts& f) {
  const std::string found =
      fmt::format("{}, {} free", f.here.path, core::format_bytes(f.here.free_bytes));
  if (!f.here.writable) {
    return warning("results", f.here.path + " is not writable",
                   "a run keeps results in results/ here: --out DIR elsewhere, or --json");
  }
  if (f.here.free_bytes < 64 * kMiB) {
    return warning("results", found, "a run keeps results in results/ here: --out DIR elsewhere");
  }
  return fine("results", found);
}

Finding configs_of(const HostFacts& f) {
  if (!f.config_places.empty()) {
    return fine("configurations", fmt::format("{}", fmt::join(f.config_places, ", ")));
  }
  return warning("configurations", "none are found",
                 "names as in `exawarp run llama2_7b_8` need them: EXAWARP_CONFIGS=DIR, the "
                 "configs/ of a checkout");
}

}  // namespace

std::vector<Finding> check_up(const HostFacts& f) {
  return {mpi_of(f),
          cores_of(f),
          numa_of(f),
          huge_pages_of(f),
          memory_of(f),
          mapped_of("address space", f.limits.address_space_bytes, "v", f),
          mapped_of("data segment", f.limits.data_bytes, "d", f),
          open_files_of(f),
          processes_of(f),
          file_size_of(f),
          processor_time_of(f),
          shared_memory_of(f),
          temporary_of(f),
          results_of(f),
          configs_of(f)};
}

}  // namespace exawarp::io
