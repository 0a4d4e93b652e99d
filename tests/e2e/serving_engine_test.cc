// vLLM V1's rules, sessions, classes and capacities through the program: one digest in every mode,
// what is printed, and errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;

class ServeEngine : public testing::Test {
 protected:
  ServeEngine() {
    workspace.write("study.yaml", R"(study: chat
serving:
  policy: vllm_v1
  blocks: 300
  replicas: 3
  router: prefix
  order: priority
  prefix_cache: true
  preemption: swap
  swap: {host_blocks: 60, token_bytes: 128 KiB, bandwidth: "20 GB/s"}
  speculation: {tokens: 2, acceptance: 0.6, draft: "300 us"}
requests:
  arrivals: poisson
  rate: 30
  count: 240
  prompt: {lengths: uniform, least: 8, most: 120}
  output: {lengths: uniform, least: 4, most: 60}
  sessions: {turns: 4, shared_tokens: 64, gap: "300 ms"}
  classes:
    - {name: chat, share: 3, priority: 1}
    - name: batch
      priority: 5
      output: {tokens: 90}
      objectives: {end: "20 s"}
objectives: {first_token: "400 ms"}
)");
  }
  Ran run(const std::string& command, const std::vector<std::string>& overrides,
          const std::vector<std::string>& more) const {
    std::vector<std::string> arguments{command, "study.yaml"};
    for (const std::string& text : overrides) arguments.insert(arguments.end(), {"--set", text});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return workspace.run(arguments);
  }
  json result(const std::string& command, const std::vector<std::string>& overrides,
              std::vector<std::string> more = {}) const {
    more.emplace_back("--json");
    const Ran ran = run(command, overrides, more);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return ran.exit_code == 0 ? json::parse(ran.out) : json();
  }
  const Workspace workspace;
};

TEST_F(ServeEngine, GivesOneDigestInEveryMode) {
  std::set<std::string> digests;
  for (const char* mode : {"sequential", "conservative", "optimistic"}) {
    for (const char* threads : {"1", "3"}) {
      digests.insert(result("serve", {},
                            {"--sync", mode, "--threads", threads, "--partitions",
                             mode == std::string("sequential") ? "1" : "3"})["digest"]);
    }
  }
  digests.insert(result("serve", {}, {"--audit", "0.1"})["digest"]);
  EXPECT_EQ(digests.size(), 1u);
}

TEST_F(ServeEngine, TellsWhatItsRulesDid) {
  const json r = result("serve", {}, {"--requests", "requests.csv"});
  EXPECT_EQ(r["done"], 240);
  EXPECT_GT(r["prefix_cache"]["found_share"], 0.2);
  EXPECT_GT(r["speculation"]["accepted"], 0);
  // 0.6 and 0.6^2 of the first and second token of a draft.
  EXPECT_NEAR(r["speculation"]["accepted_share"].get<double>(), (0.6 + 0.36) / 2, 0.05);
  ASSERT_EQ(r["classes"].size(), 2u);
  EXPECT_EQ(r["classes"][0]["name"], "chat");
  EXPECT_EQ(r["classes"][0]["done"].get<int>() + r["classes"][1]["done"].get<int>(), 240);
  EXPECT_NE(workspace.read("requests.csv").find(",batch\n"), std::string::npos);
  const Ran text = run("serve", {}, {});
  for (const char* line : {"prefix cache", "swapped", "drafts", "batch, priority 5"})
    EXPECT_NE(text.out.find(line), std::string::npos) << line;
  EXPECT_EQ(result("serve", {"serving.prefix_cache=false"}).count("prefix_cache"), 0u);
}

