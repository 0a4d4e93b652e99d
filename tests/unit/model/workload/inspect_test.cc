// The facts that `workload inspect` prints.
#include "model/workload/inspect.h"

#include <gtest/gtest.h>

#include "model/generate/microbenchmark.h"
#include "model/generate/transformer.h"
#include "tests/support/workload_builders.h"

namespace exawarp::tests {
namespace {

using namespace model;

TEST(Inspect, CountsOverAllDevices) {
  const WorkloadGraph graph =
      generate_microbenchmark({.name = "ring", .devices = 16, .bytes = 1000, .repeats = 3});
  const WorkloadFacts facts = inspect(graph);
  EXPECT_EQ(facts.name, "ring");
  EXPECT_EQ(facts.devices, 16u);
  ASSERT_EQ(facts.communication.size(), 1u);
  EXPECT_EQ(facts.communication[0].over, "all");
  EXPECT_EQ(facts.communication[0].type, "all_reduce");
  EXPECT_EQ(facts.communication[0].members_max, 16u);
  EXPECT_EQ(facts.communication[0].operations, 48);
  EXPECT_EQ(facts.communication[0].bytes, 48000);
  EXPECT_EQ(facts.total.comm_bytes, 48000);
  EXPECT_EQ(facts.total.nodes[static_cast<std::size_t>(schema::NodeKind::COLLECTIVE)], 48);
}

TEST(Inspect, TellsATrainingStepByProgramAndByCommunication) {
  TransformerSpec spec = tests::tiny_llama();
  spec.parallel = {.tensor = 2, .pipeline = 2, .data = 2};
  const WorkloadFacts facts = inspect(generate_transformer(spec));
  ASSERT_EQ(facts.programs.size(), 2u);
  EXPECT_EQ(facts.programs[1].name, "stage 1");
  EXPECT_EQ(facts.programs[1].devices, 4u);
  EXPECT_EQ(facts.programs[0].streams.front(), "compute");
  EXPECT_EQ(facts.micro_batches, 2u);
  EXPECT_EQ(facts.tokens_per_step, 8u * 32);
  std::string kinds;
  for (const CommunicationFacts& entry : facts.communication) {
    kinds += entry.over + " " + entry.type + "; ";
  }
  EXPECT_EQ(kinds,
            "tensor all_reduce; tensor reduce_scatter; tensor all_gather; data all_reduce; "
            "data reduce_scatter; "
            "data all_gather; pipeline all_reduce; pipeline send; ");
  const CommunicationFacts& sends = facts.communication.back();
  EXPECT_EQ(sends.operations, 2 * 4 * 2);  // each way, 4 devices a stage, 2 micro-batches
  EXPECT_EQ(sends.bytes, 16 * 4096);
}

}  // namespace
}  // namespace exawarp::tests
