// Everything that the generators make comes back from Chakra traces as it was, and runs as it did.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "tests/e2e/returns.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;
using Sets = std::vector<std::string>;

class RoundTrip : public testing::Test {
 protected:
  // Generates `specification` with `sets` replaced, exports, imports and compares.
  void expect_equal(const std::string& specification, const Sets& sets,
                    const std::string& format = "chakra") const {
    std::vector<std::string> arguments{"workload", "generate", specification, "-o", "a.xwg"};
    for (const std::string& set : sets) arguments.insert(arguments.end(), {"--set", set});
    const Ran generated = workspace_.run(arguments);
    ASSERT_EQ(generated.exit_code, 0) << generated.err;
    expect_returns(workspace_, "a.xwg", format);
    expect_equal_runs();
  }

  void expect_equal_runs() const {
    const auto before = run_at({"analytical", "message"}, workspace_, "a.xwg");
    const auto after = run_at({"analytical", "message"}, workspace_, "b.xwg");
    ASSERT_EQ(before.size(), after.size());
    for (const auto& [fidelity, summary] : before) {
      for (const char* same : {"digest", "simulated_time_ps", "iteration_time_ps", "tokens_per_s",
                               "model_flops_utilisation"}) {
        EXPECT_EQ(summary.value(same, json()), after.at(fidelity).value(same, json()))
            << fidelity << ": " << same;
      }
    }
  }

  const Workspace workspace_;
};

constexpr const char* kTransformer = R"(transformer:
  model: {name: tiny, layers: 4, hidden: 256, ffn: 512, heads: 8, vocabulary: 1024}
  parallel: {tensor: 2, pipeline: 2, data: 2}
  sequence_length: 128
  global_batch_sequences: 8
)";
constexpr const char* kExperts = R"(transformer:
  model: {name: tiny, layers: 4, hidden: 256, ffn: 512, heads: 8, vocabulary: 1024,
          moe: {experts: 8, top_k: 2, ffn: 256, shared_ffn: 128, dense_layers: 1}}
  parallel: {tensor: 2, data: 4, expert: 4}
  sequence_length: 128
  global_batch_sequences: 8
)";

TEST_F(RoundTrip, OfEachFeatureOfTheTransformers) {
  workspace_.write("t.yaml", kTransformer);
  const std::vector<Sets> table{
      {"schedule.kind=gpipe"},
      {"schedule.kind=1f1b"},
      {"schedule.kind=interleaved", "schedule.virtual_stages=2"},
      {"schedule.kind=zb_h1"},
      {"schedule.kind=dualpipe"},
      {"overlap.experts=true"},
      {"schedule.chunk_layers=[3, 1]"},
      {"parallel.sharding=none"},
      {"parallel.sharding=zero2"},
      {"parallel.pipeline=1", "parallel.sharding=zero3"},
      {"parallel.pipeline=1", "parallel.sharding=zero3", "parallel.data=4",
       "parallel.shard_group=2"},
      {"parallel.pipeline=1", "parallel.sharding=fsdp", "parallel.reshard_after_forward=false"},
      {"parallel.context=2", "parallel.context_method=ring"},
      {"parallel.context=4", "parallel.context_method=ring", "parallel.pipeline=1"},
      {"parallel.context=2", "parallel.context_method=all_gather"},
      {"parallel.context=2", "parallel.context_method=ulysses"},
      {"parallel.sequence_parallel=false"},
      {"parallel.order=[data, pipeline, tensor]"},
      {"recompute=selective"},
      {"recompute.kind=full", "recompute.layers=1"},
      {"overlap.tensor=none", "overlap.gradients=false"},
      {"overlap.tensor=pipelined", "overlap.parameters=true", "steps=2"},
      {"model.tied_embeddings=true", "gradient_reduction=micro_batch"},
      {"gemm_precision=fp16", "parameter_precision=fp16", "optimizer.kind=sgd"},
      {"flash_attention=false", "optimizer.gradient_norm=false"},
      {"storage.bytes_per_sequence=1 MB", "storage.checkpoint_every=1", "steps=2"}};
  for (Sets sets : table) {
    for (std::string& set : sets) set = "transformer." + set;
    SCOPED_TRACE(sets.front());
    expect_equal("t.yaml", sets);
  }
}

