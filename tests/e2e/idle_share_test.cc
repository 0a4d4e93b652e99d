// `compute.idle_share: simulated`: the clock of busy devices follows from how long they wait, which
// follows from their clock.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

const std::string kSlowdown =
    "system.accelerator.sustained_slowdown=[{idle: 0, slowdown: 3}, {idle: 1, slowdown: 1}]";
const Words kFound{"--set", "compute.idle_share=simulated"};

class IdleShare : public testing::Test {
 protected:
  IdleShare() {
    workspace.write("study.yaml", replaced(small_study(), "100 TFLOP/s", "100 GFLOP/s"));
    workspace.write("workload.yaml", small_workload());
    workspace.write("gemm_bfloat16.xkt", small_kernel_table());
  }

  Ran run(const Words& more) const {
    Words all{"run", "study.yaml", "--json", "--set", "system.accelerator.tables=."};
    all.insert(all.end(), more.begin(), more.end());
    return workspace.run(all);
  }
  json summary(Words more, const Words& last = {}) const {
    more.insert(more.end(), {"--set", kSlowdown});
    more.insert(more.end(), last.begin(), last.end());
    const Ran ran = run(more);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return json::parse(ran.out);
  }

  const Workspace workspace;
};

TEST_F(IdleShare, IsWhatComesOutOfARunThatAssumesIt) {
  const json guessed = summary({})["clock"], found = summary(kFound)["clock"];
  EXPECT_DOUBLE_EQ(guessed["idle_share_assumed"], 0.15);
  EXPECT_DOUBLE_EQ(guessed["sustained_slowdown"], 2.7);
  EXPECT_GT(std::abs(guessed["idle_share"].get<double>() - 0.15), 0.05) << "a case that shows it";
  EXPECT_NEAR(found["idle_share_assumed"].get<double>(), found["idle_share"].get<double>(), 0.01);
  EXPECT_NEAR(found["sustained_slowdown"].get<double>(),
              3 - 2 * found["idle_share_assumed"].get<double>(), 1e-9);
}

TEST_F(IdleShare, IsTheSameAsOneThatIsGiven) {
  const json found = summary(kFound);
  const double share = found["clock"]["idle_share_assumed"];
  const json given = summary({"--set", "compute.idle_share=" + json(share).dump()});
  EXPECT_EQ(given["digest"], found["digest"]);
  EXPECT_EQ(given["pedigree"], found["pedigree"]);
}

TEST_F(IdleShare, IsMoreCertainWhereItIsNoGuess) {
  const json guessed = summary({}), given = summary({"--set", "compute.idle_share=0.15"});
  EXPECT_EQ(given["digest"], guessed["digest"]);
  EXPECT_LT(given["pedigree"]["compute_time_error"].get<double>(),
            guessed["pedigree"]["compute_time_error"].get<double>());
}

TEST_F(IdleShare, GivesTheSameDigestInEveryMode) {
  const json expected = summary(kFound, {"--sync", "sequential"});
  for (const char* sync : {"conservative", "optimistic"}) {
    EXPECT_EQ(summary(kFound, {"--sync", sync, "--threads", "2"})["digest"], expected["digest"])
        << sync;
  }
  EXPECT_NE(summary({})["digest"], expected["digest"]);
}

TEST_F(IdleShare, IsFoundAgainByARunThatGoesOn) {
  const json expected =
      summary(kFound, {"--checkpoint", "c", "--checkpoint-every", "100 us simulated"});
  int restarts = 0;
  for (const auto& entry : std::filesystem::directory_iterator("c")) {
    const Ran ran = workspace.run({"run", "--restart", entry.path().string(), "--json"});
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(json::parse(ran.out)["digest"], expected["digest"]) << entry.path();
    ++restarts;
  }
  EXPECT_GT(restarts, 0);
}

TEST_F(IdleShare, IsNotLookedForWhereItMakesNoDifference) {
  const Ran ran = run(kFound);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const json summary = json::parse(ran.out);
  EXPECT_DOUBLE_EQ(summary["clock"]["idle_share_assumed"], 0.15);
  EXPECT_EQ(summary["digest"], json::parse(run({}).out)["digest"]);
}

TEST_F(IdleShare, RefusesWhatIsNeitherANumberNorTheWord) {
  for (const std::string wrong : {"guessed", "1.5", "-0.1", "{a: 1}"}) {
    const Ran ran = run({"--set", "compute.idle_share=" + wrong});
    EXPECT_EQ(ran.exit_code, 2) << wrong;
    EXPECT_EQ(ran.err.find("--set compute.idle_share: "), 0u) << ran.err;
  }
  EXPECT_EQ(run({"--set", "compute.idle_share=guessed"}).err,
            "--set compute.idle_share: \"guessed\" is no number; expected one in [0, 1], or "
            "simulated\n");
  const Ran falling = run({"--set",
                           "system.accelerator.sustained_slowdown=[{idle: 0.3, slowdown: 2}, "
                           "{idle: 0.3, slowdown: 1}]"});
  EXPECT_EQ(falling.exit_code, 2);
  EXPECT_NE(falling.err.find("idle: is no more than that of the point before"), std::string::npos)
      << falling.err;
}

TEST_F(IdleShare, RefusesToFollowServing) {
  workspace.write("serving.yaml", R"(study: serving
devices: 2
jobs:
  - name: chat
    serving:
      model: {name: small, layers: 2, hidden: 64, ffn: 128, heads: 4, vocabulary: 100}
      tensor: 2
      by_formula: true
      scheduler: {policy: vllm, blocks: 40, request_tokens_max: 128, latency: 1 us,
                  batch_time: {base: 1 ms, per_token: 0 s}}
      requests: {arrivals: static, rate: 100, count: 4, prompt: {tokens: 60}, output: {tokens: 8}}
system:
)" + replaced(small_study().substr(small_study().find("  name: small")), "chip", "other"));
  const Words serving{"run", "serving.yaml", "--json"};
  const Ran sound = workspace.run(serving);
  EXPECT_EQ(sound.exit_code, 0) << sound.err;
  const Ran ran = workspace.run({"run", "serving.yaml", "--json", kFound[0], kFound[1]});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.err.find("is simulated, and job \"chat\" serves requests; expected a number"),
            std::string::npos)
      << ran.err;
}

}  // namespace
}  // namespace exawarp::tests
