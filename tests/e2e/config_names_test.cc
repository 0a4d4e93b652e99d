// Configurations by name: `exawarp run NAME` from any directory.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

// A workspace with configurations in lib/, which EXAWARP_CONFIGS names, and none elsewhere.
class ConfigNames : public testing::Test {
 protected:
  ConfigNames() {
    for (const char* folder : {"lib/studies", "lib/workloads", "lib/traffic", "lib/accelerators"}) {
      std::filesystem::create_directories(folder);
    }
    ::setenv("EXAWARP_CONFIGS", (std::filesystem::current_path() / "lib").c_str(), 1);
    const std::string there = "workload: ../workloads/tiny.yaml";
    workspace_.write("lib/studies/tiny_step.yaml",
                     replaced(small_study(), "workload: workload.yaml", there));
    workspace_.write("lib/workloads/tiny.yaml", small_workload());
    workspace_.write("lib/traffic/shift.yaml",
                     "study: t\ndevices: 4\nfabric: {topology: {kind: single_switch, "
                     "link: {bandwidth: 1 GB/s, latency: 1 us}, switch_latency: 1 us, "
                     "endpoint_latency: 1 us}}\ntraffic: {pattern: permutation}\n");
    workspace_.write("lib/accelerators/chip.yaml",
                     "matrix_rate: {bf16: 100 TFLOP/s}\nvector_rate: 10 TFLOP/s\n"
                     "memory_bandwidth: 1 TB/s\nmemory_capacity: 80 GB\nhost_bandwidth: 50 GB/s\n"
                     "launch_latency: 1 us\nefficiency: {other: {compute: 0.5, memory: 0.5}}\n");
  }
  ~ConfigNames() override { ::unsetenv("EXAWARP_CONFIGS"); }

  void expect_done(const std::vector<std::string>& arguments) const {
    const Ran ran = workspace_.run(arguments);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
  }

  const Workspace workspace_;
};

TEST_F(ConfigNames, AStudyIsRunByItsName) {
  expect_done({"run", "tiny_step"});
  expect_done({"run", "tiny_step.yaml"});
  EXPECT_TRUE(workspace_.has("results"));
}

TEST_F(ConfigNames, AFileOfThatNameComesFirst) {
  workspace_.write("tiny_step", "no: study\n");
  EXPECT_TRUE(workspace_.run({"run", "tiny_step"}).err.starts_with("tiny_step: "));
  std::filesystem::remove("tiny_step");
  std::filesystem::create_directory("tiny_step");  // a folder is no study
  expect_done({"run", "tiny_step", "--quiet"});
}

TEST_F(ConfigNames, EveryCommandLooksInTheFoldersThatItReads) {
  expect_done({"traffic", "shift"});
  expect_done({"topology", "show", "shift"});
  expect_done({"topology", "show", "tiny_step"});
  expect_done({"workload", "generate", "tiny", "-o", "x.xwg", "--accelerator", "chip"});
  const Ran other = workspace_.run({"run", "shift"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_TRUE(other.err.starts_with("\"shift\": there is no such file")) << other.err;
  EXPECT_TRUE(other.err.ends_with("; it is one in traffic\n")) << other.err;
}

TEST_F(ConfigNames, APathBelowConfigsIsFoundFromAnywhere) {
  expect_done({"run", "configs/studies/tiny_step.yaml"});
  workspace_.write("mine.yaml",
                   replaced(small_study(), "workload.yaml", "configs/workloads/tiny.yaml"));
  expect_done({"run", "mine.yaml", "--out", "mine"});
  expect_done({"run", "tiny_step", "--set", "workload=configs/workloads/tiny.yaml"});
}

TEST_F(ConfigNames, AnUnknownNameListsThoseThatComeClose) {
  workspace_.write("lib/studies/tiny_step_2.yaml", "");
  workspace_.write("lib/studies/large.yaml", "");
  std::filesystem::create_directory("lib/studies/tiny_step_3.yaml");
  const std::string lib = (std::filesystem::current_path() / "lib").string();
  const Ran close = workspace_.run({"run", "tiny_stepp"});
  EXPECT_EQ(close.exit_code, 2);
  EXPECT_EQ(close.err, "\"tiny_stepp\": there is no such file, nor is it a name in studies of " +
                           lib + "; did you mean tiny_step or tiny_step_2?\n");
  const Ran far = workspace_.run({"run", "qqqqqqqq"});
  EXPECT_EQ(far.exit_code, 2);
  EXPECT_TRUE(far.err.ends_with("expected a file, or one of: large, tiny_step, tiny_step_2\n"))
      << far.err;
  EXPECT_FALSE(workspace_.has("results"));
}

TEST_F(ConfigNames, AMissingFileIsSaidToBeOne) {
  EXPECT_TRUE(workspace_.run({"run", "none.yaml"}).err.starts_with("none.yaml: cannot open"));
  EXPECT_TRUE(workspace_.run({"run", "configs/studies/none.yaml"})
                  .err.starts_with("configs/studies/none.yaml: cannot open"));
}

TEST_F(ConfigNames, AVariableThatNamesNoDirectoryIsRefused) {
  ::setenv("EXAWARP_CONFIGS", "/nonexistent", 1);
  EXPECT_EQ(workspace_.run({"run", "tiny_step"}).err,
            "EXAWARP_CONFIGS: \"/nonexistent\" is no directory; expected one that holds studies/ "
            "and so on\n");
}

TEST_F(ConfigNames, WithoutAnyPlaceTheVariableIsNamed) {
  ::unsetenv("EXAWARP_CONFIGS");
  EXPECT_EQ(workspace_.run({"run", "tiny_step"}).err,
            "\"tiny_step\": there is no such file; expected one, or the name of a configuration "
            "and EXAWARP_CONFIGS to say where those are\n");
}

}  // namespace
}  // namespace exawarp::tests
