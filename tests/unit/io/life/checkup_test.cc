// What `exawarp doctor` makes of a machine.
#include "io/life/checkup.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "io/report/checkup_report.h"

namespace exawarp::tests {
namespace {

using namespace io;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

HostFacts healthy() {
  HostFacts f;
  f.host = "node7";
  f.mpirun_found = true;
  f.machine.cpus = {0, 1, 2, 3};
  f.machine.cores = f.machine.workers_max = f.cpus_online = 4;
  f.machine.memory_bytes = 16 * kGiB;
  f.machine.memory_available_bytes = 8 * kGiB;
  f.huge_pages = "madvise";
  f.limits.open_files = 1'024;  // what Debian gives
  f.shared_memory = FolderFacts{"/dev/shm", true, kGiB, kGiB};
  f.temporary = {"/tmp", true, kGiB, kGiB};
  f.here = {"/home/me", true, kGiB, kGiB};
  f.config_places = {"/usr/share/exawarp/configs"};
  return f;
}

TEST(Checkup, OfAHealthyMachineIsFineInAllThings) {
  const std::vector<Finding> findings = check_up(healthy());
  EXPECT_EQ(findings.size(), 15u);
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.verdict, Verdict::fine) << finding.subject;
    EXPECT_EQ(finding.advice, "") << finding.subject;
    EXPECT_NE(finding.found, "") << finding.subject;
  }
}

struct Ill {
  std::string name, subject;
  Verdict verdict;
  std::function<void(HostFacts&)> spoil;
};
void PrintTo(const Ill& ill, std::ostream* out) { *out << ill.name; }

class CheckupOf : public testing::TestWithParam<Ill> {};

TEST_P(CheckupOf, SaysWhatIsWrongAndWhatToDo) {
  HostFacts facts = healthy();
  GetParam().spoil(facts);
  for (const Finding& finding : check_up(facts)) {
    const bool meant = finding.subject == GetParam().subject;
    EXPECT_EQ(finding.verdict, meant ? GetParam().verdict : Verdict::fine) << finding.subject;
    EXPECT_NE(finding.advice.empty(), meant) << finding.subject;
  }
}

constexpr Verdict kWarns = Verdict::warning, kStops = Verdict::stops;

