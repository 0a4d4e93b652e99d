// `exawarp astra` against the cycles that ASTRA-sim prints (astra/README.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;

constexpr const char* kInputs = EXAWARP_SOURCE_DIR "/tests/golden/astra";

// Cycles by rank, from the lines of `out`.
std::map<unsigned, unsigned long long> finished(const std::string& out) {
  std::map<unsigned, unsigned long long> cycles;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    unsigned rank = 0;
    unsigned long long time = 0, exposed = 0;
    if (std::sscanf(line.c_str(),
                    "sys[%u] finished, %llu cycles, exposed communication %llu cycles.", &rank,
                    &time, &exposed) == 3) {
      cycles[rank] = time;
    }
  }
  return cycles;
}

class AstraGolden : public testing::Test {
 protected:
  AstraGolden() {
    std::filesystem::copy(kInputs, ".", std::filesystem::copy_options::recursive);
    EXPECT_EQ(std::system("tar -xzf traces.tar.gz"), 0);
    expected_ = json::parse(workspace_.read("expected.json"));
  }

  [[nodiscard]] Ran run(const json& entry, const std::string& backend) const {
    std::string dashed = backend;
    std::ranges::replace(dashed, '_', '-');
    const auto text = [&](const char* key) { return entry.at(key).get<std::string>(); };
    std::vector<std::string> arguments{
        "astra",
        "--network-backend=" + dashed,
        "--workload-configuration=" + text("workload"),
        "--system-configuration=" + text("system"),
        "--network-configuration=" + text("network"),
        "--remote-memory-configuration=" + expected_.at("memory").get<std::string>()};
    if (entry.contains("comm_group")) {
      arguments.push_back("--comm-group-configuration=" + text("comm_group"));
    }
    if (entry.contains("num_queues_per_dim")) {
      arguments.push_back("--num-queues-per-dim=" + entry.at("num_queues_per_dim").dump());
    }
    return workspace_.run(arguments);
  }

  void expect(const json& entry, const std::string& backend, const json& cycles) const {
    const Ran ran = run(entry, backend);
    const std::string what = backend + " " + entry.dump() + "\n" + ran.err;
    if (cycles.is_string()) {
      const bool deadlock = cycles.get<std::string>().find("DEADLOCK") != std::string::npos;
      EXPECT_EQ(ran.exit_code, deadlock ? 3 : 0) << what;
      return;
    }
    ASSERT_EQ(ran.exit_code, 0) << what;
    const auto got = finished(ran.out);
    const std::size_t ranks =
        cycles.is_array() ? cycles.size() : entry.value("npus", got.size());
    ASSERT_EQ(got.size(), ranks) << what;
    for (const auto& [rank, time] : got) {
      EXPECT_EQ(time, (cycles.is_array() ? cycles.at(rank) : cycles).get<unsigned long long>())
          << "rank " << rank << " " << what;
    }
  }

  // Every back end of every entry of `section`.
  int expect_section(const char* section) const {
    int cases = 0;
    for (const auto& [name, entry] : expected_.at(section).items()) {
      for (const auto& [backend, cycles] : entry.at("cycles").items()) {
        SCOPED_TRACE(name);
        expect(entry, backend, cycles);
        ++cases;
      }
    }
    return cases;
  }

  const Workspace workspace_;
  json expected_;
};

TEST_F(AstraGolden, UpstreamsExamplesTakeTheCyclesUpstreamPrints) {
  EXPECT_EQ(expect_section("examples"), 100);
}

TEST_F(AstraGolden, TrainingTracesTakeTheCyclesUpstreamPrints) {
  EXPECT_EQ(expect_section("stage"), 39);
}

TEST_F(AstraGolden, OneCollectiveCasesTakeTheCyclesUpstreamPrints) {
  const json& matrix = expected_.at("matrix");
  EXPECT_EQ(matrix.size(), 620u);
  for (const json& entry : matrix) {
    expect(entry, entry.at("backend").get<std::string>(), entry.at("cycles"));
  }
}

TEST_F(AstraGolden, TrainingTracesAreImportedSharedAndWrittenAgain) {
  for (const auto& set : std::filesystem::directory_iterator("stage")) {
    SCOPED_TRACE(set.path().string());
    const std::string groups = (set.path() / "comm_group.json").string();
    const Ran first = workspace_.run({"workload", "import", "chakra",
                                      (set.path() / "workload").string(), "--comm-groups", groups,
                                      "--macs", "-o", "a.xwg"});
    ASSERT_EQ(first.exit_code, 0) << first.err;
    EXPECT_EQ(workspace_.run({"workload", "validate", "a.xwg"}).exit_code, 0);
    ASSERT_EQ(workspace_.run({"workload", "export", "chakra", "a.xwg", "-o", "again"}).exit_code,
              0);
    ASSERT_EQ(workspace_.run({"workload", "import", "chakra", "again", "--comm-groups",
                              "again.comm_groups.json", "--macs", "-o", "b.xwg"}).exit_code, 0);
    const Ran same = workspace_.run({"workload", "diff", "a.xwg", "b.xwg"});
    EXPECT_EQ(same.exit_code, 0) << same.out;
    for (const auto& file : std::filesystem::directory_iterator(".")) {
      if (file.path().filename().string().starts_with("again.")) std::filesystem::remove(file);
    }
  }
}

TEST_F(AstraGolden, ADeadlockSaysWhoWaitsForWhom) {
  const json& entry = expected_.at("stage").at("dense_tp2_dp2_pp2__ring");
  const Ran ran = run(entry, "congestion_aware");
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_NE(ran.err.find("deadlock at 1209239 ns: 8 of 8 ranks did not finish"),
            std::string::npos)
      << ran.err;
  // Ranks 4 and 5, and 6 and 7, sit in different collectives of their pairs.
  for (const char* rank : {"rank 4: collective node 1604 (all-reduce, group 3",
                           "rank 5: collective", "waits for rank 7",
                           "rank 6: collective node 1604",
                           "rank 7: "}) {
    EXPECT_NE(ran.err.find(rank), std::string::npos) << ran.err;
  }
}

}  // namespace
}  // namespace exawarp::tests