TEST_F(RoundTrip, OfExpertsHoweverBusy) {
  workspace_.write("e.yaml", kExperts);
  const std::vector<Sets> table{{"routing.imbalance=0"},
                                {"routing.imbalance=0.5"},
                                {"routing.imbalance=0.5", "parallel.pipeline=2", "steps=2"},
                                {"routing.imbalance=1", "routing.capacity_factor=1.25"},
                                {"routing.imbalance=0.5", "routing.capacity_factor=1",
                                 "routing.pad=true", "parallel.expert_tensor=1"}};
  for (Sets sets : table) {
    for (std::string& set : sets) set = "transformer." + set;
    SCOPED_TRACE(sets.back());
    expect_equal("e.yaml", sets);
  }
  expect_equal("e.yaml", {"transformer.routing.imbalance=0.5"}, "json");
}

TEST_F(RoundTrip, OfLayersByLetter) {
  workspace_.write("h.yaml", R"(transformer:
  model: {name: tiny, layers: 5, hidden: 256, ffn: 512, heads: 8, vocabulary: 1024,
          pattern: "ME*-E", mamba: {heads: 8, head_dim: 64, state_dim: 32, groups: 4},
          moe: {experts: 8, top_k: 2, ffn: 256, latent: 64}}
  parallel: {tensor: 2, data: 4, expert: 4}
  sequence_length: 128
  global_batch_sequences: 8
)");
  const std::vector<Sets> table{{"recompute=none"},
                                {"recompute=experts"},
                                {"parallel.context=2", "parallel.data=2", "parallel.expert=2"},
                                {"parallel.pipeline=2", "model.predictions=1"},
                                {"gemm_precision=fp8", "routing.imbalance=0.5"}};
  for (Sets sets : table) {
    for (std::string& set : sets) set = "transformer." + set;
    SCOPED_TRACE(sets.back());
    expect_equal("h.yaml", sets);
  }
}

TEST_F(RoundTrip, OfEachPresetMadeSmall) {
  const Sets dense{"transformer.parallel.tensor=2", "transformer.parallel.pipeline=2",
                   "transformer.parallel.data=2", "transformer.model.layers=4",
                   "transformer.global_batch_sequences=32"};
  Sets interleaved = dense;
  interleaved.insert(interleaved.end(),
                     {"transformer.schedule.virtual_stages=2", "transformer.parallel.context=2"});
  const Sets one_stage{"transformer.parallel.tensor=2", "transformer.parallel.data=2",
                       "transformer.model.layers=2", "transformer.global_batch_sequences=4"};
  const Sets experts{"transformer.parallel.pipeline=1", "transformer.parallel.data=8",
                     "transformer.parallel.expert=8", "transformer.model.layers=4",
                     "transformer.global_batch_sequences=8"};
  const Sets both_ways{"transformer.parallel.pipeline=2", "transformer.parallel.data=8",
                       "transformer.parallel.expert=8", "transformer.model.layers=4",
                       "transformer.global_batch_sequences=32"};
  const std::vector<std::pair<const char*, Sets>> table{
      {"deepseek_v3_2048", both_ways},
      {"dlrm_dcnv2_64", {"dlrm.devices=8", "dlrm.global_batch=1024"}},
      {"llama2_70b_inference_8", {"inference.model.layers=2", "inference.output_tokens=3"}},
      {"llama2_7b_8", dense},
      {"llama3_405b_1k", interleaved},
      {"llama3_405b_131k", interleaved},
      {"llama3_405b_8k_published", interleaved},
      {"llama3_405b_16k_published", interleaved},
      {"llama3_70b_512", dense},
      {"llama3_8b_context_32", one_stage},
      {"llama3_8b_fsdp_64", {"transformer.parallel.data=16", "transformer.model.layers=2",
                             "transformer.global_batch_sequences=16"}},
      {"mixtral_8x7b_64", experts},
      {"resnet50_64", {"resnet.devices=4", "resnet.global_batch=64"}},
      {"t5_11b_64", dense},
      {"vit_huge_8", {"transformer.parallel.data=2", "transformer.model.layers=2",
                      "transformer.global_batch_sequences=128"}}};
  for (const auto& [name, sets] : table) {
    SCOPED_TRACE(name);
    expect_equal(std::string(EXAWARP_SOURCE_DIR "/configs/workloads/") + name + ".yaml", sets);
  }
}

