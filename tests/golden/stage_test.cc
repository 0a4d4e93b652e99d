// One layer of our generator's graphs against the same layer of STAGE's traces (stage/README.md),
// after the corrections that docs/training.md lists: a difference is one of its known faults.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "model/workload/transformer.h"
#include "model/workload/transformer_costs.h"

namespace exawarp::model {
namespace {

using Quantities = std::map<std::string, std::uint64_t>;

constexpr std::uint64_t kSequence = 512;
constexpr std::uint64_t kNorms = 2 * 1024;  // parameters of a layer's norms, which STAGE has not

Quantities stage(const std::string& set) {
  std::ifstream file(EXAWARP_SOURCE_DIR "/tests/golden/stage/layer.csv");
  EXPECT_TRUE(file) << "no tests/golden/stage/layer.csv";
  Quantities result;
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    std::string name, quantity, value;
    std::getline(in, name, ',');
    std::getline(in, quantity, ',');
    std::getline(in, value);
    if (name == set) result[quantity] = std::stoull(value);
  }
  EXPECT_FALSE(result.empty()) << set;
  return result;
}

TransformerSpec spec_of(const ParallelSpec& parallel, std::int64_t micro_batch) {
  TransformerSpec spec;
  spec.model = {.name = "stage",
                .layers = 4,
                .hidden = 1024,
                .ffn = 2816,
                .heads = 16,
                .kv_heads = 4,
                .vocabulary = 32000};
  spec.parallel = parallel;
  spec.sequence_length = kSequence;
  spec.micro_batch_sequences = micro_batch;
  spec.global_batch_sequences = micro_batch * parallel.data;
  return spec;
}

bool starts_with(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

void count_compute(const std::string& name, const schema::Node::Reader& node, Quantities& q) {
  const bool in_layer = node.getLayer() == 1;
  const std::uint64_t macs = node.getFlops() / 2;
  if (starts_with(name, "head")) q["head_macs"] += macs;
  if (name == "embedding") q["embedding_macs"] += macs;
  if (!in_layer) return;
  if (starts_with(name, "qkv") || starts_with(name, "projection")) q["attention_gemm_macs"] += macs;
  if (starts_with(name, "ffn_") || starts_with(name, "expert_")) q["ffn_gemm_macs"] += macs;
  if (name == "router") q["router_macs"] += macs;
  if (starts_with(name, "attention")) q["attention_ops"] += node.getFlops();
  if (name == "norm") q["norm_ops"] += node.getFlops();
  if (name == "norm.backward") q["norm_backward_ops"] += node.getFlops();
  if (name == "residual") q["residual_ops"] += node.getFlops();
}

void count_collective(const std::string& name, const schema::Node::Reader& node, Quantities& q) {
  static const std::map<std::string, std::string> kKinds{
      {"tensor.all_gather", "tensor_all_gather"},
      {"tensor.reduce_scatter", "tensor_reduce_scatter"},
      {"tensor.all_reduce", "tensor_all_reduce"},
      {"keys.all_gather", "context_all_gather"},
      {"values.all_gather", "context_all_gather"},
      {"keys.reduce_scatter", "context_reduce_scatter"},
      {"values.reduce_scatter", "context_reduce_scatter"},
      {"expert.dispatch", "expert_all_to_all"},
      {"expert.combine", "expert_all_to_all"}};
  const auto kind = kKinds.find(name);
  if (node.getLayer() != 1 || kind == kKinds.end()) return;
  ++q[kind->second + "_count"];
  q[kind->second + "_elements"] += node.getCommBytes() / 2;  // bf16
}

// Of the first program, or the last one for the head.
Quantities ours(const TransformerSpec& spec) {
  const WorkloadGraph graph = generate_transformer(spec);
  Quantities q;
  const Program& program = graph.program(0);
  for (std::uint32_t i = 0; i < program.node_count(); ++i) {
    const schema::Node::Reader node = program.node(i);
    if (node.getMicroBatch() != 0) continue;
    const std::string name = graph.node_name(node);
    if (node.getKind() == schema::NodeKind::COMPUTE) count_compute(name, node, q);
    if (node.getKind() == schema::NodeKind::COLLECTIVE) count_collective(name, node, q);
  }
  return q;
}

// What holds for every set.
void expect_common(const Quantities& ours, const Quantities& stage) {
  for (const char* same :
       {"attention_gemm_macs", "norm_ops", "norm_backward_ops", "residual_ops", "head_macs"}) {
    if (stage.count(same) == 0) continue;
    EXPECT_EQ(ours.at(same), stage.at(same)) << same;
  }
  // The attention core takes 7 S n/t (causal, flash), not 3 n/t forward and 18 n/t backward.
  EXPECT_EQ(3 * ours.at("attention_ops"), kSequence * stage.at("attention_ops"));
  // The embedding is a lookup, not three products of the vocabulary's width.
  EXPECT_EQ(ours.at("embedding_macs"), 0u);
  EXPECT_GT(stage.at("embedding_macs"), 0u);
}

void expect_tensor_collectives(const Quantities& ours, const Quantities& stage) {
  for (const auto& [name, value] : stage) {
    if (!starts_with(name, "tensor_")) continue;
    EXPECT_EQ(ours.at(name), value) << name;
  }
}

std::uint64_t layer_parameters(const TransformerSpec& spec) {
  return transformer_costs(spec, route_experts(spec), 0).kinds[0].parameters - kNorms;
}

void expect_dense(const TransformerSpec& spec, const std::string& set) {
  const Quantities theirs = stage(set);
  const Quantities mine = ours(spec);
  expect_common(mine, theirs);
  expect_tensor_collectives(mine, theirs);
  EXPECT_EQ(mine.at("ffn_gemm_macs"), theirs.at("ffn_gemm_macs"));
  EXPECT_EQ(layer_parameters(spec), theirs.at("state_all_reduce_elements"));
}

TEST(Stage, DenseWithPipeline) {
  const TransformerSpec spec = spec_of({.tensor = 2, .pipeline = 2, .data = 2}, 2);
  expect_dense(spec, "dense_tp2_dp2_pp2");
}

TEST(Stage, DenseWithSequenceParallelism) {
  const TransformerSpec spec = spec_of({.tensor = 4, .data = 4}, 4);
  expect_dense(spec, "dense_tp4_sp_dp4");
}

TEST(Stage, GptWithoutSequenceParallelism) {
  TransformerSpec spec = spec_of({.tensor = 4, .data = 2, .sequence_parallel = false}, 8);
  spec.model.gated_ffn = false;
  spec.model.kv_heads = 0;
  expect_dense(spec, "gpt_tp4_nosp");
}

TEST(Stage, ContextParallelism) {
  const TransformerSpec spec = spec_of(
      {.tensor = 2, .data = 2, .context = 2, .context_method = ContextMethod::kAllGather}, 8);
  const Quantities theirs = stage("cp2_tp2_dp2");
  const Quantities mine = ours(spec);
  expect_common(mine, theirs);
  expect_tensor_collectives(mine, theirs);
  EXPECT_EQ(mine.at("ffn_gemm_macs"), theirs.at("ffn_gemm_macs"));
  EXPECT_EQ(mine.at("context_all_gather_elements"), theirs.at("context_all_gather_elements"));
  EXPECT_EQ(mine.at("context_reduce_scatter_count"), theirs.at("context_reduce_scatter_count"));
  // Gradients of 4 kv heads, not of all 16.
  EXPECT_EQ(4 * mine.at("context_reduce_scatter_elements"),
            theirs.at("context_reduce_scatter_elements"));
  // Reduced once, over data and context together, not over one and then the other.
  EXPECT_EQ(2 * layer_parameters(spec), theirs.at("state_all_reduce_elements"));
}

TEST(Stage, FullySharded) {
  const TransformerSpec spec = spec_of({.data = 8, .sharding = Sharding::kZero3}, 2);
  const Quantities theirs = stage("fsdp8");
  const Quantities mine = ours(spec);
  expect_common(mine, theirs);
  EXPECT_EQ(mine.at("ffn_gemm_macs"), theirs.at("ffn_gemm_macs"));
  EXPECT_EQ(theirs.at("state_all_gather_count"), 2u);  // forward and backward, as ours
  EXPECT_EQ(2 * layer_parameters(spec) / 8, theirs.at("state_all_gather_elements"));
  EXPECT_EQ(layer_parameters(spec), theirs.at("state_reduce_scatter_elements"));
}

TEST(Stage, Experts) {
  constexpr std::uint64_t kExpertRanks = 4;
  TransformerSpec spec = spec_of({.tensor = 2, .data = 8, .expert = 4}, 8);
  spec.model.moe = {.experts = 8, .top_k = 2, .ffn = 2816};
  const Quantities theirs = stage("moe_ep4");
  const Quantities mine = ours(spec);
  expect_common(mine, theirs);
  // Two of three products; experts see a fourth of a rank's tokens, and of one rank, not of four.
  EXPECT_EQ(2 * mine.at("ffn_gemm_macs"),
            3 * kExpertRanks * kExpertRanks * theirs.at("ffn_gemm_macs"));
  // A rank sends all of its tokens: those of the other expert-parallel ranks are not the same.
  EXPECT_EQ(mine.at("expert_all_to_all_count"), theirs.at("expert_all_to_all_count"));
  EXPECT_EQ(mine.at("expert_all_to_all_elements"),
            kExpertRanks * theirs.at("expert_all_to_all_elements"));
  // The router's matrix is H x 8 experts, not H x 2 of a token; ours sees the rank's T/t tokens.
  EXPECT_EQ(mine.at("router_macs"), 2048u * 1024 * 8);
  EXPECT_EQ(theirs.at("router_macs"), 2048u * 1024 * 2);
}

}  // namespace
}  // namespace exawarp::model