TEST_F(ServeEngine, CacheAndPriorityDoWhatTheyAreFor) {
  const auto first_token = [](const json& r, int class_id) {
    return r["classes"][static_cast<std::size_t>(class_id)]["first_token_ps"]["mean"]
        .get<double>();
  };
  const json with = result("serve", {"requests.rate=60", "serving.replicas=1"});
  const json without = result(
      "serve", {"requests.rate=60", "serving.replicas=1", "serving.prefix_cache=false"});
  EXPECT_LT(with["batches"].get<double>() * with["tokens_per_batch"].get<double>(),
            without["batches"].get<double>() * without["tokens_per_batch"].get<double>());
  const json equal = result(
      "serve", {"requests.rate=60", "serving.replicas=1", "serving.order=first_come"});
  EXPECT_LT(first_token(with, 0) / first_token(with, 1),
            first_token(equal, 0) / first_token(equal, 1));
}

TEST_F(ServeEngine, FindsWhatHashIdsOfATraceShare) {
  workspace.write("trace.jsonl",
                  "{\"timestamp\": 0, \"input_length\": 1300, \"output_length\": 3, "
                  "\"hash_ids\": [1, 2, 3]}\n"
                  "{\"timestamp\": 9000, \"input_length\": 1400, \"output_length\": 3, "
                  "\"hash_ids\": [1, 2, 4]}\n"
                  "{\"timestamp\": 18000, \"input_length\": 1100, \"output_length\": 3, "
                  "\"hash_ids\": [5, 2, 6]}\n");
  workspace.write("study.yaml",
                  "study: s\nserving: {policy: vllm_v1, prefix_cache: true, blocks: 600}\n"
                  "requests: {file: trace.jsonl, format: mooncake}\n");
  EXPECT_EQ(result("serve", {})["prefix_cache"]["found_tokens"], 1024);
  // Read again, it has other content, which shares as much.
  EXPECT_EQ(result("serve", {"requests.arrivals=static", "requests.rate=0.1",
                             "requests.count=6"})["prefix_cache"]["found_tokens"],
            2048);
}

// One user, whose next turn comes when the answer before has been read.
TEST_F(ServeEngine, AsksAgainOnceTheAnswerIsThere) {
  const std::vector<std::string> one_user{
      "requests.sessions.turns=20",      "requests.count=20",
      "requests.sessions.closed=true",   "requests.sessions.gap=1 us",
      "serving.request_tokens_max=8192", "serving.blocks=1000"};
  const json r = result("serve", one_user, {"--requests", "requests.csv"});
  EXPECT_EQ(r["done"], 20);
  std::istringstream lines(workspace.read("requests.csv"));
  std::string line;
  std::getline(lines, line);
  double answered = 0;
  while (std::getline(lines, line)) {
    std::istringstream in(line);
    std::vector<double> row;
    for (std::string field; std::getline(in, field, ',') && row.size() < 7;) {
      row.push_back(std::stod(field));
    }
    EXPECT_GE(row[1], answered) << line;
    EXPECT_LE(row[1], answered == 0 ? 1e18 : answered + 2e8) << line;
    answered = row[1] + row[6];
  }
  // Never two at a time, which an open loop has at once.
  EXPECT_LE(r["requests_present_mean"], 1);
  std::vector<std::string> open = one_user;
  open[2] = "requests.sessions.closed=false";
  EXPECT_GT(result("serve", open)["requests_present_mean"], 2);
}

TEST_F(ServeEngine, GivesOneDigestInEveryModeInAClosedLoop) {
  for (const char* policy_and_router : {"vllm_v1", "vllm"}) {
    std::vector<std::string> set{"requests.sessions.closed=true"};
    if (policy_and_router == std::string("vllm")) {
      workspace.write("study.yaml", R"(study: open
serving: {blocks: 600, replicas: 3, router: least_outstanding}
requests: {arrivals: poisson, rate: 60, count: 240, prompt: {tokens: 90}, output: {tokens: 40},
           sessions: {turns: 4, gap: "30 ms"}}
)");
    }
    std::set<std::string> digests;
    for (const char* mode : {"sequential", "conservative", "optimistic"}) {
      for (const char* threads : {"1", "3"}) {
        digests.insert(result("serve", set,
                              {"--sync", mode, "--threads", threads, "--partitions",
                               mode == std::string("sequential") ? "1" : "3"})["digest"]);
      }
    }
    digests.insert(result("serve", set, {"--audit", "0.1"})["digest"]);
    EXPECT_EQ(digests.size(), 1u) << policy_and_router;
    EXPECT_NE(result("serve", {})["digest"], *digests.begin());
  }
}