TEST_F(RoundTrip, OfEachMicrobenchmark) {
  for (const char* type : {"all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast",
                           "reduce", "barrier", "gather", "scatter", "permute"}) {
    SCOPED_TRACE(type);
    workspace_.write("m.yaml", std::string("microbenchmark: {kind: collective, collective: ") +
                                   type + ", mesh: {a: 2, b: 4}, along: [b], repeats: 2, "
                                          "bytes: 1 MiB}\n");
    expect_equal("m.yaml", {});
  }
  for (const char* text :
       {"kind: ping_pong, bytes: 1 MiB, repeats: 2", "kind: send, bytes: 1 MiB",
        "kind: compute, flops: 1000000, bytes_read: 1 MiB",
        "kind: memory, bytes_written: 1 MiB, place: host", "kind: memory, bytes_read: 1 MiB"}) {
    SCOPED_TRACE(text);
    workspace_.write("m.yaml", std::string("microbenchmark: {") + text + "}\n");
    expect_equal("m.yaml", {});
  }
}

// What other tools read of a permutation: each rank's send has its receive, and what waits for the
// permutation waits for both.
TEST_F(RoundTrip, PermutationsAreSendsAndReceives) {
  workspace_.write("t.yaml", kTransformer);
  const Ran generated = workspace_.run(
      {"workload", "generate", "t.yaml", "-o", "a.xwg", "--set", "transformer.parallel.context=4",
       "--set", "transformer.parallel.pipeline=1", "--set", "transformer.parallel.data=1"});
  ASSERT_EQ(generated.exit_code, 0) << generated.err;
  ASSERT_EQ(workspace_.run({"workload", "export", "json", "a.xwg", "-o", "p"}).exit_code, 0);
  std::multiset<std::string> sent, received;
  std::size_t both = 0;
  for (int rank = 0; rank < 8; ++rank) {
    std::istringstream lines(workspace_.read("p." + std::to_string(rank) + ".json"));
    std::map<std::string, std::string> arrival;  // by the send's id
    std::vector<json> nodes;
    for (std::string line; std::getline(lines, line);) nodes.push_back(json::parse(line));
    for (const json& node : nodes) {
      std::map<std::string, json> attributes;
      for (const json& a : node.value("attr", json::array())) attributes[a.at("name")] = a;
      const bool receives = node.value("type", "") == "COMM_RECV_NODE";
      if (!receives && node.value("type", "") != "COMM_SEND_NODE") continue;
      std::string key;
      for (const char* name : {"comm_src", "comm_dst", "comm_tag"}) {
        key += attributes.at(name).at("uint32_val").dump() + " ";
      }
      (receives ? received : sent).insert(key + attributes.at("comm_size").dump());
      if (receives) arrival[attributes.at("exawarp_arrival_of").at("uint64_val")] = node.at("id");
    }
    for (const json& node : nodes) {
      const auto waits = node.value("data_deps", std::vector<std::string>{});
      for (const std::string& id : waits) {
        if (!arrival.contains(id)) continue;
        EXPECT_EQ(std::ranges::count(waits, arrival[id]), 1) << node.dump();
        ++both;
      }
    }
  }
  EXPECT_EQ(sent, received);
  EXPECT_GT(sent.size(), 8u);
  EXPECT_GT(both, 8u);
}

}  // namespace
}  // namespace exawarp::tests
