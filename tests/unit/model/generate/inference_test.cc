// Inference against figures counted by hand, and against itself: parts of a whole add up to it.
#include "model/generate/inference.h"

#include <gtest/gtest.h>

#include <string>

#include "model/workload/validate.h"

namespace exawarp::tests {
namespace {

using model::InferenceSpec;
using model::Program;
using model::WorkloadGraph;

InferenceSpec llama2_7b() {
  InferenceSpec spec;
  spec.model = {.name = "llama2_7b",
                .layers = 32,
                .hidden = 4096,
                .ffn = 11008,
                .heads = 32,
                .vocabulary = 32000};
  spec.batch = 2;
  spec.input_tokens = 10;
  spec.output_tokens = 3;
  return spec;
}

std::vector<model::schema::Node::Reader> named(const Program& program, const WorkloadGraph& graph,
                                               const std::string& name) {
  std::vector<model::schema::Node::Reader> found;
  for (std::uint32_t i = 0; i < program.node_count(); ++i) {
    if (graph.node_name(program.node(i)) == name) found.push_back(program.node(i));
  }
  return found;
}

TEST(Inference, ReadsThePromptOnceAndAddsATokenAPass) {
  const WorkloadGraph graph = model::generate_inference(llama2_7b());
  const Program& program = graph.program(0);
  const auto products = named(program, graph, "qkv");
  ASSERT_EQ(products.size(), 3u * 32u);                              // passes x layers
  EXPECT_EQ(products[0].getFlops(), 2u * 20u * 4096u * 3u * 4096u);  // 2 sequences of 10
  EXPECT_EQ(products[32].getFlops(), 2u * 2u * 4096u * 3u * 4096u);
  EXPECT_EQ(products[32].getBytesRead(), 2u * (2u * 4096u + 4096u * 3u * 4096u));
  // One token of each sequence is all that the head reads, of the prompt, too.
  for (const auto& head : named(program, graph, "head")) {
    EXPECT_EQ(head.getFlops(), 2u * 2u * 4096u * 32000u);
  }
  EXPECT_EQ(named(program, graph, "head").size(), 3u);
}

TEST(Inference, AttentionReadsAllThatIsCached) {
  InferenceSpec spec = llama2_7b();
  spec.cache_precision = model::schema::DataType::FP8;
  const WorkloadGraph graph = model::generate_inference(spec);
  const auto cores = named(graph.program(0), graph, "attention");
  EXPECT_EQ(cores[0].getFlops(), 4u * 20u * 10u * 4096u / 2u);  // causal: half
  const auto& last = cores[2 * 32];                             // 10 of the prompt, two more
  EXPECT_EQ(last.getFlops(), 4u * 2u * 12u * 4096u);
  EXPECT_EQ(last.getBytesRead(), 2u * 2u * 4096u + 2u * 12u * 2u * 4096u);
}

// Every other layer: a prompt's first 4 tokens see 1 to 4 (8 as causal halves are counted), the
// other 6 four each; the token after it reads 4, not 11.
TEST(Inference, AttentionReadsWhatItsWindowHas) {
  InferenceSpec spec = llama2_7b();
  const auto cache_of = [](const WorkloadGraph& graph) {
    return graph.program(0).memory()->timeline.front().bytes;
  };
  const std::uint64_t whole = cache_of(model::generate_inference(spec));
  spec.model.window = 4;
  spec.model.full_attention_every = 2;
  const WorkloadGraph graph = model::generate_inference(spec);
  const auto cores = named(graph.program(0), graph, "attention");
  EXPECT_EQ(cores[0].getFlops(), 4u * 2u * (8u + 6u * 4u) * 4096u);
  EXPECT_EQ(cores[1].getFlops(), 4u * 20u * 10u * 4096u / 2u);
  EXPECT_EQ(cores[0].getBytesRead(), cores[1].getBytesRead());
  EXPECT_EQ(cores[32].getFlops(), 4u * 2u * 4u * 4096u);
  EXPECT_EQ(cores[33].getFlops(), 4u * 2u * 11u * 4096u);
  EXPECT_EQ(cores[32].getBytesRead(), 2u * 2u * 4096u + 2u * 2u * 4u * 2u * 4096u);
  // 12 tokens are cached of a sequence, 4 in half of the layers.
  EXPECT_EQ(whole - cache_of(graph), 16u * 2u * (2u * (12u - 4u) * 2u * 4096u));
}

TEST(Inference, CountsTheParametersThatArePublished) {
  InferenceSpec spec = llama2_7b();
  EXPECT_EQ(model::generate_inference(spec).program(0).parameter_count(), 6'738'415'616u);
  spec.parallel = {.tensor = 2, .pipeline = 2};
  const WorkloadGraph split = model::generate_inference(spec);
  const std::uint64_t norms = 32u * 2u * 4096u + 4096u;  // whole on each rank of a tensor group
  EXPECT_EQ(2 * (split.program(0).parameter_count() + split.program(1).parameter_count()),
            6'738'415'616u + norms);
}

TEST(Inference, StagesPassActivationsOnAndTokensBack) {
  InferenceSpec spec = llama2_7b();
  spec.parallel.pipeline = 4;
  const WorkloadGraph graph = model::generate_inference(spec);
  ASSERT_EQ(graph.program_count(), 4u);
  const auto back = named(graph.program(3), graph, "tokens.send");
  ASSERT_EQ(back.size(), 2u);  // the last one is not read any more
  EXPECT_EQ(back[0].getPeer(), -3);
  EXPECT_EQ(back[0].getCommBytes(), 8u);
  EXPECT_EQ(named(graph.program(0), graph, "tokens.receive").size(), 2u);
  const auto forth = named(graph.program(1), graph, "pipeline.send");
  ASSERT_EQ(forth.size(), 3u);
  EXPECT_EQ(forth[0].getCommBytes(), 2u * 20u * 4096u);
  EXPECT_EQ(forth[1].getCommBytes(), 2u * 2u * 4096u);
}

TEST(Inference, RefusesWhatIsNotPossible) {
  const auto text_of = [](const InferenceSpec& spec) -> std::string {
    try {
      model::check(spec);
    } catch (const model::SpecProblem& problem) {
      return problem.what();
    }
    return "accepted";
  };
  InferenceSpec spec = llama2_7b();
  EXPECT_EQ(text_of(spec), "accepted");
  spec.parallel.tensor = 3;
  EXPECT_EQ(text_of(spec).rfind("parallel.tensor: ", 0), 0u) << text_of(spec);
  spec = llama2_7b();
  spec.output_tokens = 1 << 20;
  EXPECT_EQ(text_of(spec).rfind("output_tokens: ", 0), 0u) << text_of(spec);
  spec = llama2_7b();
  spec.model.moe = {.experts = 8, .ffn = 64};
  EXPECT_EQ(text_of(spec), "model.moe: has experts; expected none");
}

}  // namespace
}  // namespace exawarp::tests
