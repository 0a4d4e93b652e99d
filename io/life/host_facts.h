// What `exawarp doctor` looks at: of the machine, the system's limits and the launcher, all that
// decides whether a run starts, and how fast it is. Facts alone; checkup.h judges them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/machine.h"
#include "pdes/transport.h"

namespace exawarp::io {

inline constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

// A folder into which something is to be written.
struct FolderFacts {
  std::string path;
  bool writable = false;
  std::uint64_t free_bytes = 0;
  std::uint64_t size_bytes = 0;
};

// Soft limits of the process (getrlimit), kUnlimited where there is none.
struct LimitFacts {
  std::uint64_t open_files = kUnlimited;
  std::uint64_t processes = kUnlimited;  // and threads, of the user
  std::uint64_t address_space_bytes = kUnlimited;
  std::uint64_t data_bytes = kUnlimited;
  std::uint64_t file_bytes = kUnlimited;
  std::uint64_t processor_s = kUnlimited;
};

struct HostFacts {
  std::string host;
  // Ranks of this job, those on this machine, and who carries messages ("none": not under mpirun).
  std::uint32_t ranks = 1;
  std::uint32_t machine_ranks = 1;
  std::string library = "none";
  std::uint32_t launched = 1;    // tasks that Slurm says it started together
  bool mpirun_found = false;     // in PATH
  bool root_is_refused = false;  // by Open MPI's mpirun, as things are
  core::Machine machine;
  std::uint32_t cpus_online = 1;
  std::uint32_t numa_domains = 1;       // that have processors
  std::uint32_t numa_domains_used = 1;  // of which this process may use some
  std::string huge_pages;               // always, madvise, never; empty: the kernel has none
  bool counts_reserved_memory = false;  // vm.overcommit_memory=2
  std::uint64_t memory_limit_bytes = kUnlimited;  // of the control group
  LimitFacts limits;
  std::optional<FolderFacts> shared_memory;  // /dev/shm
  FolderFacts temporary;                     // TMPDIR
  FolderFacts here;                          // the current directory
  std::vector<std::string> config_places;    // io/study/find_config.h
};

// `root` stands for "/" before proc and sys, so that a test can bring its own. Throws
// core::SystemError where the processors cannot be read.
HostFacts read_host_facts(const pdes::Transport& transport,
                          const std::filesystem::path& root = "/");

}  // namespace exawarp::io
