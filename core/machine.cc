// Processors come from hwloc, cut to the affinity mask. Memory is what /proc/meminfo calls
// available, cut to the limits of the control group; for these, /proc/self/cgroup gives the group's
// path and each ancestor's files are read.
#include "core/machine.h"

#include <hwloc.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

#include "core/error.h"

namespace exawarp::core {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  if (!in || !std::getline(in, line)) return std::nullopt;
  return line;
}

// The number at the start of a control file; nothing for "max", -1 or a missing file.
std::optional<std::uint64_t> limit_in(const fs::path& file) {
  const std::optional<std::string> line = first_line(file);
  std::uint64_t value = 0;
  if (!line || line->starts_with('-') || !(std::istringstream(*line) >> value)) return std::nullopt;
  return value;
}

void apply_quota(std::optional<std::uint64_t> quota, std::uint64_t period,
                 ControlGroupLimits& limits) {
  if (!quota || *quota == 0 || period == 0) return;
  const std::uint64_t cpus = (*quota + period - 1) / period;
  limits.cpus = static_cast<std::uint32_t>(std::min<std::uint64_t>(limits.cpus, cpus));
}

// The limits in one directory of either version; a file that is not there limits nothing.
void apply_directory(const fs::path& directory, ControlGroupLimits& limits) {
  for (const char* name : {"memory.max", "memory.limit_in_bytes"})
    if (const auto bytes = limit_in(directory / name))
      limits.memory_bytes = std::min(limits.memory_bytes, *bytes);
  if (const auto line = first_line(directory / "cpu.max")) {
    std::istringstream in(*line);
    std::uint64_t quota = 0;
    std::uint64_t period = 0;
    if (in >> quota >> period) apply_quota(quota, period, limits);
  }
  apply_quota(limit_in(directory / "cpu.cfs_quota_us"),
              limit_in(directory / "cpu.cfs_period_us").value_or(0), limits);
}

// A limit of any ancestor binds too. Inside a container the group's own path may not be mounted;
// then the mount's root is the container's group, and the walk ends there.
void apply_hierarchy(const fs::path& mount, const std::string& group, ControlGroupLimits& limits) {
  fs::path relative = fs::path(group).lexically_normal().relative_path();
  for (;; relative = relative.parent_path()) {
    apply_directory(mount / relative, limits);
    if (relative.empty()) return;
  }
}

std::uint64_t memory_available() {
  std::ifstream in("/proc/meminfo");
  std::string name;
  std::uint64_t kib = 0;
  for (std::string unit; in >> name >> kib; std::getline(in, unit))
    if (name == "MemAvailable:") return kib * 1024;
  return std::numeric_limits<std::uint64_t>::max();
}

struct TopologyDeleter {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

struct BitmapDeleter {
  void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, BitmapDeleter>;

Topology load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0)
    throw SystemError(std::string("cannot read the machine's topology: ") + std::strerror(errno));
  Topology topology(raw);
  if (hwloc_topology_load(raw) != 0)
    throw SystemError(std::string("cannot read the machine's topology: ") + std::strerror(errno));
  return topology;
}

// Round-robin over cores: the first allowed thread of each core, then the second, and so on.
void list_cpus(hwloc_topology_t topology, Machine& machine) {
  const Bitmap allowed(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(topology, allowed.get(), HWLOC_CPUBIND_PROCESS) != 0)
    hwloc_bitmap_copy(allowed.get(), hwloc_topology_get_allowed_cpuset(topology));

  std::vector<std::vector<std::uint32_t>> threads_of_core;
  const int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
  for (int c = 0; c < cores; ++c) {
    const hwloc_obj_t core =
        hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, static_cast<unsigned>(c));
    std::vector<std::uint32_t> threads;
    for (int cpu = hwloc_bitmap_first(core->cpuset); cpu >= 0;
         cpu = hwloc_bitmap_next(core->cpuset, cpu))
      if (hwloc_bitmap_isset(allowed.get(), static_cast<unsigned>(cpu)) != 0)
        threads.push_back(static_cast<std::uint32_t>(cpu));
    if (!threads.empty()) threads_of_core.push_back(std::move(threads));
  }
  for (std::size_t round = 0, added = 1; added != 0; ++round) {
    added = 0;
    for (const auto& threads : threads_of_core) {
      if (round >= threads.size()) continue;
      machine.cpus.push_back(threads[round]);
      ++added;
    }
  }
  machine.cores = static_cast<std::uint32_t>(threads_of_core.size());
  if (machine.cpus.empty()) {  // a machine that names no cores: take the mask as it is
    for (int cpu = hwloc_bitmap_first(allowed.get()); cpu >= 0;
         cpu = hwloc_bitmap_next(allowed.get(), cpu))
      machine.cpus.push_back(static_cast<std::uint32_t>(cpu));
    if (machine.cpus.empty()) machine.cpus.push_back(0);
    machine.cores = static_cast<std::uint32_t>(machine.cpus.size());
  }
}

}  // namespace

ControlGroupLimits read_control_group_limits(const fs::path& root) {
  ControlGroupLimits limits;
  const fs::path mount = root / "sys/fs/cgroup";
  std::ifstream groups(root / "proc/self/cgroup");
  // A line is "number:controllers:path"; version 2 has no controllers.
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      apply_hierarchy(mount, group, limits);
      apply_hierarchy(mount / "unified", group, limits);
    } else {
      apply_hierarchy(mount / controllers, group, limits);  // version 1: "memory", "cpu,cpuacct"
    }
  }
  return limits;
}

Machine discover_machine() {
  Machine machine;
  const Topology topology = load_topology();
  list_cpus(topology.get(), machine);

  const ControlGroupLimits limits = read_control_group_limits();
  const auto cpus = static_cast<std::uint32_t>(machine.cpus.size());
  machine.workers_max = std::max<std::uint32_t>(1, std::min(cpus, limits.cpus));

  machine.page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  machine.memory_bytes = std::min(pages * machine.page_bytes, limits.memory_bytes);
  machine.memory_available_bytes = std::min(machine.memory_bytes, memory_available());
  machine.huge_page_bytes =
      limit_in("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size").value_or(0);
  return machine;
}

bool bind_calling_thread(const Machine& machine, std::uint32_t index) {
  const std::uint32_t cpu = machine.cpus[index % machine.cpus.size()];
  if (cpu >= CPU_SETSIZE) return false;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(cpu, &mask);
  return sched_setaffinity(0, sizeof(mask), &mask) == 0;
}

}  // namespace exawarp::core
