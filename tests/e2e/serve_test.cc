// `exawarp serve` through the program's commands: Vidur's schedules, one digest in every mode,
// waiting times that theory knows, the formats of traces, and errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;

const std::string kGolden = EXAWARP_SOURCE_DIR "/tests/golden/serving/";

std::vector<std::vector<std::string>> rows_without_head(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream in(line);
    std::vector<std::string>& row = rows.emplace_back();
    for (std::string field; std::getline(in, field, ',');) row.push_back(field);
  }
  rows.erase(rows.begin());
  return rows;
}

class ServeCommand : public testing::Test {
 protected:
  ServeCommand() {
    workspace.write("study.yaml", R"(study: small
serving: {blocks: 600, replicas: 2}
requests:
  arrivals: poisson
  rate: 20
  count: 300
  prompt: {lengths: uniform, least: 1, most: 400}
  output: {lengths: zipf, least: 1, most: 100, exponent: 1.2}
objectives: {first_token: "200 ms", per_token: "20 ms"}
)");
  }
  Ran serve(const std::vector<std::string>& overrides,
            std::vector<std::string> more = {"--json"}) const {
    std::vector<std::string> arguments{"serve", "study.yaml"};
    for (const std::string& text : overrides) arguments.insert(arguments.end(), {"--set", text});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return workspace.run(arguments);
  }
  json result(const std::vector<std::string>& overrides,
              const std::vector<std::string>& more = {"--json"}) const {
    const Ran ran = serve(overrides, more);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return json::parse(ran.out);
  }
  const Workspace workspace;
};

// Each request's first token and end within a microsecond, as tests/golden/serving_test.cc has it.
TEST_F(ServeCommand, GivesVidursSchedules) {
  const auto times = rows_without_head(workspace.read(kGolden + "times.csv"));
  for (const auto& c : rows_without_head(workspace.read(kGolden + "cases.csv"))) {
    const bool is_lightllm = c[1] == "lightllm";
    workspace.write("study.yaml", "study: " + c[0] + "\nserving: {policy: " + c[1] +
                                      ", replicas: " + c[3] + ", stages: " + c[4] +
                                      ", chunk_tokens: " + c[5] + ", blocks: " + c[6] +
                                      ", reserved_requests_max: " + c[7] + ", latency: 1 ps" +
                                      (is_lightllm ? ", block_tokens: 1" : "") +
                                      "}\nrequests: {file: \"" + kGolden +
                                      "trace.csv\", time_scale: " + c[2] + ", cut_long: true}\n");
    const json r = result({}, {"--json", "--requests", "requests.csv"});
    EXPECT_EQ(r["batches"], std::stoi(c[8])) << c[0];
    EXPECT_EQ(r["restarts"], std::stoi(c[9])) << c[0];
    const auto requests = rows_without_head(workspace.read("requests.csv"));
    ASSERT_EQ(requests.size(), 128u);
    for (const auto& time : times) {
      if (time[0] != c[0]) continue;
      const auto& request = requests.at(std::stoul(time[1]));
      EXPECT_NEAR(std::stod(request[4]) * 1e-12, std::stod(time[2]), 1e-6) << c[0];
      EXPECT_NEAR(std::stod(request[6]) * 1e-12, std::stod(time[3]), 1e-6) << c[0];
      EXPECT_EQ(request[7], time[4]) << c[0];
    }
  }
}

