// What a rank holds when there are more of them: its share of the LPs, events and history within
// its budget, and a table of atoms that is small and does not depend on the ranks.
// docs/reference/partitioning.md says what else grows with the cluster, and why it may.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;

constexpr std::uint64_t kDevices = 8'192;
constexpr std::uint64_t kBudget = 16ull << 20;  // engine.memory below

// 128 layers of one micro-batch on 8,192 devices, TP 8, PP 128, DP 8: many devices, short rings.
std::string wide_workload() {
  std::string text = replaced(small_workload(), "layers: 4", "layers: 128");
  text = replaced(text, "tensor: 2", "tensor: 8");
  text = replaced(text, "pipeline: 2", "pipeline: 128");
  return replaced(text, "data: 2", "data: 8");
}

// Runs the program on `ranks` ranks and returns its summary.
json summary_on(const Workspace& workspace, int ranks, const std::string& options) {
  const std::string out = "ranks_" + std::to_string(ranks);
  const std::string command = "'" EXAWARP_SOURCE_DIR "/scripts/mpirun' -n " +
                              std::to_string(ranks) + " '" EXAWARP_BINARY "' run study.yaml " +
                              "--quiet --force --threads 1 --partitions 2 " + options +
                              " --out " + out + " > log 2>&1 < /dev/null";
  const int status = std::system(command.c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << workspace.read("log");
  return json::parse(workspace.read(out + "/summary.json"));
}

TEST(RankMemory, FallsAsRanksRiseAndTheDigestStays) {
  const Workspace workspace;
  workspace.write("study.yaml", small_study());
  workspace.write("workload.yaml", wide_workload());
  std::map<int, json> summaries;
  for (const int ranks : {1, 2, 8}) {
    summaries[ranks] = summary_on(workspace, ranks, "--set engine.memory='16 MiB'");
  }
  const auto most = [&](int ranks, const char* key) {
    return summaries[ranks]["engine"]["memory_of_a_rank"][key]["maximum"].get<std::uint64_t>();
  };
  const std::uint64_t all = most(1, "lp_bytes");
  ASSERT_EQ(summaries[1]["devices"], kDevices);
  for (const int ranks : {2, 8}) {
    SCOPED_TRACE(testing::Message() << ranks << " ranks");
    const auto share = static_cast<std::uint64_t>(ranks);
    EXPECT_EQ(summaries[ranks]["digest"], summaries[1]["digest"]);
    EXPECT_EQ(summaries[ranks]["ranks"], ranks);
    EXPECT_LT(most(ranks, "lp_bytes"), all / share + all / share / 8);  // even within an eighth
    EXPECT_EQ(most(ranks, "directory_bytes"), most(1, "directory_bytes"));
  }
  EXPECT_LT(most(1, "directory_bytes"), 64 * kDevices);
  for (const int ranks : {1, 2, 8})  // logs and pools grow by doubling
    EXPECT_LT(most(ranks, "history_bytes") + most(ranks, "event_bytes"), 3 * kBudget) << ranks;
  for (const auto& [ranks, summary] : summaries)
    std::printf("%d ranks: %s\n", ranks, summary["engine"]["memory_of_a_rank"].dump().c_str());
}

TEST(RankPlacement, EveryMethodGivesOneDigestOnTwoRanks) {
  const Workspace workspace;
  workspace.write("study.yaml", small_study());
  workspace.write("workload.yaml", small_workload());
  const json expected = summary_on(workspace, 1, "--placement block");
  for (const std::string method : {"block", "topology-aware", "metis"}) {
    const json summary = summary_on(workspace, 2, "--placement " + method);
    EXPECT_EQ(summary["digest"], expected["digest"]) << method;
    EXPECT_EQ(summary["placement"], method);
    EXPECT_TRUE(summary.contains("placement_quality"));
  }
}

}  // namespace
}  // namespace exawarp::tests
