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

// Of a token a device of two has 2 layers x 2 heads of 16 x 2 x 2 bytes, of four half as much; of
// 0.9 x 80 GB 3 GB are workspace, and hardly anything weights.
TEST_F(ServedJobs, HaveTheRoomThatWeightsLeave) {
  std::string open = replaced(kServing, "vllm, blocks: 40,", "vllm,");
  open = replaced(open, "sarathi, blocks: 40,", "sarathi,");
  const std::string line = refusal(open, {"--set", "system.accelerator.memory_capacity=3 GB"});
  EXPECT_NE(line.find("study.yaml: jobs: \"chat\": the weights leave no room"), std::string::npos)
      << line;
  const json pools = summary(open, {"--set", "system.accelerator.memory_capacity=80 GB"})
      ["serving"][0]["pools"];
  EXPECT_NEAR(pools[0]["blocks"].get<double>(), 69e9 / 256 / 16, 100);
  EXPECT_NEAR(pools[1]["blocks"].get<double>(), 69e9 / 128 / 16, 100);

  open = replaced(open, "      tensor: 2\n", "      tensor: 2\n      cache_precision: fp8\n");
  const json chat = summary(open, {"--set", "system.accelerator.memory_capacity=80 GB"})
      ["serving"][0];
  EXPECT_NEAR(chat["pools"][0]["blocks"].get<double>(), 69e9 / 128 / 16, 100);
}

TEST_F(ServedJobs, SendKeysInTheirPrecision) {
  const std::string narrow =
      replaced(kServing, "      tensor: 2\n", "      tensor: 2\n      cache_precision: fp8\n");
  const json bf16 = summary(kServing)["serving"][0], fp8 = summary(narrow)["serving"][0];
  EXPECT_LT(fp8["keys_transfer_ps"]["mean"], bf16["keys_transfer_ps"]["mean"]);
}

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
  expect_refusal("{policy: vllm,", "{policy: vllm, speculation: {tokens: 2},", "unknown key");
  expect_refusal("      by_formula: true\n      sch", "      sch", "expected by_formula: true");
  expect_refusal("count: 12,", "count: 12, classes: [{name: a}, {name: a}],",
                 "is the name of another class");
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

// The rules of vllm_v1 in both pools, and classes.
const std::string kEngine = R"(jobs:
  - name: chat
    serving:
      model: {name: small, layers: 2, hidden: 64, ffn: 128, heads: 4, vocabulary: 100}
      tensor: 2
      by_formula: true
      scheduler: {policy: vllm_v1, blocks: 40, request_tokens_max: 128, batch_tokens_max: 64,
                  order: priority, prefix_cache: true, latency: 1 us,
                  batch_time: {base: 20 us, per_token: 100 ns}}
      decode:
        tensor: 2
        by_formula: true
        scheduler: {policy: vllm_v1, blocks: 18, request_tokens_max: 128, batch_tokens_max: 64,
                    order: priority, speculation: {tokens: 2, acceptance: 0.6, draft: 2 us},
                    batch_time: {base: 20 us, per_token: 100 ns}}
      requests:
        arrivals: poisson
        rate: 8000
        count: 60
        prompt: {lengths: uniform, least: 20, most: 80}
        output: {lengths: uniform, least: 20, most: 40}
        sessions: {turns: 1, shared_tokens: 16}
        classes:
          - {name: batch, share: 2, priority: 3}
          - {name: chat, priority: 0, objectives: {first_token: 10 s}}
)";