// Vidur's times are a random forest's, ours straight lines between the same measurements: what
// users see agrees within 5 %, though batches differ.
TEST_F(ServeCommand, AgreesWithVidursForestsOnItsProfile) {
  const std::string study = EXAWARP_SOURCE_DIR "/configs/serving/qwen2_7b_a30.yaml";
  const auto cases = rows_without_head(workspace.read(kGolden + "forests.csv"));
  ASSERT_EQ(cases.size(), 2u);
  for (const auto& c : cases) {
    const Ran ran = workspace.run({"serve", study, "--json", "--set", "serving.policy=" + c[1],
                                   "--set", "serving.chunk_tokens=" + c[2], "--set",
                                   "serving.blocks=" + c[3], "--set", "serving.latency=1 ps"});
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    const json r = json::parse(ran.out);
    const auto is_near = [&](const json& value, const std::string& expected, const char* what) {
      const double ratio = value.get<double>() * 1e-12 / std::stod(expected);
      EXPECT_NEAR(ratio, 1, 0.05) << c[0] << ": " << what;
    };
    is_near(r["makespan_ps"], c[5], "makespan");
    EXPECT_NEAR(r["batches"].get<double>() / std::stod(c[6]), 1, 0.01) << c[0];
    EXPECT_EQ(r["restarts"], std::stoi(c[7])) << c[0];
    std::size_t column = 8;
    for (const char* measure : {"first_token_ps", "end_ps", "per_token_ps"}) {
      for (const char* key : {"p50", "p90", "p99", "mean"})
        is_near(r[measure][key], c[column++], (std::string(measure) + " " + key).c_str());
    }
  }
}

TEST_F(ServeCommand, RunsSequentiallyUnlessAskedOtherwise) {
  EXPECT_EQ(result({})["sync"], "sequential");
  EXPECT_EQ(result({}, {"--json", "--threads", "2"})["sync"], "optimistic");
}

TEST_F(ServeCommand, GivesOneDigestInEveryMode) {
  for (const char* policy : {"vllm", "sarathi", "orca", "faster_transformer"}) {
    std::set<std::string> digests;
    for (const char* mode : {"sequential", "conservative", "optimistic"}) {
      for (const char* threads : {"1", "2", "4"}) {
        const json r = result({std::string("serving.policy=") + policy, "serving.replicas=5"},
                              {"--json", "--sync", mode, "--threads", threads, "--partitions",
                               mode == std::string("sequential") ? "1" : "3"});
        digests.insert(r["digest"]);
      }
    }
    EXPECT_EQ(digests.size(), 1u) << policy;
  }
}

TEST_F(ServeCommand, AnotherSeedGivesOtherRequests) {
  EXPECT_NE(result({})["digest"], result({}, {"--json", "--seed", "2"})["digest"]);
  EXPECT_EQ(result({})["digest"], result({}, {"--json", "--seed", "1"})["digest"]);
}

TEST_F(ServeCommand, CountsWhoGetsWhatIsPromised) {
  EXPECT_EQ(result({"objectives.first_token=1 ps"})["good"], 0);
  EXPECT_EQ(result({"objectives.first_token=1 min", "objectives.per_token=1 min"})["good"], 300);
  EXPECT_EQ(result({"objectives.first_token=0 s", "objectives.per_token=0 s"}).count("good"), 0u);
}

