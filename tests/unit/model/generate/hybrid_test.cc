// Layers by letter: state-space layers, experts on a latent width, predictions of further tokens.
#include <gtest/gtest.h>

#include "model/generate/inference.h"
#include "model/generate/transformer.h"
#include "model/generate/transformer_costs.h"
#include "tests/support/workload_builders.h"

namespace exawarp::tests {
namespace {

using namespace model;

constexpr std::uint64_t kTokens = 64;  // of a micro-batch: two sequences of 32
constexpr std::uint64_t kHidden = 64;

// State space, attention, feed-forward, state space. d = 128, b = 32, chunks of 16 tokens.
TransformerSpec hybrid(const std::string& pattern = "M*-M") {
  TransformerSpec spec = tests::tiny_llama();
  spec.model.pattern = pattern;
  spec.model.layers = static_cast<std::int64_t>(pattern.size());
  spec.model.mamba = {.heads = 8, .head_dim = 16, .state_dim = 8, .groups = 4, .chunk = 16};
  return spec;
}

TransformerSpec hybrid_with_experts() {
  TransformerSpec spec = hybrid("ME*E");
  spec.model.moe = {.experts = 8, .top_k = 2, .ffn = 96, .latent = 16};
  return spec;
}

TransformerCosts costs_of(const TransformerSpec& spec) {
  return transformer_costs(spec, route_experts(spec), 0);
}

std::vector<std::string> names_of(const TransformerSpec& spec, schema::Phase phase,
                                  std::uint16_t layer) {
  std::vector<std::string> names;
  const WorkloadGraph graph = generate_transformer(spec);
  for (const NamedNode& node : nodes_of(graph, 0, phase, layer, 0)) names.push_back(node.name);
  return names;
}

ModelSpec nemotron_nano() {
  ModelSpec model{.name = {},
                  .layers = 52,
                  .hidden = 2688,
                  .ffn = 1856,
                  .heads = 32,
                  .kv_heads = 2,
                  .head_dim = 128,
                  .vocabulary = 131072,
                  .gated_ffn = false};
  model.pattern = "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME";
  model.mamba = {.heads = 64};
  model.moe = {.experts = 128, .top_k = 6, .ffn = 1856, .shared_ffn = 3712};
  return model;
}

ModelSpec nemotron_super() {
  ModelSpec model = nemotron_nano();
  model.layers = 88;
  model.hidden = 4096;
  model.pattern =
      "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME";
  model.mamba.heads = 128;
  model.moe = {.experts = 512, .top_k = 22, .ffn = 2688, .shared_ffn = 5376, .latent = 1024};
  return model;
}

// Nemotron 3 Nano 30B-A3B has 31.6 B, Super 120B-A12B 120.6 B (their model cards); Nemotron-H
// 8B 8.1 B (arXiv:2504.03624).
TEST(Hybrid, ParametersOfPublishedModelsAreRight) {
  EXPECT_NEAR(static_cast<double>(parameter_count(nemotron_nano())), 31.6e9, 0.1e9);
  EXPECT_NEAR(static_cast<double>(parameter_count(nemotron_super())), 120.6e9, 0.6e9);
  ModelSpec h8 = nemotron_nano();
  h8.pattern = "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-";
  h8.hidden = 4096;
  h8.ffn = 21504;
  h8.kv_heads = 8;
  h8.mamba.heads = 128;
  h8.moe = {};
  EXPECT_NEAR(static_cast<double>(parameter_count(h8)), 8.1e9, 0.05e9);
}

// By hand, of 4 layers with the sizes above: a norm of 64 in each.
TEST(Hybrid, EachLayerHasOneBlock) {
  const TransformerCosts costs = costs_of(hybrid());
  const LayerCosts &mamba = costs.layer(0), &attention = costs.layer(1), &dense = costs.layer(2);
  EXPECT_TRUE(mamba.mamba && mamba.attention.empty() && !mamba.has_block());
  EXPECT_TRUE(!attention.mamba && attention.attention.size() == 1 && !attention.has_block());
  EXPECT_TRUE(!dense.mamba && dense.attention.empty() && dense.ffn);
  EXPECT_EQ(costs.kind_of_layer[0], costs.kind_of_layer[3]);
  constexpr std::uint64_t kIn = 2 * 128 + 2 * 32 + 8;
  constexpr std::uint64_t kSmall = (128 + 2 * 32) * 5 + 3 * 8 + 128;
  EXPECT_EQ(mamba.parameters, kHidden * kIn + kSmall + 128 * kHidden + kHidden);
  EXPECT_EQ(attention.parameters, kHidden * (64 + 2 * 16) + 64 * kHidden + kHidden);
  EXPECT_EQ(dense.parameters, 3 * kHidden * 160 + kHidden);
  EXPECT_EQ(attention.parameters + dense.parameters,
            costs_of(tests::tiny_llama()).layer(0).parameters);
}

TEST(Hybrid, ScanCostsWhatTheTableSays) {
  const MambaCosts m = *costs_of(hybrid()).layer(0).mamba;
  constexpr std::uint64_t kInner = kTokens * 128, kShared = kTokens * 32;
  constexpr std::uint64_t kStates = kInner * 8 / 16, kScores = kTokens * 4 * 16;
  EXPECT_EQ(m.in.forward.flops, 2 * kTokens * kHidden * 328);
  EXPECT_EQ(m.out.forward.flops, 2 * kTokens * 128 * kHidden);
  EXPECT_EQ(m.convolution.forward.bytes_read, 2 * (kInner + 2 * kShared));
  ASSERT_EQ(m.scan.size(), 4u);
  EXPECT_EQ(m.scan[0].flops, 2 * kInner * 8);
  EXPECT_EQ(m.scan[0].bytes_written, 4 * kStates);
  EXPECT_EQ(m.scan[1].bytes_written, 2 * kStates);
  EXPECT_EQ(m.scan[2].flops, 2 * 16 * kShared);
  EXPECT_EQ(m.scan[2].bytes_written, 4 * kScores);
  EXPECT_EQ(m.scan[3].flops, 2 * kInner * 8 + 16 * kInner);
  EXPECT_EQ(m.scan[3].bytes_read, 2 * (kInner + kShared + kStates) + 4 * kScores);
  // The convolution and the three before the last again, then eight of its own.
  ASSERT_EQ(m.scan_backward.size(), 12u);
  EXPECT_STREQ(m.scan_backward[0].name, "convolution");
  EXPECT_EQ(m.scan_backward[2].bytes_written, 4 * kStates);  // passed on in fp32
  std::uint64_t flops = 0;
  for (const OperationCost& kernel : m.scan_backward) flops += kernel.flops;
  EXPECT_EQ(flops, m.convolution.forward.flops + 5 * 2 * kInner * 8 + 6 * kStates +
                       3 * 16 * kInner + 6 * 16 * kShared);
  EXPECT_EQ(m.scan_model_flops, 7.0 * kInner * 8);
}

// As much work for each rank, whatever the sequence's share; heads and tokens are exchanged.
TEST(Hybrid, ContextExchangesHeadsForTokens) {
  TransformerSpec spec = hybrid();
  spec.parallel.context = 2;
  const std::vector<std::string> forward{
      "norm",        "mamba_in",    "heads.all_to_all",  "convolution", "scan.states", "scan.pass",
      "scan.scores", "scan.output", "output.all_to_all", "gated_norm",  "mamba_out",   "residual"};
  EXPECT_EQ(names_of(spec, schema::Phase::FORWARD, 0), forward);
  const MambaCosts split = *costs_of(spec).layer(0).mamba;
  const MambaCosts whole = *costs_of(hybrid()).layer(0).mamba;
  EXPECT_EQ(2 * split.scan[3].flops, whole.scan[3].flops);
  EXPECT_EQ(split.in_bytes, kTokens / 2 * 328 * 2);
  EXPECT_EQ(split.scanned_bytes, kTokens / 2 * 128 * 2);
}

TEST(Hybrid, BackwardGoesTheOtherWay) {
  TransformerSpec spec = hybrid();
  spec.parallel.tensor = 2;
  const std::vector<std::string> backward{
      "tensor.all_gather",    "mamba_out.dx",      "mamba_out.dw",     "gated_norm.backward",
      "convolution",          "scan.states",       "scan.pass",        "scan.scores",
      "scan.states.back",     "scan.pass.back",    "scan.input.back",  "scan.b.back",
      "scan.c.back",          "scan.scores.back",  "scan.groups.back", "scan.steps.back",
      "convolution.backward", "tensor.all_gather", "mamba_in.dx",      "tensor.reduce_scatter",
      "mamba_in.dw",          "norm.backward",     "residual.backward"};
  EXPECT_EQ(names_of(spec, schema::Phase::BACKWARD, 0), backward);
  const TransformerCosts half = costs_of(spec), whole = costs_of(hybrid());
  EXPECT_EQ(2 * half.layer(0).mamba->scan[0].flops, whole.layer(0).mamba->scan[0].flops);
}

TEST(Hybrid, KeepsWhatItsBackwardPassReads) {
  const TransformerCosts costs = costs_of(hybrid());
  constexpr std::uint64_t kResidual = 2 * kTokens * kHidden;
  EXPECT_EQ(costs.layer(0).saved.input, kResidual);
  EXPECT_EQ(costs.layer(0).saved.rest, kResidual + 2 * kTokens * (328 + 2 * 128));
  EXPECT_EQ(costs.layer(0).saved.again, kResidual);
  // One block less of input than the two of a whole layer.
  const SavedBytes whole = costs_of(tests::tiny_llama()).layer(0).saved;
  EXPECT_EQ(costs.layer(1).saved.all() + costs.layer(2).saved.all(), whole.all());
}

// Tokens go to experts on a quarter of their width, and so do the experts' products see them.
TEST(Hybrid, LatentExperts) {
  const ExpertCosts latent = *costs_of(hybrid_with_experts()).layer(1).moe;
  TransformerSpec spec = hybrid_with_experts();
  spec.model.moe.latent = 0;
  const TransformerCosts wide = costs_of(spec);
  const ExpertCosts& whole = *wide.layer(1).moe;
  EXPECT_FALSE(whole.narrow || whole.widen);
  EXPECT_EQ(latent.narrow->forward.flops, 2 * kTokens * kHidden * 16);
  EXPECT_EQ(latent.widen->forward.flops, 2 * kTokens * 16 * kHidden);
  EXPECT_EQ(4 * latent.dispatch_bytes, whole.dispatch_bytes);
  EXPECT_EQ(4 * latent.experts.in.forward.flops, whole.experts.in.forward.flops);
  EXPECT_EQ(latent.router.forward.flops, whole.router.forward.flops);
  EXPECT_EQ(4 * costs_of(hybrid_with_experts()).layer(1).expert_parameters,
            wide.layer(1).expert_parameters);
  const std::vector<std::string> forward{
      "norm",      "router",     "router.top_k",      "latent_in",
      "permute",   "expert_in",  "expert.activation", "expert_out",
      "unpermute", "latent_out", "residual"};
  EXPECT_EQ(names_of(hybrid_with_experts(), schema::Phase::FORWARD, 1), forward);
}

// Of layers with experts alone, and in memory what the block keeps.
TEST(Hybrid, RecomputesBlocksOfExperts) {
  TransformerSpec spec = hybrid_with_experts();
  const WorkloadGraph keeps = generate_transformer(spec);
  spec.recompute.kind = Recompute::kExperts;
  const WorkloadGraph again = generate_transformer(spec);
  EXPECT_EQ(nodes_of(again, 0, schema::Phase::RECOMPUTE, 1, 0).size(), 10u);  // all but the sum
  EXPECT_TRUE(nodes_of(again, 0, schema::Phase::RECOMPUTE, 0, 0).empty());
  EXPECT_TRUE(nodes_of(again, 0, schema::Phase::RECOMPUTE, 2, 0).empty());
  const SavedBytes saved = costs_of(spec).layer(1).saved;
  EXPECT_EQ(saved.experts, saved.rest);
  EXPECT_LT(again.program(0).memory()->peak(), keeps.program(0).memory()->peak());
}

// A head, a loss and a product more for each further token.
TEST(Hybrid, PredictionsRepeatTheHead) {
  TransformerSpec spec = hybrid();
  const auto heads = [](const TransformerSpec& of, const char* name) {
    std::size_t count = 0;
    const WorkloadGraph graph = generate_transformer(of);
    const Program& program = graph.program(0);
    for (std::uint32_t i = 0; i < program.node_count(); ++i) {
      count += graph.node_name(program.node(i)) == name ? 1 : 0;
    }
    return count;
  };
  const std::uint64_t parameters = parameter_count(spec.model);
  const double flops = model_flops_of_step(spec);
  const double head = 3.0 * 2 * 8 * 32 * kHidden * 512;  // of the step
  spec.model.predictions = 2;
  for (const char* name : {"head", "head.dw", "loss.gradient"}) EXPECT_EQ(heads(spec, name), 12u);
  for (const char* name : {"prediction_in", "prediction_in.dw"}) EXPECT_EQ(heads(spec, name), 8u);
  EXPECT_EQ(parameter_count(spec.model), parameters + 2 * (2 * kHidden + 3) * kHidden);
  EXPECT_DOUBLE_EQ(model_flops_of_step(spec), flops + 2 * (head + head * 2 * 64 / 512));
  spec.schedule.kind = ScheduleKind::kZeroH1;
  for (const char* name : {"head.dw", "prediction_in.dw"}) {
    EXPECT_EQ(heads(spec, name), name == std::string("head.dw") ? 12u : 8u);
  }
}

std::string refusal_of(const TransformerSpec& spec) {
  try {
    check(spec);
  } catch (const SpecProblem& problem) {
    return problem.key + " " + problem.text;
  }
  return {};
}

TEST(Hybrid, RefusesWhatMakesNoModel) {
  EXPECT_EQ(refusal_of(hybrid()), "");
  EXPECT_EQ(refusal_of(hybrid_with_experts()), "");
  const auto with = [](const auto& change) {
    TransformerSpec spec = hybrid();
    change(spec);
    return refusal_of(spec);
  };
  EXPECT_EQ(with([](auto& s) { s.model.pattern = "M*xM"; }),
            "model.pattern \"x\" at letter 3; expected M, *, - or E");
  EXPECT_EQ(with([](auto& s) { s.model.pattern = "M*-"; }),
            "model.pattern has 3 layers; expected as many as model.layers, 4");
  EXPECT_EQ(with([](auto& s) { s.model.mamba.heads = 0; }),
            "model.pattern has layers \"M\" without model.mamba; expected both or neither");
  EXPECT_EQ(with([](auto& s) { s.model.pattern = "*-*-"; }),
            "model.pattern has no layers \"M\" beside model.mamba; expected both or neither");
  EXPECT_EQ(with([](auto& s) { s.model.pattern = "M*-E"; }),
            "model.pattern has layers \"E\" without model.moe; expected both or neither");
  EXPECT_NE(with([](auto& s) { s.model.pattern = ""; }).find("without a pattern"),
            std::string::npos);
  EXPECT_NE(with([](auto& s) { s.model.blocks = BlockOrder::kParallel; }).find("model.pattern"),
            std::string::npos);
  EXPECT_NE(with([](auto& s) { s.parallel.context = 8; }).find("parallel.context"),
            std::string::npos);
  EXPECT_NE(with([](auto& s) { s.model.mamba.groups = 3; }).find("model.mamba.groups"),
            std::string::npos);
  EXPECT_NE(with([](auto& s) { s.model.predictions = 65; }).find("model.predictions"),
            std::string::npos);
}

TEST(Hybrid, IsNotServed) {
  InferenceSpec spec;
  spec.model = hybrid().model;
  EXPECT_THROW(check(spec), SpecProblem);
}

}  // namespace
}  // namespace exawarp::tests