TEST_F(ServedJobs, HaveClassesPrioritiesAndDrafts) {
  const json chat = summary(kEngine)["serving"][0];
  EXPECT_EQ(chat["done"], 60);
  ASSERT_EQ(chat["classes"].size(), 2u);
  const json &batch = chat["classes"][0], &urgent = chat["classes"][1];
  EXPECT_EQ(batch["done"].get<int>() + urgent["done"].get<int>(), 60);
  EXPECT_EQ(batch.count("good"), 0u);
  EXPECT_EQ(urgent["good"], urgent["done"]);
  EXPECT_EQ(chat["good"], 60);
  EXPECT_LT(urgent["end_ps"]["mean"].get<double>(), 0.7 * batch["end_ps"]["mean"].get<double>());
  const json& decodes = chat["pools"][1];
  EXPECT_NEAR(decodes["speculation"]["accepted_share"].get<double>(), (0.6 + 0.36) / 2, 0.08);
  EXPECT_GT(decodes["restarts"], 0);
  EXPECT_GT(chat["pools"][0]["prefix_cache"]["found_tokens"], 0);
  const std::string text = workspace.run({"run", "study.yaml"}).out;
  for (const char* line : {"\n  class         chat, priority 0", "drafts", "prefix cache"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
  // Without drafts there are more batches; without priorities nobody is far ahead.
  const json plain = summary(
      replaced(kEngine, "speculation: {tokens: 2", "speculation: {tokens: 0"))["serving"][0];
  EXPECT_GT(plain["pools"][1]["batches"], decodes["batches"]);
  const json equal = summary(replaced(kEngine, "priority: 3", "priority: 0"))["serving"][0];
  EXPECT_GT(equal["classes"][1]["end_ps"]["mean"].get<double>(),
            0.8 * equal["classes"][0]["end_ps"]["mean"].get<double>());
}

TEST_F(ServedJobs, DrawWhatKernelsThatWaitForMemoryDo) {
  const json s = summary(kEngine, {"--set",
                                   "system.accelerator.power={idle: 100 W, limit: 500 W, "
                                   "communicating: 100 W, memory_share: 0.5}"});
  const json& chat = s["serving"][0];
  double computing = 0;
  for (const json& pool : chat["pools"]) {
    computing += 2 * pool["computing"].get<double>() * chat["makespan_ps"].get<double>() * 1e-12;
  }
  EXPECT_GT(computing, 0);
  EXPECT_NEAR(s["energy"]["by_part_j"]["computing"].get<double>(), 0.5 * (500 - 100) * computing,
              1e-6 * 200 * computing);
  EXPECT_EQ(s["energy"]["by_part_j"]["communicating"].get<double>(), 0);
  const double tokens =
      chat["output_tokens_per_s"].get<double>() * chat["makespan_ps"].get<double>() * 1e-12;
  const double total = s["energy"]["total_j"].get<double>();
  EXPECT_NEAR(s["energy"]["answered_token_j"].get<double>() * tokens, total, 1e-6 * total);
}

TEST_F(ServedJobs, OfferThoseFirstThatPriorityPutsFirst) {
  // A pool that decodes one request at a time, to which more come than it can answer.
  const std::string slow = replaced(kEngine, "blocks: 18, request_tokens_max: 128,",
                                    "blocks: 18, request_tokens_max: 128, batch_requests_max: 1,");
  const auto ratio = [&](const std::string& jobs) {
    const json classes = summary(jobs)["serving"][0]["classes"];
    return classes[1]["per_token_ps"]["mean"].get<double>() /
           classes[0]["per_token_ps"]["mean"].get<double>();
  };
  EXPECT_LT(ratio(slow), 0.5);
  const std::size_t decode = slow.find("      decode:");
  EXPECT_GT(ratio(slow.substr(0, decode) + replaced(slow.substr(decode), "order: priority,", "")),
            0.6);
}

TEST_F(ServedJobs, OfVllmV1AgreeInEveryMode) {
  const std::string closed = replaced(kEngine, "turns: 1, shared_tokens: 16",
                                      "turns: 3, shared_tokens: 16, gap: 50 us, closed: true");
  const std::string shorter = replaced(closed, "least: 20, most: 80", "least: 2, most: 8");
  const std::string jobs = replaced(shorter, "least: 20, most: 40", "least: 2, most: 30");
  const json expected = summary(jobs, {"--sync", "sequential"});
  EXPECT_EQ(expected["serving"][0]["done"], 60);
  EXPECT_NE(expected["digest"], summary(replaced(jobs, "closed: true", "closed: false"))["digest"]);
  for (const std::vector<std::string>& mode :
       {std::vector<std::string>{"--sync", "conservative", "--threads", "2"},
        {"--sync", "optimistic", "--threads", "2", "--partitions", "4"},
        {"--sync", "optimistic", "--threads", "1", "--audit", "0.2"}}) {
    const json s = summary(jobs, mode);
    EXPECT_EQ(s["digest"], expected["digest"]) << mode[1];
    EXPECT_EQ(s["serving"], expected["serving"]) << mode[1];
  }
}

// A prompt takes 1 ms of its replica, an answer 7 ms of one that decodes (batches of one request):
// of eight devices the split that serves most has one for prompts.
const std::string kSplit = R"(jobs:
  - name: chat
    serving:
      model: {name: small, layers: 2, hidden: 64, ffn: 128, heads: 4, vocabulary: 100}
      by_formula: true
      scheduler: {policy: vllm, blocks: 40, request_tokens_max: 128, latency: 1 us,
                  router: least_outstanding, batch_time: {base: 1 ms, per_token: 0 s}}
      decode:
        by_formula: true
        scheduler: {policy: vllm, blocks: 40, request_tokens_max: 128, batch_requests_max: 1,
                    router: least_outstanding, batch_time: {base: 1 ms, per_token: 0 s}}
      requests: {arrivals: static, rate: 100, count: 400, prompt: {tokens: 60},
                 output: {tokens: 8}}
      objectives: {end: 30 ms}
)";

TEST_F(ServedJobs, HaveACapacityForEachSplit) {
  workspace.write("study.yaml", replaced(small_study(), "workload: workload.yaml\n",
                                         kSplit + "network: {fidelity: analytical}\n"));
  const auto capacity = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"capacity", "study.yaml", "--tolerance", "0.05"});
    return workspace.run(arguments);
  };
  const Ran ran = capacity({"--split", "4", "--below", "1", "--json", "--out", "found"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const json r = json::parse(ran.out);
  EXPECT_EQ(json::parse(workspace.read("found/summary.json")), r);
  ASSERT_EQ(r["results"].size(), 3u);
  EXPECT_EQ(r["results"][0]["setting"], "1 x 1x1 + 3 x 1x1");
  EXPECT_EQ(r["best"], 0);
  // 7 ms of decoding and the words before them, at three, two and one that decode.
  for (const std::size_t i : {0u, 1u, 2u}) {
    const double rate = r["results"][i]["rate"].get<double>();
    const double known = static_cast<double>(3 - i) / 7.0e-3;
    EXPECT_GT(rate, 0.85 * known) << i;
    EXPECT_LT(rate, 1.1 * known) << i;
    EXPECT_EQ(r["results"][i]["devices"], 4);
  }
  EXPECT_GE(r["front"].size(), 1u);
  const json last = r["results"][0]["points"].back();
  EXPECT_DOUBLE_EQ(last["rate"].get<double>(), r["results"][0]["rate"].get<double>() / 2);
  // As it is, and by hand.
  std::vector<std::string> by_hand{"--json"};
  for (const json& set : r["results"][1]["set"]) {
    by_hand.insert(by_hand.end(), {"--set", set.get<std::string>()});
  }
  EXPECT_EQ(json::parse(capacity(by_hand).out)["results"][0]["rate"], r["results"][1]["rate"]);
  const std::string text = capacity({"--split", "3"}).out;
  EXPECT_NE(text.find("highest load: 1 x 1x1 + 2 x 1x1"), std::string::npos) << text;
}

TEST_F(ServedJobs, SayWhatACapacityNeeds) {
  const auto expect = [&](const std::string& jobs, std::vector<std::string> arguments,
                          const std::string& text) {
    workspace.write("study.yaml", replaced(small_study(), "workload: workload.yaml\n", jobs));
    arguments.insert(arguments.begin(), {"capacity", "study.yaml", "--out", "found"});
    const Ran ran = workspace.run(arguments);
    EXPECT_EQ(ran.exit_code, 2) << text;
    EXPECT_NE(ran.err.find(text), std::string::npos) << ran.err;
    EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
    EXPECT_FALSE(workspace.has("found"));
  };
  expect(kSplit, {"--split", "1"}, "have no room for a replica");
  expect(kSplit, {"--split", "4", "--prompts", "1by1"}, "\"1by1\" is no layout");
  expect(kSplit, {"--split", "4", "--prompts", "3x1"}, "tensor");
  expect(kSplit, {"--prompts", "1x1"}, "without --split");
  expect(kSplit, {"--job", "chap"}, "did you mean \"chat\"?");
  expect(kSplit, {"--set", "jobs.1.start=1 ms"}, "is a list of 1");
  expect(replaced(kSplit, "      objectives: {end: 30 ms}\n", ""), {}, "objectives: are missing");
  expect("jobs:\n  - {name: training, workload: workload.yaml}\n", {}, "has no job that serves");
  const std::size_t decode = kSplit.find("      decode:"), rest = kSplit.find("      requests:");
  expect(kSplit.substr(0, decode) + kSplit.substr(rest), {"--split", "4"}, "has no decode");
  expect(kSplit + kSplit.substr(6, kSplit.find("chat") - 6) + "other" +
             kSplit.substr(kSplit.find("chat") + 4),
         {}, "has 2 jobs that serve");
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