// One request at a time, each a batch of a millisecond: M/D/1 (Pollaczek and Khinchin), whose mean
// wait at a load of one half is half a service.
TEST_F(ServeCommand, WaitsAsAQueueWithOneServerDoes) {
  const std::vector<std::string> one_at_a_time{
      "serving.replicas=1",          "serving.batch_requests_max=1",
      "serving.batch_time={base: 1 ms, per_token: 0 s, per_context: 0 s, per_pair_half: 0 s}",
      "requests.rate=500",           "requests.count=40000",
      "requests.prompt={tokens: 1}", "requests.output={tokens: 1}",
      "serving.latency=1 ps"};
  const double mean_ms = result(one_at_a_time)["first_token_ps"]["mean"].get<double>() * 1e-9;
  // Waits of M/D/1 at this load have a deviation of 0.76 services and are correlated over about ten
  // requests: four standard errors of 40,000.
  EXPECT_NEAR(mean_ms, 1.5, 4 * 0.76 * std::sqrt(10.0 / 40'000));
}

TEST_F(ServeCommand, ReadsTheFormatsOfTraces) {
  workspace.write("vidur.csv", "arrived_at,num_prefill_tokens,num_decode_tokens\n"
                               "2.5,10,3\n3.0,20,4\n");
  workspace.write("azure.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                               "2023-11-16 23:59:59.6000000,10,3\n"
                               "2023-11-17 00:00:00.1000000,20,4\n");
  workspace.write("mooncake.jsonl",
                  "{\"timestamp\": 2500, \"input_length\": 10, \"output_length\": 3, "
                  "\"hash_ids\": [1]}\n\n"
                  "{\"timestamp\": 3000, \"input_length\": 20, \"output_length\": 4}\n");
  std::set<std::string> digests;
  for (const char* source : {"{file: vidur.csv}", "{file: azure.csv, format: azure}",
                             "{file: mooncake.jsonl, format: mooncake}"}) {
    workspace.write("study.yaml", std::string("study: s\nserving: {blocks: 600}\nrequests: ") +
                                      source + "\n");
    const json r = result({}, {"--json", "--requests", "requests.csv"});
    digests.insert(r["digest"]);
    EXPECT_EQ(rows_without_head(workspace.read("requests.csv"))[1][1], "500000000000") << source;
  }
  EXPECT_EQ(digests.size(), 1u);
}

TEST_F(ServeCommand, TakesLengthsOfAFileAtTimesThatAreDrawn) {
  workspace.write("lengths.csv", "num_prefill_tokens,num_decode_tokens\n10,3\n20,4\n");
  workspace.write("study.yaml", "study: s\nserving: {blocks: 600}\n"
                                "requests: {file: lengths.csv, arrivals: static, rate: 4, "
                                "count: 5}\n");
  const json r = result({}, {"--json", "--requests", "requests.csv"});
  EXPECT_EQ(r["done"], 5);
  const auto rows = rows_without_head(workspace.read("requests.csv"));
  EXPECT_EQ(rows[4][1], "1250000000000");
  EXPECT_EQ(rows[4][2], "10");
}

// Llama 3 70B in fp8 on eight devices of 80 GB: of 0.9 of a device 9 GB are weights and 3
// workspace, and a token takes 40,960 bytes on each. On one in bf16 its weights do not fit.
TEST_F(ServeCommand, TakesTheRoomThatWeightsLeave) {
  const std::string configs = std::string(EXAWARP_SOURCE_DIR) + "/configs/";
  const std::string requests =
      "requests: {arrivals: static, rate: 4, count: 3, prompt: {lengths: fixed, tokens: 64}, "
      "output: {lengths: fixed, tokens: 4}}\n";
  const std::string iteration = "iteration:\n  model: " + configs +
                                "models/llama3_70b.yaml\n  accelerator: " + configs +
                                "accelerators/h100_sxm.yaml\n  tensor: 8\n  precision: fp8\n";
  workspace.write("study.yaml", "study: s\nserving: {replicas: 1}\n" + iteration + requests);
  EXPECT_EQ(result({}, {"--json"})["blocks"], 91'427);
  EXPECT_EQ(result({}, {"--json", "--set", "iteration.cache_precision=fp8"})["blocks"], 182'855);
  EXPECT_EQ(result({}, {"--json", "--set", "serving.blocks=5000"})["blocks"], 5'000);
  const Ran none = serve({}, {"--set", "iteration.tensor=1", "--set", "iteration.precision=bf16"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.err.find("the weights leave no room"), std::string::npos) << none.err;
  const Ran odd = serve({}, {"--set", "iteration.model.heads=24"});
  EXPECT_EQ(odd.exit_code, 2);
  EXPECT_NE(odd.err.find("24 does not divide hidden"), std::string::npos) << odd.err;
  workspace.write("study.yaml", "study: s\nserving: {replicas: 1}\n" + requests);
  const Ran missing = serve({}, {});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_NE(missing.err.find("serving.blocks: is missing"), std::string::npos) << missing.err;
}

// Nemotron 3 Nano in bf16 on two devices. On each a token has 2 x 128 elements in each of six
// layers, a sequence half of 23 states of 4096 x 128 in fp32 and 3 x 6144 in bf16.
TEST_F(ServeCommand, KeepsStatesBesideKeysAndValues) {
  const std::string configs = std::string(EXAWARP_SOURCE_DIR) + "/configs/";
  workspace.write(
      "study.yaml",
      "study: s\nserving: {replicas: 1}\niteration:\n  model: " + configs +
          "models/nemotron3_nano_30b_a3b.yaml\n  accelerator: " + configs +
          "accelerators/h100_sxm.yaml\n  tensor: 2\n"
          "requests: {arrivals: static, rate: 4, count: 3, prompt: {lengths: fixed, tokens: 64}, "
          "output: {lengths: fixed, tokens: 4}}\n");
  const auto blocks = [&](const std::string& sequences) {
    return result({"serving.batch_requests_max=" + sequences})["blocks"].get<double>();
  };
  const double state = 23.0 / 2 * (4 * 4096 * 128 + 2 * 3 * 6144);
  const double block = 16.0 * 6 * 2 * 2 * 128;
  EXPECT_NEAR(blocks("100") - blocks("200"), 100 * state / block, 1);
  const std::string v1 = "serving.policy=vllm_v1";
  const std::string room = "serving.swap={host_blocks: 9, token_bytes: 1 KB, bandwidth: 1 GB/s}";
  const std::vector<std::pair<std::vector<std::string>, const char*>> table{
      {{v1, "serving.prefix_cache=true"}, "prefix_cache: moves keys and values, but no states"},
      {{v1, "serving.preemption=swap", room}, "preemption: moves keys and values, but no states"},
      {{"iteration.attention_data=2"}, "attention_data: above 1 with model.pattern"},
      {{"iteration.tensor=16"}, "tensor"},
      {{"iteration.tensor=1", "serving.batch_requests_max=1000"},
       "the weights and states leave no room"}};
  for (const auto& [sets, says] : table) {
    const Ran ran = serve(sets);
    EXPECT_EQ(ran.exit_code, 2) << sets.back();
    EXPECT_NE(ran.err.find(says), std::string::npos) << ran.err;
  }
}

// GPT-OSS 120B: 18 layers that see all tokens, and 18 with a window.
TEST_F(ServeCommand, GivesBackWhatIsBehindWindows) {
  const std::string configs = std::string(EXAWARP_SOURCE_DIR) + "/configs/";
  workspace.write(
      "study.yaml",
      "study: s\nserving: {replicas: 1, policy: vllm_v1, request_tokens_max: 8192}\niteration:\n"
      "  model: " + configs + "models/gpt_oss_120b.yaml\n  accelerator: " + configs +
          "accelerators/h100_sxm.yaml\n  tensor: 2\n  precision: fp8\n"
          "requests: {arrivals: static, rate: 4, count: 2, prompt: {lengths: fixed, tokens: 4096}, "
          "output: {lengths: fixed, tokens: 64}}\n");
  const json windowed = result({}), all = result({"serving.hybrid_cache=false"});
  EXPECT_EQ(windowed["cache_groups"], (json{{"full", 1}, {"windowed", 1}, {"window", 128}}));
  EXPECT_FALSE(all.contains("cache_groups"));
  EXPECT_NEAR(windowed["blocks"].get<double>(), 2 * all["blocks"].get<double>(), 2);
  EXPECT_FALSE(result({"serving.policy=sarathi"}).contains("cache_groups"));
  const std::string room = "serving.swap={host_blocks: 9, token_bytes: 1 KB, bandwidth: 1 GB/s}";
  const Ran swapped = serve({"serving.preemption=swap", room});
  EXPECT_EQ(swapped.exit_code, 2);
  EXPECT_NE(swapped.err.find("expected recompute, or hybrid_cache: false"), std::string::npos)
      << swapped.err;
  EXPECT_EQ(serve({"serving.preemption=swap", room, "serving.hybrid_cache=false"}).exit_code, 0);
}

TEST_F(ServeCommand, WritesItsResults) {
  const Ran ran = serve({}, {"--out", "results"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(workspace.read("results/summary.txt"), ran.out);
  EXPECT_EQ(json::parse(workspace.read("results/summary.json"))["schema"], "exawarp-serving-1");
  EXPECT_TRUE(workspace.has("results/study.resolved.yaml"));
}

struct BadServing {
  std::string what, value, says;
};

void expect_a_line(const Ran& ran, const BadServing& bad, const Workspace& workspace) {
  EXPECT_EQ(ran.exit_code, 2) << bad.what << ": " << bad.value;
  EXPECT_NE(ran.err.find(bad.says), std::string::npos) << ran.err;
  EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
  EXPECT_FALSE(workspace.has("results")) << bad.what << ": " << bad.value;
}

TEST_F(ServeCommand, SaysWhichKeyIsWrong) {
  const std::vector<BadServing> table{
      {"serving.policy", "vlm", "expected"},
      {"serving.router", "lor", "expected"},
      {"serving.replicas", "0", "from 1"},
      {"serving.replicas", "2.5", "whole number"},
      {"serving.stages", "65", "from 1 to 64"},
      {"serving.blocks", "0", "from 1"},
      {"serving.blocks", "200", "the need of one request of 4096 tokens"},
      {"serving.block_tokens", "0", "from 1"},
      {"serving.batch_tokens_max", "4095", "at least those of a request, 4096"},
      {"serving.batch_requests_max", "1025", "1024"},
      {"serving.policy", "lightllm", "expected 1 and 1"},
      {"serving.latency", "0 s", "out of range"},
      {"serving.latency", "fast", "expected"},
      {"serving.batch_time.base", "-1 ms", "expected"},
      {"serving.batch_time.base", "2 min", "expected"},
      {"serving.speed", "1", "unknown key"},
      {"requests.arrivals", "normal", "expected"},
      {"requests.arrivals", "trace", "without a file"},
      {"requests.rate", "0", "expected"},
      {"requests.rate", "nan", "expected"},
      {"requests.variation", "0", "expected"},
      {"requests.count", "0", "is missing"},
      {"requests.count", "100000000", "to 16777216"},
      {"requests.time_scale", "-1", "expected"},
      {"requests.prompt.least", "500", "below least"},
      {"requests.prompt.most", "4090", "requests.cut_long: true"},
      {"requests.output.exponent", "-1", "expected"},
      {"requests.prompt.lengths", "normal", "expected"},
      {"objectives.first_token", "soon", "expected"},
      {"seed", "-1", "expected"}};
  for (const BadServing& bad : table) {
    expect_a_line(serve({bad.what + "=" + bad.value}, {"--out", "results"}), bad, workspace);
  }
}

void write_bad_traces(const Workspace& workspace) {
  workspace.write("empty.csv", "");
  workspace.write("short.csv", "arrived_at,num_prefill_tokens\n1,2\n");
  const std::string head = "arrived_at,num_prefill_tokens,num_decode_tokens\n";
  workspace.write("back.csv", head + "2,1,1\n1,1,1\n");
  workspace.write("none.csv", head + "1,0,1\n");
  workspace.write("word.csv", head + "1,ten,1\n");
  workspace.write("late.csv", head + "1e9,1,1\n");
  workspace.write("long.csv", head + "1,4000,97\n");
  workspace.write("lengths.csv", "num_prefill_tokens,num_decode_tokens\n1,1\n");
  workspace.write("day.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n16.11.2023,1,1\n");
  workspace.write("far.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                             "2023-11-16 00:00:00,1,1\n2024-11-16 00:00:00,1,1\n");
  workspace.write("list.jsonl", "[1, 2]\n");
  workspace.write("cut.jsonl", "{\"timestamp\": 1, \"input_len");
  workspace.write("text.jsonl", "{\"timestamp\": \"1\", \"input_length\": 1, "
                                "\"output_length\": 1}\n");
  workspace.write("blank.jsonl", "\n\n");
}

TEST_F(ServeCommand, SaysWhichLineOfATraceIsWrong) {
  write_bad_traces(workspace);
  const std::vector<BadServing> files{{"vidur", "empty.csv", "empty.csv"},
                                      {"vidur", "short.csv", "num_decode_tokens"},
                                      {"vidur", "back.csv", "back.csv:3: comes before"},
                                      {"vidur", "none.csv", "none.csv:2: column"},
                                      {"vidur", "word.csv", "\"ten\""},
                                      {"vidur", "late.csv", "0 to 1,000,000"},
                                      {"vidur", "long.csv", "4000 + 97 tokens"},
                                      {"vidur", "lengths.csv", "has no column arrived_at"},
                                      {"vidur", "nothing.csv", "nothing.csv"},
                                      {"azure", "day.csv", "2023-11-16 18:15:46"},
                                      {"azure", "far.csv", "11 days"},
                                      {"azure", "back.csv", "timestamp"},
                                      {"mooncake", "list.jsonl", "list.jsonl:1: is no JSON object"},
                                      {"mooncake", "cut.jsonl", "cut.jsonl:1: is no JSON object"},
                                      {"mooncake", "text.jsonl", "member timestamp"},
                                      {"mooncake", "blank.jsonl", "has no requests"},
                                      {"csv", "back.csv", "expected"}};
  for (const BadServing& bad : files) {
    workspace.write("bad.yaml", "study: s\nserving: {blocks: 600}\nrequests: {file: " + bad.value +
                                    ", format: " + bad.what + "}\n");
    expect_a_line(workspace.run({"serve", "bad.yaml", "--out", "results"}), bad, workspace);
  }
}

// Two devices that split a layer, two stages; a decode's attention is 1 ms, all else nothing.
void write_profile(const Workspace& workspace) {
  const std::string mlp_head =
      "num_tokens,num_tensor_parallel_workers,n_embd,time_stats.attn_pre_proj.median,"
      "time_stats.attn_post_proj.median,time_stats.attn_rope.median,"
      "time_stats.input_layernorm.median,time_stats.post_attention_layernorm.median,"
      "time_stats.add.median,time_stats.mlp_up_proj.median,time_stats.mlp_act.median,"
      "time_stats.mlp_down_proj.median\n";
  workspace.write("mlp.csv", mlp_head + "8,2,64,0,0,0,0,,0,0,0,0\n8,1,64,9,9,9,9,9,9,9,9,9\n");
  workspace.write("no_norm.csv", mlp_head + "8,2,64,0,0,0,,0,0,0,0,0\n");
  workspace.write("minus.csv", mlp_head + "8,2,64,0,0,0,-1,0,0,0,0,0\n");
  workspace.write("wide.csv", mlp_head + "8,2,128,0,0,0,0,0,0,0,0,0\n");
  workspace.write("other.csv", "num_tokens,n_embd\n8,64\n");
  const std::string head =
      "num_tensor_parallel_workers,block_size,n_embd,n_q_head,n_kv_head,batch_size,"
      "prefill_chunk_size,kv_cache_size,time_stats.attn_kv_cache_save.median,"
      "time_stats.attn_prefill.median,time_stats.attn_decode.median\n";
  workspace.write("attention.csv", head + "2,16,64,8,8,1,64,0,0,0,0\n2,16,64,8,8,1,0,64,0,0,1\n"
                                          "2,16,64,8,8,1,0,128,0,0,1\n");
  workspace.write("prompts.csv", head + "2,16,64,8,8,1,64,0,0,0,0\n");
  const std::string network = "num_workers,devices_per_node,size,";
  workspace.write("reduce.csv", network + "time_stats.all_reduce.median\n2,2,1024,0.03\n"
                                          "2,1,1024,7\n16,8,1024,7\n");
  workspace.write("send.csv", network + "time_stats.send_recv.median\n2,2,1024,0.5\n2,2,1024,1.5\n"
                                        "2,1,1024,4\n");
  workspace.write("one.csv", "num_prefill_tokens,num_decode_tokens\n1,2\n");
}

const std::string kProfile =
    "profile={mlp: mlp.csv, attention: attention.csv, layers: 4, tensor: 2, "
    "all_reduce: reduce.csv, send_recv: send.csv}";

TEST_F(ServeCommand, AddsUpWhatAProfileSays) {
  write_profile(workspace);
  workspace.write("study.yaml", "study: s\nserving: {blocks: 600, stages: 2}\n"
                                "requests: {file: one.csv, arrivals: static, count: 1}\n");
  const auto second_token = [&](const std::vector<std::string>& more) {
    std::vector<std::string> overrides{kProfile};
    overrides.insert(overrides.end(), more.begin(), more.end());
    return result(overrides)["per_token_ps"]["mean"].get<std::int64_t>();
  };
  // 4 layers of 1 ms and two all-reduces of 30 us and 20 us of launch; sent once for a millisecond,
  // the mean of two rows, or across nodes four.
  EXPECT_EQ(second_token({}), 5'400'000'000);
  EXPECT_EQ(second_token({"profile.stages_across_nodes=true"}), 8'400'000'000);
}

TEST_F(ServeCommand, SaysWhatIsWrongWithAProfile) {
  write_profile(workspace);
  const std::vector<BadServing> table{
      {"profile.mlp", "nothing.csv", "nothing.csv"},
      {"profile.mlp", "other.csv", "time_stats.attn_pre_proj.median"},
      {"profile.mlp", "no_norm.csv", "time_stats.input_layernorm.median: no row"},
      {"profile.mlp", "minus.csv", "minus.csv:2: column time_stats.input_layernorm.median"},
      {"profile.mlp", "wide.csv", "attention.csv:2: column n_embd: \"64\"; expected 128"},
      {"profile.attention", "prompts.csv", "time_stats.attn_decode.median: no row"},
      {"profile.attention", "mlp.csv", "has no column"},
      {"profile.tensor", "4", "num_tensor_parallel_workers: no row has 4; expected one of: 1, 2"},
      {"profile.tensor", "1", "`tensor` is 1"},
      {"profile.tensor", "0", "from 1"},
      {"profile.layers", "3", "does not divide by `serving.stages`"},
      {"profile.layers", "0", "from 1"},
      {"profile.all_reduce", "send.csv", "time_stats.all_reduce.median"},
      {"profile.send_recv", "reduce.csv", "time_stats.send_recv.median"},
      {"serving.block_tokens", "8", "block_size: no row has 8; expected one of: 16"},
      {"serving.stages", "1", "expected more stages, or no table"},
      {"profile.tables", "mlp.csv", "unknown key"},
      {"profile.stages_across_nodes", "2", "expected"},
      {"iteration", "{model: " EXAWARP_SOURCE_DIR "/configs/models/llama2_7b.yaml, accelerator: "
                    EXAWARP_SOURCE_DIR "/configs/accelerators/h100_sxm.yaml}",
       "beside `iteration`"}};
  for (const BadServing& bad : table) {
    expect_a_line(serve({"serving.stages=2", kProfile, bad.what + "=" + bad.value},
                        {"--out", "results"}),
                  bad, workspace);
  }
  EXPECT_EQ(serve({"serving.stages=2", kProfile}).exit_code, 0);
}

}  // namespace
}  // namespace exawarp::tests