INSTANTIATE_TEST_SUITE_P(
    Machines, CheckupOf,
    testing::Values(
        Ill{"TasksThatAreAlone", "MPI", kStops, [](HostFacts& f) { f.launched = 8; }},
        Ill{"NoMpirun", "MPI", kWarns, [](HostFacts& f) { f.mpirun_found = false; }},
        Ill{"Root", "MPI", kWarns, [](HostFacts& f) { f.root_is_refused = true; }},
        Ill{"OneOfFourProcessors", "cores", kWarns, [](HostFacts& f) { f.machine.cpus = {2}; }},
        Ill{"AQuota", "cores", kWarns, [](HostFacts& f) { f.machine.workers_max = 2; }},
        Ill{"TwoDomains", "NUMA", kWarns,
            [](HostFacts& f) { f.numa_domains = f.numa_domains_used = 2; }},
        Ill{"NoHugePages", "huge pages", kWarns, [](HostFacts& f) { f.huge_pages = "never"; }},
        Ill{"LittleMemory", "memory", kWarns,
            [](HostFacts& f) { f.machine.memory_available_bytes = kGiB / 2; }},
        Ill{"NoMemory", "memory", kStops,
            [](HostFacts& f) { f.machine.memory_available_bytes = kGiB / 64; }},
        Ill{"ReservedMemoryCounts", "memory", kWarns,
            [](HostFacts& f) { f.counts_reserved_memory = true; }},
        Ill{"SmallAddressSpace", "address space", kStops,
            [](HostFacts& f) { f.limits.address_space_bytes = kGiB / 16; }},
        Ill{"LimitedAddressSpace", "address space", kWarns,
            [](HostFacts& f) { f.limits.address_space_bytes = 4 * kGiB; }},
        Ill{"LimitedData", "data segment", kWarns,
            [](HostFacts& f) { f.limits.data_bytes = 4 * kGiB; }},
        Ill{"FewOpenFiles", "open files", kWarns, [](HostFacts& f) { f.limits.open_files = 256; }},
        Ill{"HardlyAnyOpenFile", "open files", kStops,
            [](HostFacts& f) { f.limits.open_files = 5; }},
        Ill{"FewProcesses", "processes", kWarns, [](HostFacts& f) { f.limits.processes = 20; }},
        Ill{"NoProcesses", "processes", kStops, [](HostFacts& f) { f.limits.processes = 3; }},
        Ill{"ShortFiles", "file size", kWarns, [](HostFacts& f) { f.limits.file_bytes = kGiB; }},
        Ill{"LimitedTime", "processor time", kWarns,
            [](HostFacts& f) { f.limits.processor_s = 3'600; }},
        Ill{"NoSharedMemory", "shared memory", kWarns,
            [](HostFacts& f) { f.shared_memory.reset(); }},
        Ill{"NoTemporaryFolder", "temporary files", kWarns,
            [](HostFacts& f) { f.temporary.writable = false; }},
        Ill{"NoFolderForResults", "results", kWarns, [](HostFacts& f) { f.here.writable = false; }},
        Ill{"NoConfigurations", "configurations", kWarns,
            [](HostFacts& f) { f.config_places.clear(); }}),
    [](const auto& parameter) { return parameter.param.name; });

TEST(Checkup, SeveralRanksNeedSharedMemoryAndATemporaryFolder) {
  HostFacts facts = healthy();
  facts.ranks = facts.machine_ranks = 4;
  facts.library = "Open MPI v4.1.4";
  EXPECT_EQ(worst_of(check_up(facts)), Verdict::fine);
  facts.shared_memory->free_bytes = 1 << 20;
  EXPECT_EQ(worst_of(check_up(facts)), Verdict::stops);
  facts = healthy();
  facts.ranks = 4;
  facts.temporary.writable = false;
  EXPECT_EQ(worst_of(check_up(facts)), Verdict::stops);
}

TEST(Checkup, RanksThatAreBoundMayUseTheirShare) {
  HostFacts facts = healthy();
  facts.ranks = facts.machine_ranks = 2;
  facts.library = "Open MPI v4.1.4";
  facts.machine.cpus = {2, 3};
  EXPECT_EQ(worst_of(check_up(facts)), Verdict::fine);
  facts.machine.cpus = {3};
  EXPECT_EQ(worst_of(check_up(facts)), Verdict::warning);
}

TEST(CheckupReport, ListsOfOtherRanksWhatDiffers) {
  HostFacts other = healthy();
  other.host = "node8";
  other.huge_pages = "never";
  const RankCheckup first{0, "node7", check_up(healthy())}, second{1, "node8", check_up(other)};
  const std::vector<RankCheckup> ranks = {first, checkup_of(line_of(second))};
  EXPECT_EQ(ranks[1].findings, second.findings);
  const std::string text = checkup_text(ranks);
  EXPECT_NE(text.find("\nrank 1 on node8\nwarning  huge pages       never\n"), std::string::npos)
      << text;
  EXPECT_TRUE(text.ends_with("\nnothing would stop a run; 1 warning\n")) << text;
  EXPECT_NE(checkup_json(ranks).find("\"warnings\": 1"), std::string::npos);
}

// A machine of two domains, one of which is not this process's, as the system describes it.
TEST(HostFacts, AreReadFromProcAndSys) {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / ("exawarp_host_" + std::to_string(getpid()));
  const auto write = [&root](const std::string& file, const std::string& text) {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text;
  };
  write("proc/sys/kernel/hostname", "node7\n");
  write("proc/sys/vm/overcommit_memory", "2\n");
  write("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
  write("sys/devices/system/node/node0/cpulist", "0-1023\n");
  write("sys/devices/system/node/node1/cpulist", "5000,6000-6010\n");
  write("sys/devices/system/node/node2/cpulist", "\n");  // memory without processors
  write("proc/self/cgroup", "0::/job\n");
  write("sys/fs/cgroup/job/memory.max", "1073741824\n");
  const HostFacts facts = read_host_facts(*pdes::make_single_transport(), root);
  fs::remove_all(root);
  EXPECT_EQ(facts.host, "node7");
  EXPECT_EQ(facts.huge_pages, "never");
  EXPECT_TRUE(facts.counts_reserved_memory);
  EXPECT_EQ(facts.numa_domains, 2u);
  EXPECT_EQ(facts.numa_domains_used, 1u);
  EXPECT_EQ(facts.memory_limit_bytes, kGiB);
  EXPECT_EQ(facts.ranks, 1u);
}

}  // namespace
}  // namespace exawarp::tests
