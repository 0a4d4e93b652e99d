// Steps that repeat and are simulated once: every figure is that of all steps simulated, and where
// they do not, the run says why. tests/campaign/repetition.py compares whole studies.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

const Words kFolded{"network.fidelity=analytical", "fold=auto"};

Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Where two summaries say different things; sums of fractions may be rounded differently.
std::string first_difference(const json& a, const json& b, const std::string& path = "") {
  if (a.is_number_float() && b.is_number_float()) {
    const double x = a.get<double>(), y = b.get<double>();
    return std::abs(x - y) <= 1e-9 * std::max(std::abs(x), std::abs(y)) ? "" : path;
  }
  if (a.type() != b.type() || a.size() != b.size()) return path;
  if (!a.is_structured()) return a == b ? "" : path;
  for (const auto& [key, value] : a.items()) {
    const json* other = a.is_array() ? &b[std::stoul(key)] : b.contains(key) ? &b[key] : nullptr;
    if (other == nullptr) return path + "/" + key;
    if (std::string found = first_difference(value, *other, path + "/" + key); !found.empty()) {
      return found;
    }
  }
  return "";
}

class RepetitionOfSteps : public testing::Test {
 protected:
  Ran run(const std::string& study, const Words& overrides, const Words& more = {}) const {
    const std::string file = EXAWARP_SOURCE_DIR "/configs/studies/" + study + ".yaml";
    Words words{"run", file, "--json", "--force"};
    for (const std::string& text : overrides) words.insert(words.end(), {"--set", text});
    return workspace.run(words + more);
  }
  json result(const std::string& study, const Words& overrides, const Words& more = {}) const {
    const Ran ran = run(study, overrides, more);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return ran.exit_code == 0 ? json::parse(ran.out) : json();
  }
  const Workspace workspace;
};

TEST_F(RepetitionOfSteps, GivesTheFiguresOfAllSteps) {
  const std::pair<const char*, Words> studies[] = {
      {"llama2_7b_8", {"workload.transformer.steps=20"}},
      {"llama2_7b_64_dragonfly", kFolded + Words{"workload.transformer.steps=20"}},
      {"llama3_8b_context_32", kFolded + Words{"workload.transformer.steps=18"}},
      {"llama3_8b_fsdp_64", kFolded + Words{"workload.transformer.steps=30"}},
      {"mixtral_8x7b_64", kFolded + Words{"workload.transformer.steps=18"}},
      {"resnet50_64", kFolded + Words{"workload.resnet.steps=40"}},
      {"dlrm_dcnv2_64", kFolded + Words{"workload.dlrm.steps=40"}}};
  for (const auto& [study, overrides] : studies) {
    SCOPED_TRACE(study);
    const json repeated = result(study, overrides + Words{"repetition=exact"});
    const json whole = result(study, overrides);
    EXPECT_TRUE(repeated["repetition"]["repeated"].get<bool>());
    EXPECT_EQ(repeated["repetition"]["simulated_steps"], 4);
    EXPECT_LT(repeated["committed_events"].get<int>() * 4, whole["committed_events"].get<int>());
    EXPECT_NE(repeated["digest"], whole["digest"]);
    for (const char* part :
         {"simulated_time_ps", "iteration_time_ps", "tokens_per_s", "breakdown", "statements",
          "energy", "memory", "compute", "pedigree", "classes", "jobs"}) {
      EXPECT_EQ(first_difference(repeated[part], whole[part]), "") << part;
    }
  }
}

TEST_F(RepetitionOfSteps, HasOneDigestInEveryMode) {
  const Words overrides{"workload.transformer.steps=100", "repetition=exact"};
  const json first = result("llama2_7b_8", overrides, {"--sync", "sequential"});
  for (const Words& mode :
       {Words{"--sync", "conservative", "--threads", "2"}, {"--threads", "1", "--partitions", "4"},
        {"--threads", "4", "--partitions", "4", "--audit", "0.1"}}) {
    const json other = result("llama2_7b_8", overrides, mode);
    EXPECT_EQ(other["digest"], first["digest"]) << mode[1];
    EXPECT_EQ(other["repetition"], first["repetition"]) << mode[1];
  }
}

TEST_F(RepetitionOfSteps, SaysWhyNot) {
  const std::string steps = "workload.transformer.steps=18";
  struct Case {
    Words overrides, more;
    std::string why;
  };
  const Case cases[] = {
      {{steps, "compute.jitter=0.05"}, {}, "compute times have jitter"},
      {{steps, "network.latency_jitter={mean: 2 us}"}, {}, "latencies have jitter"},
      {{steps, "faults.slow_devices=[{devices: [1], factor: 1.5}]"}, {}, "devices are slow"},
      {{steps, "faults.slow_links=[{links: [\"d0:0\"], factor: 3}]"}, {}, "links are at fault"},
      {{steps, "changes=[{at: 1 ms, set: [compute.jitter=0.1]}]"},
       {},
       "the study changes on its way"},
      {{steps, "workload.transformer.storage.checkpoint_every=2"},
       {},
       "some steps write a checkpoint of the model"},
      {{steps, "network.fidelity=packet", "network.packet.packet_size=16 MiB"},
       {},
       "the network is simulated packet by packet"},
      {{"workload.transformer.steps=17"}, {}, "there are too few steps"},
      {{steps}, {"--timeline", "t.pftrace"}, "--timeline shows each step"},
      {{steps}, {"--checkpoint", "c"}, "checkpoints of the run are written"},
      {{steps}, {"--critical-path", "p.json"}, "--critical-path goes through each step"}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.why);
    const json report = result("llama2_7b_8", c.overrides + Words{"repetition=auto"}, c.more);
    EXPECT_FALSE(report["repetition"]["repeated"].get<bool>());
    EXPECT_EQ(report["repetition"]["why_not"], c.why);
    const Ran refused = run("llama2_7b_8", c.overrides + Words{"repetition=exact"}, c.more);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.err.find(c.why), std::string::npos) << refused.err;
    EXPECT_EQ(std::ranges::count(refused.err, '\n'), 1) << refused.err;
  }
}

// Messages that meet drift from step to step, so that no two are alike.
TEST_F(RepetitionOfSteps, FindsStepsThatDiffer) {
  const Words overrides{"workload.transformer.steps=18"};
  const json repeated = result("llama3_8b_fsdp_64", overrides + Words{"repetition=auto"});
  const json whole = result("llama3_8b_fsdp_64", overrides);
  EXPECT_EQ(repeated["digest"], whole["digest"]);
  const std::string why = repeated["repetition"]["why_not"];
  EXPECT_EQ(why.find("step 3 takes "), 0u) << why;
}

TEST_F(RepetitionOfSteps, RefusesWhatNoClockHolds) {
  const Ran ran = run("llama2_7b_8", {"workload.transformer.steps=1000000",
                                      "workload.transformer.host_time=30 s", "repetition=exact"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.err.find("1000000 steps of 30.7"), std::string::npos) << ran.err;
  const Ran none = run("llama2_7b_8", {"workload.transformer.steps=1000000"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.err.find("or a study with repetition: auto"), std::string::npos) << none.err;
}

}  // namespace
}  // namespace exawarp::tests
