// Jobs that serve with data-parallel attention, through the program: against iterations without a
// cluster, in each mode, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/e2e/jobs_study.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;

const std::string kModel =
    "{name: small, layers: 2, hidden: 64, ffn: 128, heads: 4, vocabulary: 100}";
const std::string kModelOfExperts =
    "{name: small, layers: 2, hidden: 64, ffn: 128, heads: 4, vocabulary: 100,\n"
    "              moe: {experts: 8, top_k: 2, ffn: 64, dense_layers: 1}}";

// Groups of two devices that compute prompts, and of one that decode.
const std::string kGroups = R"(jobs:
  - {name: training, workload: workload.yaml}
  - name: chat
    serving:
      model: )" + kModel + R"(
      tensor: 4
      attention_data: 2
      replicas: 2
      scheduler: {policy: sarathi, blocks: 40, request_tokens_max: 128, batch_requests_max: 8,
                  chunk_tokens: 48, latency: 1 us}
      decode:
        tensor: 4
        attention_data: 4
        replicas: 1
        scheduler: {policy: vllm, blocks: 40, request_tokens_max: 128, batch_requests_max: 8}
        placement: nodes
      requests: {arrivals: poisson, rate: 100000, count: 24, prompt: {tokens: 60},
                 output: {tokens: 5}}
)";

std::string exchanging() {
  const std::string jobs =
      replaced(kGroups, kModel, kModelOfExperts +
                                    "\n      experts: exchange\n      routing: {imbalance: 0.5}");
  return replaced(jobs, "        placement: nodes\n",
                  "        placement: nodes\n        keys: by_layer\n");
}

class ServedAttention : public JobsStudy {
 protected:
  void expect_refusal(const std::string& part, const std::string& by,
                      const std::string& text) const {
    const std::string line = refusal(replaced(kGroups, part, by));
    EXPECT_NE(line.find(text), std::string::npos) << line;
  }
};

TEST_F(ServedAttention, EveryModeAndFidelityAgrees) {
  for (const std::string& jobs : {kGroups, exchanging()}) {
    for (const char* fidelity : {"analytical", "message", "packet"}) {
      const std::string set = std::string("network.fidelity=") + fidelity;
      const json expected = summary(jobs, {"--sync", "sequential", "--set", set});
      EXPECT_EQ(expected["serving"][0]["done"], 24);
      EXPECT_EQ(expected["serving"][0]["pools"][1]["attention_data"], 4);
      for (const std::vector<std::string>& mode :
           {std::vector<std::string>{"--sync", "conservative", "--threads", "2"},
            {"--sync", "optimistic", "--threads", "2", "--partitions", "4"},
            {"--sync", "optimistic", "--threads", "1", "--audit", "0.2"}}) {
        std::vector<std::string> arguments = mode;
        arguments.insert(arguments.end(), {"--set", set});
        const json s = summary(jobs, arguments);
        EXPECT_EQ(s["digest"], expected["digest"]) << mode[1] << " " << fidelity;
        EXPECT_EQ(s["serving"], expected["serving"]) << mode[1] << " " << fidelity;
      }
    }
  }
}

// Replicas that do both, one request at a time.
const std::string kOne = R"(      tensor: 4
      attention_data: 2
)";
const std::string kRequests =
    "requests: {arrivals: static, rate: 100, count: 5, prompt: {tokens: 60}, output: {tokens: 5}}";
const std::string kScheduler =
    "{policy: vllm, blocks: 40, request_tokens_max: 128, batch_requests_max: 8, latency: 1 us}";

// The accelerator and the node of the small study.
json alone(const Workspace& workspace) {
  const std::string study = small_study();
  const std::size_t first = study.find("  accelerator:\n"), last = study.find("  fabric:\n");
  workspace.write("alone.yaml", "study: alone\nserving: " + kScheduler + "\niteration:\n" +
                                    "  model: " + kModel + "\n" +
                                    study.substr(first, last - first) +
                                    "  tensor: 4\n  attention_data: 2\n"
                                    "  all_reduce: {latency: 0 s, bandwidth: 100 GB/s}\n" +
                                    kRequests + "\n");
  const Ran ran = workspace.run({"serve", "alone.yaml", "--json"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  return json::parse(ran.out);
}

// Two words more with the scheduler, and the steps of rings: of two and two times three in each of
// two layers, and of three for the logits.
TEST_F(ServedAttention, TakesWhatIterationsWithoutAClusterDo) {
  const json expected = alone(workspace);
  const std::string jobs = "jobs:\n  - name: chat\n    serving:\n      model: " + kModel + "\n" +
                           kOne + "      scheduler: " + kScheduler + "\n      " + kRequests + "\n";
  const json chat = summary(jobs, {"--set", "network.fidelity=analytical"})["serving"][0];
  const double latencies_ps = 2e6 + (2 * (2 + 3 + 3) + 3) * 1e6;
  for (const char* what : {"first_token_ps", "per_token_ps"}) {
    const double took = chat[what]["mean"].get<double>();
    const double by_itself = expected[what]["mean"].get<double>();
    EXPECT_GT(by_itself, 1e6);
    EXPECT_NEAR(took, by_itself + latencies_ps, 10'000) << what;
  }
}

TEST_F(ServedAttention, OfOneGroupIsAsWithoutTheKey) {
  const auto with = [](const std::string& prompts, const std::string& decodes) {
    return replaced(replaced(kGroups, "      attention_data: 2\n", prompts),
                    "        attention_data: 4\n", decodes);
  };
  const std::string none = with("", "");
  const std::string one = with("      attention_data: 1\n", "        attention_data: 1\n");
  const json expected = summary(none), s = summary(one);
  EXPECT_EQ(s["digest"], expected["digest"]);
  EXPECT_EQ(s["serving"], expected["serving"]);
  EXPECT_NE(s["digest"], summary(kGroups)["digest"]);
}

TEST_F(ServedAttention, StandsInTheResolvedStudyAndInText) {
  const Ran ran = run(kGroups, {"--out", "found"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const std::string resolved = workspace.read("found/study.resolved.yaml");
  EXPECT_NE(resolved.find("attention_data: 2\n"), std::string::npos) << resolved;
  EXPECT_NE(resolved.find("attention_data: 4\n"), std::string::npos) << resolved;
  const std::string text = workspace.run({"run", "study.yaml"}).out;
  EXPECT_NE(text.find("2 x (tensor 4 in 2 groups, pipeline 1)"), std::string::npos) << text;
}

TEST_F(ServedAttention, RefusesWhatCannotBe) {
  expect_refusal("attention_data: 2", "attention_data: 3",
                 "attention_data\": does not divide what it splits");
  expect_refusal("attention_data: 4", "attention_data: 8",
                 "attention_data\": does not divide what it splits");
  expect_refusal("attention_data: 2", "attention_data: 0", "attention_data\": 0 is out of range");
  expect_refusal("attention_data: 4", "attention: 4", "attention_data");
  expect_refusal("heads: 4", "heads: 1", "tensor\": does not divide what it splits");
  expect_refusal("      attention_data: 2\n", "      experts: exchange\n      attention_data: 2\n",
                 "the model has none");
}

}  // namespace
}  // namespace exawarp::tests
