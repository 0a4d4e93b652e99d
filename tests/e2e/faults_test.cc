// Faults and jitter of a study through `exawarp run`: what they change, modes that agree, refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;

class FaultsOfARun : public testing::Test {
 protected:
  FaultsOfARun() {
    workspace.write("study.yaml", small_study());
    workspace.write("workload.yaml", small_workload());
  }
  Ran run(const std::vector<std::string>& overrides, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"run", "study.yaml", "--json"});
    for (const std::string& text : overrides) more.insert(more.end(), {"--set", text});
    return workspace.run(more);
  }
  json summary(const std::vector<std::string>& overrides,
               std::vector<std::string> more = {}) const {
    const Ran ran = run(overrides, std::move(more));
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return json::parse(ran.out);
  }
  const Workspace workspace;
};

TEST_F(FaultsOfARun, LengthenTheStepAndGiveOneDigestInEveryMode) {
  const std::vector<std::string> faulty{
      "faults.slow_links=[{links: [d0 s0], factor: 8, until: 5 ms}]",
      "faults.failed_switches=[{switches: [2], from: 10 us, until: 80 us}]",
      "network.latency_jitter={mean: 2 us}",
      "compute.jitter={distribution: lognormal, deviation: 0.2}"};
  const json usual = summary({});
  const json expected = summary(faulty, {"--sync", "sequential"});
  EXPECT_GT(expected["iteration_time_ps"], usual["iteration_time_ps"]);
  for (const char* mode : {"conservative", "optimistic"}) {
    EXPECT_EQ(summary(faulty, {"--sync", mode, "--threads", "2"})["digest"], expected["digest"]);
  }
  EXPECT_EQ(summary(faulty, {"--threads", "2", "--audit", "0.3"})["digest"], expected["digest"]);
}

TEST_F(FaultsOfARun, ThatCutSomeoneOffEndWithCodeThreeAndSayWho) {
  const Ran ran = run({"faults.failed_links=[{links: [d0 s0], from: 20 us}]"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_NE(ran.err.find("deadlocked: "), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("faults leave no way from device "), std::string::npos) << ran.err;
}

TEST_F(FaultsOfARun, SlowDevicesMayBeAShareOfAll) {
  const auto digest = [&](const std::string& rule) -> json {
    return summary({"faults.slow_devices=[{" + rule + ", factor: 2}]"})["digest"];
  };
  const json all = digest("devices: [0-7]"), half = digest("share: 0.5");
  EXPECT_EQ(digest("share: 1"), all);
  EXPECT_NE(half, all);
  EXPECT_NE(digest("share: 0.5, seed: 2"), half);
}

TEST_F(FaultsOfARun, ThatMakeNoSenseAreRefusedInOneLine) {
  const auto refused = [&](const std::vector<std::string>& overrides, const std::string& text) {
    const Ran ran = run(overrides);
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_NE(ran.err.find(text), std::string::npos) << ran.err;
    EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
    EXPECT_FALSE(workspace.has("results"));
  };
  const std::string rule = "faults.failed_links=[{links: [d0 s0]}]";
  refused({rule, "network.fidelity=analytical"}, "needs messages that take paths");
  refused({rule, "network.fidelity=flow"}, "is not simulated at network.fidelity flow");
  refused({"network.latency_jitter={mean: 2 us}", "network.fidelity=flow"},
          "is not simulated at network.fidelity flow");
  refused({"network={fidelity: analytical, latency_jitter: {mean: 1 us}}"},
          "needs messages that take paths");
  refused({"faults.failed_links=[{links: [d0 s9]}]"}, "no switch 9; expected 0 to ");
  refused({"faults.slow_devices=[{devices: [8], factor: 2}]"}, "no such device: 8");
  refused({"faults.slow_devices=[{devices: [1], share: 0.5, factor: 2}]"}, "beside share");
  refused({"faults.slow_devices=[{factor: 2}]"}, "is missing; expected it, or a share");
  refused({"faults.slow_devices=[{share: 1.5, factor: 2}]"}, "1.5 is out of range");
  refused({"network.latency_jitter={mean: 1 us, distribution: gaussian}"},
          "expected one of: normal, uniform, lognormal, exponential");
  refused({"network.latency_jitter={mean: 0 us}"}, "out of range");
  refused({"compute.jitter={distribution: uniform, deviation: 0.6}"},
          "expected a number in [0, 0.5]");
  refused({"compute.jitter=0.3"}, "0.25");
  refused({"placement.method=blocks"}, "did you mean \"block\"?");
  refused({"engine.sync=optimist"}, "did you mean \"optimistic\"?");
  refused({"network.fidelity=packets"}, "expected one of: ");
  refused({"collectives={rules: [{algorithm: rings}]}"}, "did you mean \"ring\"?");
  refused({"system.fabric.scale_out.link_latency=-10 ns"}, "-10 ns");
  refused({"system.fabric.scale_out.devices_per_leaf=6"}, "is no multiple of node.devices 4");
  refused({"system.fabric=nowhere.yaml"}, "nowhere.yaml");
}

}  // namespace
}  // namespace exawarp::tests
