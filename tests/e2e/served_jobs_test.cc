// Jobs that serve through the program: figures, modes, a restart from a checkpoint, refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/e2e/jobs_study.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;

const std::string kServing = R"(jobs:
  - {name: training, workload: workload.yaml}
  - name: chat
    serving:
      model: {name: small, layers: 2, hidden: 64, ffn: 128, heads: 4, vocabulary: 100}
      tensor: 2
      replicas: 2
      by_formula: true
      scheduler: {policy: vllm, blocks: 40, request_tokens_max: 128, batch_requests_max: 8,
                  latency: 1 us, batch_time: {base: 20 us, per_token: 100 ns}}
      decode:
        tensor: 4
        pipeline: 1
        replicas: 1
        by_formula: true
        scheduler: {policy: sarathi, blocks: 40, request_tokens_max: 128, batch_requests_max: 8,
                    batch_time: {base: 20 us, per_token: 100 ns}}
        placement: nodes
      requests: {arrivals: poisson, rate: 10000, count: 12, prompt: {tokens: 60},
                 output: {tokens: 5}}
      objectives: {first_token: 1 s}
)";

class ServedJobs : public JobsStudy {
 protected:
  // `by` in place of `part` is refused with one line that has `text`.
  void expect_refusal(const std::string& part, const std::string& by, const std::string& text,
                      const std::vector<std::string>& arguments = {}) const {
    const std::string line = refusal(replaced(kServing, part, by), arguments);
    EXPECT_NE(line.find(text), std::string::npos) << line;
  }
};

TEST_F(ServedJobs, HaveFiguresOfRequestsAndPools) {
  const json s = summary(kServing);
  ASSERT_EQ(s["jobs"].size(), 3u);
  EXPECT_EQ(s["jobs"][2]["name"], "chat decode");
  ASSERT_EQ(s["serving"].size(), 1u);
  const json& chat = s["serving"][0];
  EXPECT_EQ(chat["done"], 12);
  EXPECT_EQ(chat["good"], 12);
  EXPECT_GT(chat["first_token_ps"]["p50"], 26'000'000);
  EXPECT_GT(chat["per_token_ps"]["p50"], 20'000'000);
  EXPECT_GT(chat["keys_transfer_ps"]["mean"], 3'000'000);
  ASSERT_EQ(chat["pools"].size(), 2u);
  for (const json& pool : chat["pools"]) {
    EXPECT_GT(pool["batches"], 0);
    EXPECT_GT(pool["utilisation"].get<double>(), 0);
    EXPECT_LE(pool["utilisation"].get<double>(), 1);
  }
  EXPECT_NEAR(chat["pools"][0]["tokens_per_batch"].get<double>() *
                  chat["pools"][0]["batches"].get<double>(),
              12 * 60, 1e-6);
  const std::string text = workspace.run({"run", "study.yaml"}).out;
  EXPECT_NE(text.find("\n  keys move"), std::string::npos) << text;
}

// The same, with keys and values that go layer by layer.
std::string by_layer() {
  return replaced(kServing, "        placement: nodes\n",
                  "        placement: nodes\n        keys: by_layer\n");
}

TEST_F(ServedJobs, TellHowMuchOfTheKeysIsExposed) {
  const json whole = summary(kServing)["serving"][0];
  const json early = summary(by_layer())["serving"][0];
  EXPECT_EQ(early["done"], 12);
  EXPECT_GT(whole["keys_exposed_ps"]["p50"], 3'000'000);
  EXPECT_LT(early["keys_exposed_ps"]["mean"], whole["keys_exposed_ps"]["mean"]);
  EXPECT_EQ(early["keys_wait_ps"]["p50"], 0);
  const std::string text = workspace.run({"run", "study.yaml"}).out;
  EXPECT_NE(text.find("\n  keys exposed"), std::string::npos) << text;
}

// The same of a model with experts, to which tokens go.
std::string with_experts() {
  return replaced(replaced(by_layer(), "vocabulary: 100}", "vocabulary: 100,\n"
                           "              moe: {experts: 8, top_k: 2, ffn: 64}}"),
                  "      tensor: 2\n",
                  "      experts: exchange\n      routing: {imbalance: 0.5}\n      tensor: 2\n");
}

TEST_F(ServedJobs, ExchangeTokensWithExperts) {
  const auto share = [](const json& s, const char* kind) {
    return s["jobs"][1]["breakdown"]["exposed_communication_by_kind"][kind].get<double>();
  };
  const json summed = summary(replaced(with_experts(),
                                       "experts: exchange\n      routing: {imbalance: 0.5}\n",
                                       "experts: sum\n"));
  const json exchanged = summary(with_experts());
  EXPECT_EQ(exchanged["serving"][0]["done"], 12);
  EXPECT_EQ(share(summed, "expert"), 0);
  EXPECT_GT(share(exchanged, "expert"), 0);
  EXPECT_LT(share(exchanged, "tensor"), share(summed, "tensor"));
}

