// Graphs made of a recorded step: which nodes they have, what these wait for, how long they are.
#include "model/extrapolate/layouts.h"

#include <gtest/gtest.h>

#include <vector>

#include "model/extrapolate/pipeline_stages.h"
#include "model/workload/validate.h"
#include "tests/unit/model/extrapolate/chain.h"

namespace exawarp::tests {
namespace {

using model::Extrapolation;
using model::ExtrapolatedLayout;
using model::schema::NodeKind;

model::WorkloadGraph graph_of(const model::RecordedStep& step, const Extrapolation& to) {
  EXPECT_EQ(refusal_of(step, to), "");
  model::WorkloadGraph graph = model::extrapolated(step, to, "chain");
  model::validate(graph);
  EXPECT_TRUE(model::find_unmatched(graph).empty());
  return graph;
}

struct Node {
  std::uint32_t index;
  std::uint64_t bytes, duration_ps;
  std::vector<std::uint32_t> after;
};

std::vector<Node> nodes_of(const model::Program& program, NodeKind kind) {
  std::vector<Node> out;
  for (std::uint32_t i = 0; i < program.node_count(); ++i) {
    const auto node = program.node(i);
    if (node.getKind() != kind) continue;
    out.push_back({i, node.getCommBytes(), node.getDurationPs(), {}});
    for (std::uint32_t d = 0; d < node.getDependencyCount(); ++d) {
      out.back().after.push_back(program.dependency(node, d));
    }
  }
  return out;
}

TEST(Extrapolated, GradientsAreReducedInBucketsAsTheBackwardPassGoes) {
  const model::WorkloadGraph graph =
      graph_of(chain_of({10, 20, 30}), {.devices = 4,
                                        .trace_batch = 8,
                                        .batch = 8,
                                        .bucket_bytes = kWeightBytes + 1});
  const std::vector<Node> reduced = nodes_of(graph.program(0), NodeKind::COLLECTIVE);
  const std::vector<Node> computed = nodes_of(graph.program(0), NodeKind::COMPUTE);
  ASSERT_EQ(reduced.size(), 2u);
  ASSERT_EQ(computed.size(), 7u);
  EXPECT_EQ(reduced[0].bytes, 2 * kWeightBytes);
  EXPECT_EQ(reduced[1].bytes, kWeightBytes);
  // After the backward operators of the second layer, and of the first.
  EXPECT_EQ(reduced[0].after, std::vector<std::uint32_t>{computed[4].index});
  EXPECT_EQ(reduced[1].after, std::vector<std::uint32_t>{computed[5].index});
  EXPECT_EQ(computed[6].after, std::vector<std::uint32_t>{reduced[1].index});
}

TEST(Extrapolated, TimesAreInProportionToTheBatchButForTheUpdate) {
  const model::WorkloadGraph graph =
      graph_of(chain_of({10}), {.devices = 2, .trace_batch = 8, .batch = 24});
  const std::vector<Node> computed = nodes_of(graph.program(0), NodeKind::COMPUTE);
  ASSERT_EQ(computed.size(), 3u);
  EXPECT_EQ(computed[0].duration_ps, 30'000'000u);
  EXPECT_EQ(computed[1].duration_ps, 60'000'000u);
  EXPECT_EQ(computed[2].duration_ps, 6'000'000u);
  // Parameters are what they were.
  EXPECT_EQ(nodes_of(graph.program(0), NodeKind::COLLECTIVE).at(0).bytes, kWeightBytes);
}

TEST(Extrapolated, SplitOperatorsTakeTheirShareAndExchangeActivations) {
  const model::WorkloadGraph graph =
      graph_of(chain_of({10, 20}), {.layout = ExtrapolatedLayout::tensor_parallel,
                                    .devices = 4,
                                    .trace_batch = 8,
                                    .batch = 16});
  const std::vector<Node> computed = nodes_of(graph.program(0), NodeKind::COMPUTE);
  const std::vector<Node> exchanged = nodes_of(graph.program(0), NodeKind::COLLECTIVE);
  ASSERT_EQ(exchanged.size(), 4u);
  ASSERT_EQ(computed.size(), 5u);
  EXPECT_EQ(computed[0].duration_ps, 5'000'000u);
  EXPECT_EQ(computed[4].duration_ps, 1'500'000u);  // all parameters are divided
  EXPECT_EQ(exchanged[0].bytes, 2 * kActivationBytes / 4);  // gathered from shards
  EXPECT_EQ(exchanged[3].bytes, 2 * kActivationBytes);      // reduced, and no weight's gradient
  EXPECT_EQ(computed[1].after, std::vector<std::uint32_t>{exchanged[0].index});
}

TEST(Extrapolated, StagesAreCutWhereTheLongestIsShortest) {
  const model::StagePlan plan = plan_stages(chain_of({10, 20, 30, 40}), 2, 8);
  EXPECT_EQ(plan.stage_of, (std::vector<std::uint32_t>{0, 0, 0, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(plan.boundary_bytes, std::vector<std::uint64_t>{kActivationBytes});
  EXPECT_EQ(plan.parameter_share, (std::vector<double>{0.75, 0.25}));
}

TEST(Extrapolated, WhatLaterStagesReadGoesOverTheBoundary) {
  model::RecordedStep step = chain_of({10, 10, 10, 10});
  step.operators[3].inputs.push_back(step.operators[0].outputs[0]);  // a residual
  const model::StagePlan plan = plan_stages(step, 2, 8);
  EXPECT_EQ(plan.boundary_bytes, std::vector<std::uint64_t>{2 * kActivationBytes});
}

TEST(Extrapolated, EveryStageHasAnOperatorWhereOneTakesAllTheTime) {
  const model::StagePlan plan = plan_stages(chain_of({0, 0, 0, 100}), 3, 8);
  EXPECT_EQ(plan.boundary_bytes.size(), 2u);
  EXPECT_EQ(plan.stage_of[3], 2u);
}

// Phases of a stage's computations, F and B.
std::string order_of(const model::Program& program) {
  std::string out;
  for (std::uint32_t i = 0; i < program.stream_length(0); ++i) {
    const auto phase = program.node(program.node_at(0, i)).getPhase();
    if (phase == model::schema::Phase::FORWARD) out += 'F';
    if (phase == model::schema::Phase::BACKWARD) out += 'B';
  }
  return out;
}

TEST(Extrapolated, PipelinesHaveTheirSchedules) {
  Extrapolation to{.layout = ExtrapolatedLayout::pipeline,
                   .devices = 2,
                   .trace_batch = 8,
                   .batch = 8,
                   .micro_batch = 2};
  const model::WorkloadGraph alternating = graph_of(chain_of({10, 10}), to);
  EXPECT_EQ(order_of(alternating.program(0)), "FFBFBFBB");
  EXPECT_EQ(order_of(alternating.program(1)), "FBFBFBFB");
  to.order = model::MicroBatchOrder::all_forward_first;
  const model::WorkloadGraph forward_first = graph_of(chain_of({10, 10}), to);
  EXPECT_EQ(order_of(forward_first.program(0)), "FFFFBBBB");
  EXPECT_EQ(order_of(forward_first.program(1)), "FFFFBBBB");
  const std::vector<Node> sent = nodes_of(forward_first.program(0), NodeKind::SEND);
  ASSERT_EQ(sent.size(), 4u);
  EXPECT_EQ(sent[0].bytes, kActivationBytes / 4);
  EXPECT_EQ(nodes_of(forward_first.program(0), NodeKind::COMPUTE)[0].duration_ps, 2'500'000u);
}

TEST(Extrapolated, SaysWhyThereIsNoGraph) {
  const model::RecordedStep step = chain_of({10, 10});
  EXPECT_EQ(refusal_of(step, {.trace_batch = 9}),
            "no tensor has the 9 rows of the recorded batch; expected --trace-batch as it was "
            "recorded");
  EXPECT_EQ(refusal_of(step, {.layout = ExtrapolatedLayout::pipeline,
                              .devices = 3,
                              .trace_batch = 8,
                              .batch = 8,
                              .micro_batch = 2}),
            "3 stages are more than the 2 operators of the forward pass; expected fewer, or "
            "another --layout");
  EXPECT_EQ(refusal_of(step, {.layout = ExtrapolatedLayout::pipeline,
                              .trace_batch = 8,
                              .batch = 8,
                              .micro_batch = 3}),
            "a batch of 8 has no whole number of micro-batches of 3");
  model::RecordedStep bare = step;
  bare.operators.pop_back();
  EXPECT_EQ(refusal_of(bare, {.trace_batch = 8}),
            "has no parameters: no tensor is a weight or bias, or updated by the optimizer");
}

}  // namespace
}  // namespace exawarp::tests