// One request at a time, of 10 ms each, that come evenly: a hundred a second are kept, and of more
// each waits longer than the one before.
TEST_F(ServeEngine, FindsACapacityThatIsKnown) {
  workspace.write("study.yaml", R"(study: known
serving:
  policy: vllm_v1
  blocks: 1000
  batch_requests_max: 1
  latency: 1 ps
  batch_time: {base: 10 ms, per_token: 0 s, per_context: 0 s, per_pair_half: 0 s}
requests:
  {arrivals: static, rate: 7, count: 1000, prompt: {tokens: 4}, output: {tokens: 1}}
objectives: {end: "12 ms", share: 1}
)");
  const json one = result("capacity", {})["results"][0];
  EXPECT_NEAR(one["rate"].get<double>(), 100, 1.1);
  EXPECT_EQ(one["bounded"], true);
  EXPECT_EQ(one, result("capacity", {}, {"--sync", "sequential"})["results"][0]);
  EXPECT_NEAR(result("capacity", {}, {"--tolerance", "0.001"})["results"][0]["rate"].get<double>(),
              100, 0.2);
  EXPECT_EQ(result("capacity", {"objectives.end=9 ms"})["results"][0]["rate"], 0);
  const json both = result("capacity", {}, {"--over", "serving.replicas=1,2"});
  EXPECT_NEAR(both["results"][1]["rate"].get<double>(), 200, 2.2);
  EXPECT_EQ(both["results"][1]["setting"], "serving.replicas=2");
}

