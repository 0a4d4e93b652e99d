// What the machine gives this process: processors, memory, pages. Read once at the start, before
// any thread is bound, and passed to those who need it.
// Why not std::thread::hardware_concurrency and /proc/meminfo alone: a batch system or a container
// grants less than the machine has, through an affinity mask and control groups.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <vector>

namespace exawarp::core {

// Limits that the process's control group and its ancestors set, version 1 or 2.
struct ControlGroupLimits {
  std::uint64_t memory_bytes = std::numeric_limits<std::uint64_t>::max();  // max: unlimited
  std::uint32_t cpus = std::numeric_limits<std::uint32_t>::max();  // quota over period, rounded up
};

// `root` stands for "/", so that a test can bring its own /proc and /sys.
ControlGroupLimits read_control_group_limits(const std::filesystem::path& root = "/");

struct Machine {
  // Processors of the affinity mask, as the system numbers them: one hardware thread of every
  // core first, then the cores' further threads. Never empty.
  std::vector<std::uint32_t> cpus;
  std::uint32_t cores = 1;         // distinct cores among `cpus`
  std::uint32_t workers_max = 1;   // how many threads pay: `cpus`, but no more than the quota
  std::uint64_t memory_bytes = 0;  // of the machine or the control group, whichever is less
  std::uint64_t memory_available_bytes = 0;  // the same, less what others hold already
  std::uint64_t page_bytes = 4096;
  std::uint64_t huge_page_bytes = 0;  // 0: the kernel has no transparent huge pages
};

// Throws SystemError where the topology cannot be read. Takes a few milliseconds.
Machine discover_machine();

// Binds the calling thread to machine.cpus[index % cpus.size()]. Ranks that share a machine pass
// disjoint indices, or are bound by mpirun and see disjoint masks. Threads created later by this
// thread inherit the binding. False where the system refuses: slower then, and still correct.
bool bind_calling_thread(const Machine& machine, std::uint32_t index);

}  // namespace exawarp::core