TEST_F(ServedJobs, EveryModeAndFidelityAgrees) {
  for (const char* fidelity : {"analytical", "message", "packet"}) {
    const std::string study = fidelity[0] == 'm'   ? kServing
                              : fidelity[0] == 'a' ? by_layer()
                                                   : with_experts();
    const std::string set = std::string("network.fidelity=") + fidelity;
    const json expected = summary(study, {"--sync", "sequential", "--set", set});
    for (const std::vector<std::string>& mode :
         {std::vector<std::string>{"--sync", "conservative", "--threads", "2"},
          {"--sync", "optimistic", "--threads", "2", "--partitions", "4"},
          {"--sync", "optimistic", "--threads", "1", "--audit", "0.2"}}) {
      std::vector<std::string> arguments = mode;
      arguments.insert(arguments.end(), {"--set", set});
      const json s = summary(study, arguments);
      EXPECT_EQ(s["digest"], expected["digest"]) << mode[1] << " " << fidelity;
      EXPECT_EQ(s["serving"], expected["serving"]) << mode[1] << " " << fidelity;
    }
  }
}

TEST_F(ServedJobs, RefuseWhatTheyCannotBe) {
  expect_refusal("policy: sarathi", "policy: orca", "cannot go on with what another pool has");
  expect_refusal("tensor: 4", "tensor: 3", "tensor");
  expect_refusal("pipeline: 1", "pipeline: 3", "at most the layers");
  expect_refusal("heads: 4", "heads: 0", "heads");
  expect_refusal("blocks: 40, request_tokens_max: 128, batch_requests_max: 8,\n                  "
                 "latency",
                 "blocks: 3, request_tokens_max: 128, latency", "blocks: \"3\"");
  expect_refusal("{policy: vllm,", "{policy: vllm, stages: 2,", "is the layout's");
  expect_refusal("{policy: vllm,", "{policy: vllm_v1, speculation: {tokens: 2},",
                 "expected none in a job");
  expect_refusal("      by_formula: true\n      sch", "      sch", "expected by_formula: true");
  expect_refusal("count: 12,", "count: 12, classes: [{name: a}],", "expected none in a job");
  expect_refusal("name: chat\n", "name: chat\n    workload: workload.yaml\n", "workload");
  expect_refusal("      tensor: 2\n", "      tensor: 2\n      experts: exchange\n",
                 "the model has none");
  expect_refusal("      tensor: 2\n", "      tensor: 2\n      routing: {imbalance: 0.5}\n",
                 "routing");
  expect_refusal("placement: nodes\n", "keys: layer\n", "keys");
  expect_refusal("placement: nodes\n", "layers_per_message: 2\n", "layers_per_message");
  expect_refusal("placement: nodes\n", "keys: by_layer\n        layers_per_message: 0\n",
                 "layers_per_message\": 0 is out of range");
  expect_refusal("tokens: 60", "tokens: 600", "expected at most 128");
  expect_refusal("count: 12", "count: 0", "requests.count");
  expect_refusal("model: {", "modle: {", "model");
  expect_refusal("jobs:\n", "background:\n  - {pattern: uniform, load: 0.3}\njobs:\n",
                 "does not go with a job that serves");
  expect_refusal("jobs:\n", "jobs:\n", "--timeline", {"--timeline", "t.json"});
}

TEST_F(ServedJobs, RefuseExchangesThatCannotBe) {
  const auto expect = [&](const std::string& part, const std::string& by, const std::string& text) {
    const std::string line = refusal(replaced(with_experts(), part, by));
    EXPECT_NE(line.find(text), std::string::npos) << line;
  };
  expect("imbalance: 0.5", "imbalance: 2", "imbalance");
  expect("imbalance: 0.5", "pad: true", "pad");
  expect("experts: exchange\n", "experts: exchange\n      expert: 2\n", "expert");
  expect("experts: exchange\n", "experts: swap\n", "experts");
  expect("experts: 8", "experts: 6", "expected a divisor of the experts, 6");
  expect("experts: exchange\n", "experts: exchange\n      exchanges: 5000\n", "exchanges");
}

TEST_F(ServedJobs, RefuseMoreMessagesOfKeysThanAReplicaCanCount) {
  const std::string many = replaced(by_layer(), "layers: 2,", "layers: 300,");
  const std::string line = refusal(
      replaced(many, "request_tokens_max: 128, batch_requests_max: 8,\n                    batch",
               "request_tokens_max: 16000000, batch_requests_max: 8,\n                    batch"));
  EXPECT_NE(line.find("layers_per_message"), std::string::npos) << line;
  EXPECT_NE(line.find("at most 268 messages"), std::string::npos) << line;
}

TEST_F(ServedJobs, SayThatTheyAreStuckWhereKeysHaveNoWay) {
  const std::string only_chat =
      replaced(kServing, "  - {name: training, workload: workload.yaml}\n", "");
  const Ran ran = run(only_chat + "faults: {failed_switches: [{share: 1, from: 1 us}]}\n");
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_NE(ran.err.find("unanswered requests: 12"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace exawarp::tests
