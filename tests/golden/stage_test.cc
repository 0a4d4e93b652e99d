// One layer of our generator's graphs against the same layer of STAGE's traces (stage/README.md),
// after the corrections that docs/laboratory/validation.md lists: a difference is one of its known
// errors.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <ostream>
#include <sstream>
#include <string>

#include "model/generate/transformer.h"
#include "model/generate/transformer_costs.h"

namespace exawarp::tests {
namespace {

using namespace model;
using Quantities = std::map<std::string, std::uint64_t>;

constexpr std::uint64_t kSequence = 512;
constexpr std::uint64_t kNorms = 2 * 1024;  // parameters of a layer's norms, which STAGE lacks

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
  spec.kernels = kernels_of(KernelPreset::kIdeal);  // STAGE has no others
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

// ---- totals of a rank and step, of each stage of each set

struct Total {
  std::int64_t count = 0, elements = 0;
  friend bool operator==(const Total&, const Total&) = default;
};
std::ostream& operator<<(std::ostream& out, const Total& total) {
  return out << total.count << " of " << total.elements << " in all";
}
using Totals = std::map<std::string, Total>;

Totals stage_totals(const std::string& set, std::uint32_t stage) {
  std::ifstream file(EXAWARP_SOURCE_DIR "/tests/golden/stage/totals.csv");
  Totals totals;
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    std::string name, number, quantity, count, elements;
    for (std::string* cell : {&name, &number, &quantity, &count}) std::getline(in, *cell, ',');
    std::getline(in, elements);
    if (name != set || number != std::to_string(stage)) continue;
    totals[quantity] = {std::stoll(count), std::stoll(elements)};
  }
  EXPECT_FALSE(totals.empty()) << set;
  return totals;
}

// "AXIS.TYPE" of a collective, by its name; "" for the scalars of the gradient norm.
std::string quantity_of(const std::string& name) {
  static const std::map<std::string, std::string> kAxes{
      {"tensor", "tensor"},     {"loss", "tensor"},          {"keys", "context"},
      {"values", "context"},    {"expert", "tensor"},        {"gradient", "data"},
      {"parameter", "data"},    {"expert_gradient", "data"}, {"gradient_norm", ""}};
  if (name == "expert.dispatch" || name == "expert.combine") return "expert.all_to_all";
  const std::string axis = kAxes.at(name.substr(0, name.find('.')));
  return axis.empty() ? "" : axis + name.substr(name.rfind('.'));
}

// Elements as STAGE has them: comm_size, and the outputs of products; collectives over data in
// elements alone, since ours come in buckets.
Totals our_totals(const WorkloadGraph& graph, std::uint32_t stage) {
  const Program& program = graph.program(stage);
  Totals totals;
  const auto add = [&](const std::string& quantity, std::uint64_t elements) {
    Total& total = totals[quantity];
    ++total.count;
    total.elements += static_cast<std::int64_t>(elements);
  };
  for (std::uint32_t i = 0; i < program.node_count(); ++i) {
    const schema::Node::Reader node = program.node(i);
    if (node.getKind() == schema::NodeKind::SEND) add("pipeline.send", node.getCommBytes() / 2);
    if (node.getKind() == schema::NodeKind::COLLECTIVE) {
      const std::string quantity = quantity_of(graph.node_name(node));
      if (!quantity.empty()) add(quantity, node.getCommBytes() / 2);
    }
    if (node.getKind() == schema::NodeKind::COMPUTE &&
        node.getOperation() == schema::Operation::GEMM) {
      add("products.macs", node.getFlops() / 2);
      add("products.outputs", node.getBytesWritten() / 2);
    }
  }
  return totals;
}

// What STAGE's totals become without its known faults (docs/laboratory/validation.md).
class Corrected {
 public:
  Corrected(const TransformerSpec& spec, const std::string& set, std::uint32_t stage)
      : totals_(stage_totals(set, stage)),
        sequence_parallel_(spec.parallel.sequence_parallel && spec.parallel.tensor > 1),
        first_(stage == 0),
        last_(stage + 1 == spec.parallel.pipeline),
        m_(micro_batches_of(spec)),
        t_(spec.parallel.tensor),
        layers_(spec.model.layers / spec.parallel.pipeline),
        tokens_(spec.micro_batch_sequences * spec.sequence_length / spec.parallel.context),
        n_(tokens_ * spec.model.hidden) {}

