// A file given to a command that reads another kind: the error says what it is, and who reads it.
// And names that are for the reader alone, which files need not have.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

struct WrongKind {
  std::string name;
  std::vector<std::string> arguments;
  std::string line;
};
void PrintTo(const WrongKind& w, std::ostream* out) { *out << w.name; }

const std::string kFabric = R"(topology:
  kind: single_switch
  link: {bandwidth: 1 GB/s, latency: 1 us}
  switch_latency: 1 us
  endpoint_latency: 1 us
)";
const std::string kChip = R"(matrix_rate: {bf16: 100 TFLOP/s}
vector_rate: 10 TFLOP/s
memory_bandwidth: 1 TB/s
memory_capacity: 80 GB
host_bandwidth: 50 GB/s
launch_latency: 1 us
efficiency: {other: {compute: 0.5, memory: 0.5}}
)";

void write_files(const Workspace& workspace) {
  workspace.write("study.yaml", small_study());
  workspace.write("workload.yaml", small_workload());
  workspace.write("traffic.yaml",
                  "study: t\ndevices: 4\nfabric: net.yaml\ntraffic: {pattern: permutation}\n");
  workspace.write("sweep.yaml", "sweep: s\nstudy: study.yaml\nover: {seed: [1, 2]}\n");
  workspace.write("net.yaml", kFabric);
  workspace.write("chip.yaml", kChip);
  workspace.write("cluster.yaml", "accelerator: chip.yaml\nfabric: net.yaml\n");
}

class FileOfAnotherKind : public testing::TestWithParam<WrongKind> {};

TEST_P(FileOfAnotherKind, IsCalledByItsName) {
  const Workspace workspace;
  write_files(workspace);
  const Ran ran = workspace.run(GetParam().arguments);
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.err, GetParam().line + "\n");
  EXPECT_EQ(ran.out, "");
}

INSTANTIATE_TEST_SUITE_P(
    Commands, FileOfAnotherKind,
    testing::Values(
        WrongKind{"RunSweep",
                  {"run", "sweep.yaml"},
                  "sweep.yaml: is a sweep; expected a study; run it by "
                  "`exawarp sweep sweep.yaml`"},
        WrongKind{"SweepStudy",
                  {"sweep", "study.yaml"},
                  "study.yaml: is a study; expected a sweep; run it by `exawarp run study.yaml`"},
        WrongKind{"RunTraffic",
                  {"run", "traffic.yaml"},
                  "traffic.yaml: is a traffic study; expected a study; run it by "
                  "`exawarp traffic traffic.yaml`"},
        WrongKind{"TrafficStudy",
                  {"traffic", "study.yaml"},
                  "study.yaml: is a study; expected a traffic study; run it by "
                  "`exawarp run study.yaml`"},
        WrongKind{"RunAccelerator",
                  {"run", "chip.yaml"},
                  "chip.yaml: is an accelerator; expected a study; name it in a system, "
                  "\"accelerator: chip.yaml\""},
        WrongKind{"RunSystem",
                  {"run", "cluster.yaml"},
                  "cluster.yaml: is a system; expected a study; name it in a study, "
                  "\"system: cluster.yaml\""},
        WrongKind{"RunFabric",
                  {"run", "net.yaml"},
                  "net.yaml: is a fabric; expected a study; name it in a system, "
                  "\"fabric: net.yaml\""},
        WrongKind{"RunWorkload",
                  {"run", "workload.yaml"},
                  "workload.yaml: is a workload specification; expected a study; name it in a "
                  "study, \"workload: workload.yaml\", or make its workload by `exawarp workload "
                  "generate workload.yaml -o FILE.xwg`"},
        WrongKind{"GenerateStudy",
                  {"workload", "generate", "study.yaml", "-o", "x.xwg"},
                  "study.yaml: is a study; expected a workload specification; run it by "
                  "`exawarp run study.yaml`"},
        WrongKind{
            "FabricAsAccelerator",
            {"workload", "generate", "workload.yaml", "-o", "x.xwg", "--accelerator", "net.yaml"},
            "net.yaml: is a fabric; expected an accelerator; name it in a system, "
            "\"fabric: net.yaml\""}),
    [](const auto& parameter) { return parameter.param.name; });

TEST(Names, ForTheReaderAloneAreThoseOfTheFiles) {
  const Workspace workspace;
  write_files(workspace);
  const Ran ran = workspace.run({"run", "study.yaml", "--set", "system=cluster.yaml"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("(chip), cluster;"), std::string::npos) << ran.out;
}

TEST(OwnClusterFiles, AreRefusedOnceWithAllThatTheyLack) {
  const Workspace workspace;
  write_files(workspace);
  workspace.write("chip.yaml", "vector_rate: 10 TFLOP/s\nmemory_bandwith: 1 TB/s\n");
  const Ran ran = workspace.run({"run", "study.yaml", "--set", "system=cluster.yaml"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
  for (const char* key : {"matrix_rate", "memory_bandwidth", "memory_capacity", "host_bandwidth",
                          "launch_latency", "efficiency"}) {
    EXPECT_NE(ran.err.find(key), std::string::npos) << key << " in " << ran.err;
  }
  const std::string hint =
      "\"memory_bandwith\" is unknown on line 2 (did you mean "
      "\"memory_bandwidth\"?)";
  EXPECT_NE(ran.err.find(hint), std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find("memory_bandwith"), ran.err.rfind("memory_bandwith")) << ran.err;
}

}  // namespace
}  // namespace exawarp::tests
