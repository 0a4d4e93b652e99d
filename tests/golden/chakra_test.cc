// Trace sets of other tools: each is imported, valid, run at every fidelity of `exawarp run` (or
// refused for a reason that is named), and comes back equal from an export (chakra/README.md).
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/e2e/returns.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;
using Arguments = std::vector<std::string>;

constexpr const char* kTraces = EXAWARP_SOURCE_DIR "/tests/golden/astra/traces.tar.gz";
constexpr const char* kChakra = EXAWARP_SOURCE_DIR "/tests/golden/chakra/";
const Arguments kFidelities{"analytical", "message", "packet"};

class TraceSets : public testing::Test {
 protected:
  static void unpack(const std::string& archive) {
    ASSERT_EQ(std::system(("tar -xzf " + archive + " 2>/dev/null").c_str()), 0);
  }

  [[nodiscard]] Ran import(Arguments arguments, const std::string& output) const {
    arguments.insert(arguments.begin(), {"workload", "import"});
    arguments.insert(arguments.end(), {"-o", output});
    return workspace_.run(arguments);
  }

  // Imports, validates, runs, exports, imports again with the same options, and compares.
  std::map<std::string, json> expect_all(const Arguments& first, const Arguments& options) const {
    Arguments arguments = first;
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Ran in = import(arguments, "a.xwg");
    EXPECT_EQ(in.exit_code, 0) << in.err;
    EXPECT_EQ(workspace_.run({"workload", "validate", "a.xwg"}).exit_code, 0);
    expect_returns(workspace_, "a.xwg", "chakra", options);
    return run_at(kFidelities, workspace_, "a.xwg");
  }

  const Workspace workspace_;
};

TEST_F(TraceSets, ThoseOfTheSymbolicGeneratorRunAndReturn) {
  unpack(kTraces);
  int sets = 0;
  for (const auto& set : std::filesystem::directory_iterator("stage")) {
    SCOPED_TRACE(set.path().string());
    const auto summaries = expect_all({"chakra", (set.path() / "workload").string()},
                                      {"--macs", "--element-bytes", "2", "--comm-groups",
                                       (set.path() / "comm_group.json").string()});
    for (const auto& [fidelity, summary] : summaries) {
      EXPECT_GT(summary.at("simulated_time_ps"), 0) << fidelity;
    }
    ++sets;
  }
  EXPECT_EQ(sets, 6);
}

TEST_F(TraceSets, ACollectiveAsMessagesRunsAndReturns) {
  unpack(kTraces);
  const auto summaries = expect_all(
      {"chakra",
       "examples/system/custom_collectives/custom_ring_allreduce_8npus_1MB/custom_allreduce"},
      {});
  ASSERT_EQ(summaries.size(), 3u);
  // Seven computations of 7 us each, one after the other, and what the messages add.
  for (const auto& [fidelity, summary] : summaries) {
    EXPECT_GT(summary.at("simulated_time_ps"), 49'000'000) << fidelity;
    EXPECT_LT(summary.at("simulated_time_ps"), 490'000'000) << fidelity;
  }
}

TEST_F(TraceSets, ARecordedTrainingStepRunsAndReturns) {
  unpack(std::string(kChakra) + "feeder_tests_trace.tar.gz");
  for (const Arguments& options : {Arguments{}, Arguments{"--recorded-collectives"}}) {
    const auto summaries = expect_all({"chakra", "tests/data/chakra"}, options);
    ASSERT_EQ(summaries.size(), 3u);
    // The host alone takes most of the 381,795 us that all nodes take together.
    EXPECT_GT(summaries.at("message").at("simulated_time_ps"), 150'000'000'000);
    EXPECT_LT(summaries.at("message").at("simulated_time_ps"), 382'000'000'000);
  }
}

TEST_F(TraceSets, TheFeedersJsonLacksCollectivesAndSaysSo) {
  unpack(std::string(kChakra) + "json_trace.tar.gz");
  const Ran refused = import({"chakra", "jsonData/chakra"}, "a.xwg");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(refused.err,
            "jsonData/chakra.0.json: node 435: has no comm_type; "
            "--recorded-collectives takes what it recorded instead\n");
  EXPECT_FALSE(workspace_.has("a.xwg"));
  for (const char* name : {"jsonData/chakra", "jsonData/small_chakra"}) {
    SCOPED_TRACE(name);
    expect_all({"chakra", name}, {"--recorded-collectives"});
  }
}

TEST_F(TraceSets, AnExecutionTraceOfPyTorchRunsAndReturns) {
  unpack(std::string(kChakra) + "1.0.2-chakra.0.0.4.tgz");
  const Ran in = import({"pytorch", "1.0.2-chakra.0.0.4.json"}, "a.xwg");
  ASSERT_EQ(in.exit_code, 0) << in.err;
  EXPECT_NE(in.out.find("263 host operations, 0 of them timed; 0 device operations; 10 transfers"),
            std::string::npos)
      << in.out;
  EXPECT_EQ(workspace_.run({"workload", "validate", "a.xwg"}).exit_code, 0);
  expect_returns(workspace_, "a.xwg", "chakra");
  expect_returns(workspace_, "a.xwg", "json");
  EXPECT_EQ(run_at(kFidelities, workspace_, "a.xwg").size(), 3u);
  const Ran again = import({"chakra", "1.0.2-chakra"}, "b.xwg");
  EXPECT_EQ(again.exit_code, 2);
}

TEST_F(TraceSets, TextWorkloadsRunAndReturn) {
  int files = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(std::string(kChakra) + "text_workloads")) {
    SCOPED_TRACE(file.path().string());
    Arguments arguments{"text", file.path().string(), "--ranks", "16", "--passes", "2"};
    const std::string name = file.path().filename().string();
    if (name.starts_with("MLP_Hybrid") || name.starts_with("sample")) {
      arguments.insert(arguments.end(), {"--model-parallel", "4"});
    }
    const Ran in = import(arguments, "a.xwg");
    ASSERT_EQ(in.exit_code, 0) << in.err;
    EXPECT_EQ(workspace_.run({"workload", "validate", "a.xwg"}).exit_code, 0);
    expect_returns(workspace_, "a.xwg", "chakra");
    EXPECT_EQ(run_at(kFidelities, workspace_, "a.xwg").size(), 3u);
    ++files;
  }
  EXPECT_EQ(files, 10);
}

}  // namespace
}  // namespace exawarp::tests