  // Three products as wide as the vocabulary in place of a lookup.
  Corrected& lookup() {
    if (!first_) return *this;
    change("products.macs", 0, -3 * m_ * n_ * kVocabulary / t_);
    change("products.outputs", 0,
           -m_ * (kTable / table_split() + tokens_ * kVocabulary / t_ + n_ / sequence_split()));
    if (!sequence_parallel_) return *this;
    change("tensor.reduce_scatter", m_, m_ * n_);
    change("tensor.all_gather", m_, m_ * n_ / t_);
    return *this;
  }
  // A rank's tokens times the whole matrix of the head, not all tokens times its share.
  Corrected& head() {
    if (!last_) return *this;
    change("products.outputs", 0,
           m_ * (n_ - n_ / t_) - m_ * (kTable / table_split() - kTable / t_));
    if (!sequence_parallel_) {  // all logits on every rank
      change("products.outputs", 0, -m_ * (tokens_ - tokens_ / t_) * kVocabulary);
      return *this;
    }
    change("tensor.all_gather", 2 * m_, 2 * m_ * n_ / t_);
    change("tensor.reduce_scatter", m_, m_ * n_);
    return *this;
  }
  // Whole tables' gradients reduced over tensor, and over data too.
  Corrected& whole_tables() {
    const std::int64_t tables = (first_ ? 1 : 0) + (last_ ? 1 : 0);
    if (t_ > 1) change("tensor.all_reduce", -tables, -tables * kTable);
    change("data.all_reduce", 0, -tables * (kTable - kTable / t_));
    return *this;
  }
  // No loss over a split vocabulary: three scalars of fp32 a token.
  Corrected& loss() {
    if (last_ && t_ > 1) change("tensor.all_reduce", 3 * m_, 3 * m_ * 2 * tokens_);
    return *this;
  }
  // Gradients each micro-batch; no norm weights.
  Corrected& gradients(std::int64_t layer_parameters, const char* quantity = "data.all_reduce") {
    change(quantity, 0, -(m_ - 1) * layers_ * layer_parameters);
    return norms(quantity, 1);
  }
  Corrected& norms(const char* quantity, std::int64_t share) {
    change(quantity, 0, (layers_ * static_cast<std::int64_t>(kNorms) + (last_ ? kHidden : 0)) /
                            share);
    return *this;
  }
  // The activation's element-wise products counted with those of matrices; the gradients of up and
  // gate as two products and their sum.
  Corrected& gated(std::int64_t ffn) {
    const std::int64_t inner = layers_ * m_ * tokens_ * ffn / t_;
    change("products.macs", 0, -3 * inner);
    change("products.outputs", 0, -3 * inner - layers_ * m_ * n_);
    return *this;
  }
  Corrected& change(const std::string& quantity, std::int64_t count, std::int64_t elements) {
    totals_[quantity].count += count;
    totals_[quantity].elements += elements;
    return *this;
  }

  void expect(const WorkloadGraph& graph, std::uint32_t stage) {
    Totals ours = our_totals(graph, stage);
    for (auto* totals : {&ours, &totals_}) {
      for (auto& [quantity, total] : *totals) {
        if (starts_with(quantity, "data.") || starts_with(quantity, "products.")) total.count = 0;
      }
      std::erase_if(*totals, [](const auto& entry) { return entry.second == Total{}; });
    }
    for (const auto& [quantity, total] : ours) EXPECT_EQ(total, totals_[quantity]) << quantity;
    EXPECT_EQ(ours.size(), totals_.size());
  }

  static constexpr std::int64_t kVocabulary = 32000, kHidden = 1024;
  static constexpr std::int64_t kTable = kVocabulary * kHidden;

 private:
  [[nodiscard]] std::int64_t sequence_split() const { return sequence_parallel_ ? t_ : 1; }
  // STAGE splits tables where it does not split the sequence.
  [[nodiscard]] std::int64_t table_split() const { return sequence_parallel_ ? 1 : t_; }

