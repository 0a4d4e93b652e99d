// `exawarp extrapolate` and `exawarp workload import single-gpu` through the program's commands:
// TrioSim's figures, one digest in every mode, the graph by `exawarp run`, and errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;
using Arguments = std::vector<std::string>;

const std::string kVgg = EXAWARP_SOURCE_DIR "/tests/golden/triosim/vgg13/";
constexpr double kRecordedMs = 94.038;

class Extrapolate : public testing::Test {
 protected:
  Extrapolate() {
    const std::string study = small_study();
    std::string system;  // of the study, as a file of its own
    std::size_t at = study.find("system:\n") + 8;
    while (at < study.size()) {
      const std::size_t end = study.find('\n', at) + 1;
      system += study.substr(at + 2, end - at - 2);
      at = end;
    }
    workspace_.write("system.yaml", system);
  }
  [[nodiscard]] Ran extrapolate(const Arguments& more) const {
    Arguments arguments{"extrapolate", kVgg + "trace.csv", "--tensors", kVgg + "tensor.csv"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return workspace_.run(arguments);
  }
  [[nodiscard]] json points(const Arguments& more) const {
    Arguments arguments{"--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ran ran = extrapolate(arguments);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return json::parse(ran.out).at("points");
  }

  const Workspace workspace_;
};

TEST_F(Extrapolate, HasTriosimsFigures) {
  const json all = points({"--rules", "triosim", "--micro-batch", "32"});
  ASSERT_EQ(all.size(), 13u);  // one GPU, and four cases on 2, 4 and 8
  EXPECT_NEAR(all[0]["step_ms"], kRecordedMs, 1e-9);
  EXPECT_EQ(all[3]["layout"], "data_parallel");
  EXPECT_EQ(all[3]["devices"], 8);
  EXPECT_NEAR(all[3]["step_ms"], 102.2255598769, 1e-9);
  EXPECT_NEAR(all[12]["step_ms"], 97.0595684874, 1e-9);
  const json other = points({"--rules", "triosim", "--layout", "data_parallel", "--devices", "2",
                             "--batch", "64", "--link-bandwidth", "130 GB/s"});
  ASSERT_EQ(other.size(), 1u);
  EXPECT_NEAR(other[0]["step_ms"], kRecordedMs / 2 + 532'191'392 / 2 / 130e6, 1e-6);
}

TEST_F(Extrapolate, HasOneDigestInEveryMode) {
  for (const char* layout : {"data_parallel", "tensor_parallel", "pipeline"}) {
    std::set<std::string> digests;
    for (const Arguments& mode : {Arguments{"--sync", "sequential", "--threads", "1"},
                                  Arguments{"--sync", "conservative", "--threads", "2"},
                                  Arguments{"--sync", "optimistic", "--threads", "1",
                                            "--partitions", "3"},
                                  Arguments{"--sync", "optimistic", "--threads", "2"}}) {
      Arguments arguments{"--layout", layout, "--devices", "4", "--cluster", "system.yaml"};
      arguments.insert(arguments.end(), mode.begin(), mode.end());
      const json all = points(arguments);
      ASSERT_EQ(all.size(), 1u);
      digests.insert(all[0]["digest"]);
    }
    EXPECT_EQ(digests.size(), 1u) << layout;
  }
}

TEST_F(Extrapolate, RunsAtEveryFidelity) {
  for (const char* fidelity : {"analytical", "message", "packet"}) {
    const json all = points({"--devices", "1,4", "--cluster", "system.yaml", "--sync",
                             "sequential", "--set", std::string("network.fidelity=") + fidelity,
                             "--set", "network.packet.packet_size=256 KiB"});
    ASSERT_EQ(all.size(), 6u);
    for (const json& point : all) {
      SCOPED_TRACE(point.dump() + fidelity);
      EXPECT_EQ(point["devices"] == 1, std::abs(double{point["step_ms"]} - kRecordedMs) < 1e-6);
      EXPECT_GT(point["recorded_share"], 0);
      EXPECT_LE(point["recorded_share"], 1.0000001);
    }
    EXPECT_LT(all[5]["step_ms"], kRecordedMs);   // a pipeline of four is faster than one device
    EXPECT_GT(all[1]["step_ms"], kRecordedMs);   // data parallelism does more
    EXPECT_GT(all[1]["speedup"], 3);
  }
}

TEST_F(Extrapolate, TheImportedGraphRunsToTheSameEnd) {
  const Arguments options{"--devices", "4", "--layout", "pipeline", "--micro-batch", "16",
                          "--schedule", "gpipe"};
  Arguments import{"workload", "import", "single-gpu", kVgg + "trace.csv", "--tensors",
                   kVgg + "tensor.csv", "-o", "a.xwg"};
  import.insert(import.end(), options.begin(), options.end());
  const Ran imported = workspace_.run(import);
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_EQ(workspace_.run({"workload", "validate", "a.xwg"}).exit_code, 0);
  Arguments write{"-o", "b.xwg"};
  write.insert(write.end(), options.begin(), options.end());
  ASSERT_EQ(extrapolate(write).exit_code, 0);
  EXPECT_EQ(workspace_.run({"workload", "diff", "a.xwg", "b.xwg"}).exit_code, 0);

  workspace_.write("study.yaml", "study: mine\nworkload: a.xwg\nsystem: system.yaml\n"
                                 "compute: {fidelity: recorded}\n");
  const Ran ran = workspace_.run({"run", "study.yaml", "--json", "--sync", "sequential"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  Arguments simulate = options;
  simulate.insert(simulate.end(), {"--cluster", "system.yaml"});
  const json all = points(simulate);
  EXPECT_EQ(json::parse(ran.out).at("simulated_time_ps").get<double>() * 1e-9,
            all[0]["step_ms"].get<double>());
}

TEST_F(Extrapolate, SaysWhatIsRecorded) {
  const Ran ran = extrapolate({"--devices", "2", "--layout", "pipeline", "--cluster",
                               "system.yaml", "--batch", "64"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("94.038 ms on one GPU for a batch of 128\non system.yaml, batch 64, "
                         "times in proportion to 128\n"), ran.out.npos) << ran.out;
  EXPECT_NE(ran.out.find("recorded: the share of a step"), ran.out.npos);
}

TEST_F(Extrapolate, RefusesInOneLine) {
  const std::pair<Arguments, const char*> cases[] = {
      {{"--devices", "0"}, "--devices"},
      {{"--layout", "both"}, "--layout: \"both\" is not known; expected one of: data_parallel"},
      {{"--layout", "ddp"}, "\"ddp\" is not known"},
      {{"--rules", "mine"}, "--rules: \"mine\" is not known; expected triosim"},
      {{"--rules", "triosim", "--cluster", "system.yaml"}, "--cluster: has no effect with --rules"},
      {{"--link-bandwidth", "1 GB/s"}, "--link-bandwidth: has no effect without --rules"},
      {{"--rules", "triosim", "--link-bandwidth", "1"}, "--link-bandwidth: \"1\""},
      {{"--rules", "triosim", "--link-bandwidth", "1 TB/s"}, "links between GPUs are faster"},
      {{"--bucket", "0 B"}, "--bucket: \"0 B\"; expected more than 0"},
      {{"--schedule", "zigzag"}, "--schedule: \"zigzag\" is not known"},
      {{"--micro-batch", "5", "--cluster", "system.yaml"},
       "a batch of 128 has no whole number of micro-batches of 5"},
      {{"--trace-batch", "127", "--cluster", "system.yaml"},
       "no tensor has the 127 rows of the recorded batch"},
      {{"--cluster", "nowhere"}, "nowhere"},
      {{"-o", "c.xwg"}, "--output: is one graph"},
  };
  for (const auto& [arguments, expected] : cases) {
    const Ran ran = extrapolate(arguments);
    EXPECT_EQ(ran.exit_code, 2) << expected;
    EXPECT_NE(ran.err.find(expected), ran.err.npos) << ran.err;
    EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
    EXPECT_EQ(ran.out, "");
  }
  EXPECT_FALSE(workspace_.has("c.xwg"));
  const Ran missing = workspace_.run({"extrapolate", "none.csv", "--tensors", "none.csv"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_NE(missing.err.find("none.csv"), missing.err.npos);
}

}  // namespace
}  // namespace exawarp::tests
