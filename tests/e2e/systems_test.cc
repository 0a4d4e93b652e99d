// Every system of configs/: its files are read, and an all-reduce runs on it.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

const std::filesystem::path kConfigs = std::filesystem::path(EXAWARP_SOURCE_DIR) / "configs";

void runs(const Workspace& workspace, const std::string& system, const std::string& workload) {
  SCOPED_TRACE(system);
  workspace.write("study.yaml", "study: smoke\nworkload:\n  microbenchmark: " + workload +
                                    "\nsystem: " + system + "\nseed: 1\n");
  const Ran ran = workspace.run({"run", "study.yaml", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_GT(nlohmann::json::parse(ran.out).size(), 0u);
}

TEST(Systems, OfConfigsRunAnAllReduce) {
  const Workspace workspace;
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kConfigs / "systems")) {
    // Those of a fixed size say so.
    const bool fixed = entry.path().stem().string().ends_with("_64");
    runs(workspace, entry.path().string(),
         "{kind: collective, collective: all_reduce, bytes: 1 MiB, devices: " +
             std::string(fixed ? "64}" : "8}"));
    ++count;
  }
  EXPECT_GE(count, 25u);
}

TEST(Systems, OfEachAcceleratorOfConfigsRun) {
  const Workspace workspace;
  for (const auto& entry : std::filesystem::directory_iterator(kConfigs / "accelerators")) {
    runs(workspace,
         "{accelerator: " + entry.path().string() +
             ", fabric: " + (kConfigs / "fabrics/h100_hgx_roce400.yaml").string() + "}",
         "{kind: collective, collective: all_reduce, bytes: 1 MiB, devices: 8}");
  }
}

}  // namespace
}  // namespace exawarp::tests