  Totals totals_;
  bool sequence_parallel_, first_, last_;
  std::int64_t m_, t_, layers_, tokens_, n_;
};

TransformerSpec totals_of(TransformerSpec spec, Sharding sharding = Sharding::kNone) {
  spec.gradient_precision = schema::DataType::BF16;
  spec.parallel.sharding = sharding;
  return spec;
}

std::int64_t signed_layer_parameters(const TransformerSpec& spec) {
  return static_cast<std::int64_t>(layer_parameters(spec));
}

TEST(StageTotals, DenseWithPipeline) {
  TransformerSpec spec = totals_of(spec_of({.tensor = 2, .pipeline = 2, .data = 2}, 2));
  spec.global_batch_sequences = 16;
  const WorkloadGraph graph = generate_transformer(spec);
  for (const std::uint32_t stage : {0u, 1u}) {
    SCOPED_TRACE(stage);
    Corrected corrected(spec, "dense_tp2_dp2_pp2", stage);
    corrected.lookup().head().whole_tables().loss().gated(2816);
    corrected.gradients(signed_layer_parameters(spec)).expect(graph, stage);
  }
}

TEST(StageTotals, DenseWithSequenceParallelism) {
  const TransformerSpec spec = totals_of(spec_of({.tensor = 4, .data = 4}, 4));
  Corrected corrected(spec, "dense_tp4_sp_dp4", 0);
  corrected.lookup().head().whole_tables().loss().gated(2816);
  corrected.gradients(signed_layer_parameters(spec)).expect(generate_transformer(spec), 0);
}

TEST(StageTotals, GptWithoutSequenceParallelism) {
  TransformerSpec spec =
      totals_of(spec_of({.tensor = 4, .data = 2, .sequence_parallel = false}, 8));
  spec.model.gated_ffn = false;
  spec.model.kv_heads = 0;
  constexpr std::int64_t kTokens = 8 * 512, kWhole = kTokens * 1024;
  Corrected corrected(spec, "gpt_tp4_nosp", 0);
  corrected.lookup().head().loss().norms("data.all_reduce", 1);
  // The loss over all logits of all tokens; a gather in place of the sum of the head's gradients.
  corrected.change("tensor.all_reduce", 0, kWhole - kTokens * Corrected::kVocabulary);
  corrected.change("tensor.all_gather", -1, -kWhole / 4).expect(generate_transformer(spec), 0);
}

TEST(StageTotals, ContextParallelism) {
  const TransformerSpec spec = totals_of(spec_of(
      {.tensor = 2, .data = 2, .context = 2, .context_method = ContextMethod::kAllGather}, 8));
  Corrected corrected(spec, "cp2_tp2_dp2", 0);
  corrected.lookup().head().whole_tables().loss().gated(2816);
  corrected.gradients(signed_layer_parameters(spec));
  corrected.change("context.all_reduce", -6, -88'080'384);  // once more than over data
  corrected.change("context.reduce_scatter", 0, -16'777'216 * 3 / 4);  // of 4 kv heads, not 16
  corrected.expect(generate_transformer(spec), 0);
}

TEST(StageTotals, FullySharded) {
  const TransformerSpec spec = totals_of(spec_of({.data = 8}, 2), Sharding::kZero3);
  Corrected corrected(spec, "fsdp8", 0);
  corrected.lookup().head().gated(2816);
  // Tables are sharded too: that of the head, with its norm, is gathered again for backward.
  corrected.change("data.all_reduce", 0, -2 * Corrected::kTable);
  corrected.norms("data.reduce_scatter", 1);
  corrected.change("data.reduce_scatter", 0, 2 * Corrected::kTable);
  corrected.norms("data.all_gather", 8).norms("data.all_gather", 8);
  corrected.change("data.all_gather", 0, 3 * Corrected::kTable / 8);
  corrected.expect(generate_transformer(spec), 0);
}

TEST(StageTotals, Experts) {
  TransformerSpec spec = totals_of(spec_of({.tensor = 2, .data = 8, .expert = 4}, 8));
  spec.model.moe = {.experts = 8, .top_k = 2, .ffn = 2816};
  constexpr std::int64_t kLayers = 4, kTokens = 8 * 512, kSplit = 2, kExpertRanks = 4;
  constexpr std::int64_t kFfn = 2816, kMatrix = Corrected::kHidden * kFfn / kSplit;
  Corrected corrected(spec, "moe_ep4", 0);
  corrected.lookup().head().whole_tables().loss();
  corrected.norms("data.all_reduce", 1);
  // Two experts a rank without their up-projection; the router's matrix of H x 2 over the ranks.
  corrected.change("data.all_reduce", 0,
                   kLayers * (2 * kMatrix + 8 * Corrected::kHidden - 512));
  // The ranks that share experts hold the same tokens, gather them, and exchange a fourth of each.
  corrected.change("expert.all_gather", -12, -4'196'352);
  corrected.change("expert.all_to_all", 0, (kExpertRanks - 1) * 16'777'216);
  // Slots of each expert on its own, of those few tokens, not of all experts together.
  constexpr std::int64_t kSlots = 2 * kTokens;  // of a rank's experts, two experts a token
  corrected.change("tensor.all_gather", 2 * kLayers - 24,
                   2 * kLayers * kSlots / kSplit * Corrected::kHidden - 24 * 131'072);
  corrected.change("tensor.reduce_scatter", 2 * kLayers - 16,
                   2 * kLayers * kSlots * Corrected::kHidden - 16 * 262'144);
  // Products: three matrices, not two, of 16 times the slots; the router of all experts.
  constexpr std::int64_t kRouted = kTokens / kSplit, kExperts = 8;
  corrected.change("products.macs", 0,
                   kLayers * (9 * kSlots * kMatrix - 12 * kSlots / 32 * kMatrix +
                              3 * kRouted * Corrected::kHidden * kExperts - 6'291'456));
  corrected.change("products.outputs", 0,
                   kLayers * (kSlots * (2 * Corrected::kHidden + 3 * kFfn / kSplit) +
                              2 * 3 * kMatrix - 8'257'536 +
                              kRouted * (kExperts + Corrected::kHidden) +
                              kExperts * Corrected::kHidden - 528'896));
  corrected.expect(generate_transformer(spec), 0);
}

}  // namespace
}  // namespace exawarp::tests
