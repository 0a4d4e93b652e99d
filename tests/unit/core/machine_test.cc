#include "core/machine.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <string>
#include <thread>

namespace exawarp::tests {
namespace {

using namespace core;

namespace fs = std::filesystem;

// A directory that plays "/", removed at the end.
class FakeRoot {
 public:
  FakeRoot() : path_(fs::temp_directory_path() / ("exawarp_root_" + std::to_string(getpid()))) {}
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;
  ~FakeRoot() { fs::remove_all(path_); }

  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((path_ / file).parent_path());
    std::ofstream(path_ / file) << text;
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

TEST(ControlGroup, WithoutFilesNothingIsLimited) {
  const FakeRoot root;
  const ControlGroupLimits limits = read_control_group_limits(root.path());
  EXPECT_EQ(limits.memory_bytes, ControlGroupLimits{}.memory_bytes);
  EXPECT_EQ(limits.cpus, ControlGroupLimits{}.cpus);
}

TEST(ControlGroup, Version2TakesTheLeastLimitOnTheWayUp) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "0::/batch/job7\n");
  root.write("sys/fs/cgroup/batch/memory.max", "1000000\n");
  root.write("sys/fs/cgroup/batch/job7/memory.max", "max\n");
  root.write("sys/fs/cgroup/batch/job7/cpu.max", "250000 100000\n");
  const ControlGroupLimits limits = read_control_group_limits(root.path());
  EXPECT_EQ(limits.memory_bytes, 1'000'000u);
  EXPECT_EQ(limits.cpus, 3u);
}

TEST(ControlGroup, Version1ReadsTheMountRootWhereThePathIsHidden) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "4:memory:/docker/abc\n1:cpu,cpuacct:/docker/abc\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "4096000\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  const ControlGroupLimits limits = read_control_group_limits(root.path());
  EXPECT_EQ(limits.memory_bytes, 4'096'000u);
  EXPECT_EQ(limits.cpus, ControlGroupLimits{}.cpus);
}

TEST(Machine, ListsEachCpuOfTheMaskOnce) {
  const Machine machine = discover_machine();
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof(mask), &mask), 0);
  const std::set<std::uint32_t> distinct(machine.cpus.begin(), machine.cpus.end());
  EXPECT_EQ(distinct.size(), machine.cpus.size());
  EXPECT_EQ(machine.cpus.size(), static_cast<std::size_t>(CPU_COUNT(&mask)));
  for (const std::uint32_t cpu : machine.cpus) EXPECT_TRUE(CPU_ISSET(cpu, &mask));
  EXPECT_GE(machine.cores, 1u);
  EXPECT_LE(machine.cores, machine.cpus.size());
  EXPECT_LE(machine.workers_max, machine.cpus.size());
}

TEST(Machine, MemoryIsPositiveAndAvailableIsNoMoreThanAll) {
  const Machine machine = discover_machine();
  EXPECT_GT(machine.memory_available_bytes, 0u);
  EXPECT_LE(machine.memory_available_bytes, machine.memory_bytes);
  EXPECT_GE(machine.page_bytes, 4096u);
}

TEST(Machine, ABoundThreadRunsOnItsCpuAlone) {
  const Machine machine = discover_machine();
  for (std::uint32_t i = 0; i < machine.cpus.size() + 1; ++i) {
    bool bound = false;
    int cpu = -1;
    std::thread([&] {
      bound = bind_calling_thread(machine, i);
      cpu = sched_getcpu();
    }).join();
    if (!bound) GTEST_SKIP() << "this system does not let a thread choose its processor";
    EXPECT_EQ(static_cast<std::uint32_t>(cpu), machine.cpus[i % machine.cpus.size()]);
  }
}

}  // namespace
}  // namespace exawarp::tests