TEST_F(ServeEngine, PrintsCapacitiesAsTables) {
  const Ran ran = run("capacity", {"requests.count=60"},
                      {"--tolerance", "0.2", "--over", "serving.batch_requests_max=4,64"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  for (const char* part : {"requests/s", "capacity: ", "serving.batch_requests_max=64",
                           "tokens/s/user", "yes"})
    EXPECT_NE(ran.out.find(part), std::string::npos) << part << '\n' << ran.out;
}

TEST_F(ServeEngine, StopsWhenTimeIsOver) {
  const Ran ran = run("capacity", {}, {"--time-limit", "1e-9", "--json"});
  EXPECT_EQ(ran.exit_code, 4);
  EXPECT_NE(ran.err.find("0 rates had been tried"), std::string::npos) << ran.err;
  EXPECT_EQ(json::parse(ran.out)["status"], "stopped");
}

struct BadKey {
  std::string what, value, says;
};

TEST_F(ServeEngine, SaysWhichKeyIsWrong) {
  const std::vector<BadKey> table{
      {"serving.order", "fcfs", "first_come"},
      {"serving.order", "1", "expected"},
      {"serving.policy", "vllm_v2", "expected"},
      {"serving.policy", "vllm", "is unknown"},
      {"serving.watermark", "1", "expected"},
      {"serving.watermark", "-0.1", "expected"},
      {"serving.watermark", "nan", "expected"},
      {"serving.chunked_prefill", "perhaps", "expected"},
      {"serving.reserve_prompt", "2", "expected"},
      {"serving.prefix_cache", "lru", "expected"},
      {"serving.preemption", "drop", "recompute"},
      {"serving.preemption", "recompute", "swap"},
      {"serving.swap.host_blocks", "0", "from 1"},
      {"serving.swap.token_bytes", "0", "expected"},
      {"serving.swap.token_bytes", "1 s", "expected"},
      {"serving.swap.bandwidth", "20", "expected"},
      {"serving.swap.rate", "1", "unknown key"},
      {"serving.speculation.tokens", "65", "from 0 to 64"},
      {"serving.speculation.acceptance", "1.1", "expected"},
      {"serving.speculation.draft", "-1 us", "expected"},
      {"serving.router", "sticky", "expected"},
      {"serving.router_slack", "-1", "expected"},
      {"serving.blocks", "100", "the need of one request"},
      {"requests.rate", "0.00001", "after the end of time"},
      {"requests.sessions.turns", "0", "from 1"},
      {"requests.sessions.gap", "long", "expected"},
      {"requests.sessions.closed", "now", "expected"},
      {"requests.sessions.shared_tokens", "5000", "expected at most 4096"},
      {"requests.sessions.users", "2", "unknown key"},
      {"requests.hash_tokens", "512", "unknown key"},
      {"requests.classes", "chat", "expected"},
      {"requests.classes", "[{name: a}, {name: a}]", "is the name of another class"},
      {"requests.classes", "[{share: 2}]", "name"},
      {"requests.classes", "[{name: a, share: 0}]", "expected"},
      {"requests.classes", "[{name: a, priority: high}]", "whole number"},
      {"requests.classes", "[{name: a, output: {lengths: uniform, least: 9, most: 2}}]",
       "below least"},
      {"requests.classes", "[{name: a, objectives: {first: 1 s}}]", "unknown key"},
      {"objectives.share", "2", "expected"}};
  for (const BadKey& bad : table) {
    const Ran ran = run("serve", {bad.what + "=" + bad.value}, {"--out", "results"});
    EXPECT_EQ(ran.exit_code, 2) << bad.what << ": " << bad.value;
    EXPECT_NE(ran.err.find(bad.says), std::string::npos) << bad.what << ": " << ran.err;
    EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
    EXPECT_FALSE(workspace.has("results")) << bad.what << ": " << bad.value;
  }
}

TEST_F(ServeEngine, SaysWhatACapacityNeeds) {
  workspace.write("trace.jsonl", "{\"timestamp\": 0, \"input_length\": 13, \"output_length\": 3, "
                                 "\"hash_ids\": [-1]}\n");
  workspace.write("file.yaml", "study: s\nserving: {blocks: 600}\nrequests: {file: trace.jsonl, "
                               "format: mooncake}\nobjectives: {end: 1 s}\n");
  workspace.write("none.yaml", "study: s\nserving: {blocks: 600}\nrequests: {arrivals: static, "
                               "rate: 1, count: 1}\n");
  const std::vector<std::pair<std::vector<std::string>, std::string>> table{
      {{"capacity", "none.yaml"}, "objectives: are missing"},
      {{"capacity", "file.yaml"}, "requests.arrivals: is `trace`"},
      {{"serve", "file.yaml"}, "hash_ids: expected a list"},
      {{"capacity", "study.yaml", "--over", "serving.blocks"}, "no key with values"},
      {{"capacity", "study.yaml", "--over", "serving.blocks=600,,700"}, "empty value"},
      {{"capacity", "study.yaml", "--over", "serving.block=600"}, "unknown key"},
      {{"capacity", "study.yaml", "--tolerance", "0"}, "expected"},
      {{"capacity", "study.yaml", "--job", "chat"}, "has no jobs"},
      {{"capacity", "study.yaml", "--split", "8"}, "has no jobs"},
      {{"capacity", "study.yaml", "--below", "65"}, "from 0 to 64"},
      {{"capacity", "nowhere.yaml"}, "nowhere.yaml"}};
  for (const auto& [arguments, says] : table) {
    const Ran ran = workspace.run(arguments);
    EXPECT_EQ(ran.exit_code, 2) << says;
    EXPECT_NE(ran.err.find(says), std::string::npos) << ran.err;
    EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
  }
}

}  // namespace
}  // namespace exawarp::tests
