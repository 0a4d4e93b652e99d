// The host of a device, which launches what the device does.
#include <gtest/gtest.h>

#include <set>

#include "model/workload/validate.h"
#include "tests/unit/model/generate/split_transformer.h"

namespace exawarp::tests {
namespace {

using namespace model;

constexpr std::uint64_t kEachPs = 300'000;

TransformerSpec launched(const ParallelSpec& parallel = {}) {
  TransformerSpec spec = split(parallel);
  spec.kernels = {};
  spec.host.launch = {kEachPs};
  return spec;
}

bool is_host(const Program& program, std::uint32_t node) {
  return program.stream(program.node(node).getStream()).getKind() == schema::StreamKind::HOST;
}

std::set<std::uint32_t> dependencies_of(const Program& program, std::uint32_t node) {
  std::set<std::uint32_t> all;
  const auto reader = program.node(node);
  for (std::uint32_t i = 0; i < reader.getDependencyCount(); ++i) {
    all.insert(program.dependency(reader, i));
  }
  return all;
}

// Of one name, the first.
std::uint32_t node_named(const WorkloadGraph& graph, const std::string& name) {
  const Program& program = graph.program(0);
  for (std::uint32_t i = 0; i < program.node_count(); ++i) {
    if (graph.node_name(program.node(i)) == name) return i;
  }
  ADD_FAILURE() << "no node is called " << name;
  return 0;
}

// The launch that `node` waits for.
std::uint32_t launch_of(const Program& program, std::uint32_t node) {
  for (const std::uint32_t on : dependencies_of(program, node)) {
    if (is_host(program, on)) return on;
  }
  ADD_FAILURE() << "node " << node << " is not launched";
  return 0;
}

TEST(Host, LaunchesEachKernelCollectiveAndMessageJustBeforeIt) {
  WorkloadGraph graph = generate_transformer(launched({.tensor = 2, .pipeline = 2, .data = 2}));
  validate(graph);
  for (std::uint32_t p = 0; p < graph.program_count(); ++p) {
    const Program& program = graph.program(p);
    for (std::uint32_t i = 0; i < program.node_count(); ++i) {
      if (is_host(program, i)) continue;
      const schema::Node::Reader node = program.node(i);
      const bool is_launched = node.getKind() != schema::NodeKind::MARKER;
      EXPECT_EQ(i > 0 && is_host(program, i - 1), is_launched) << graph.node_name(node);
      if (!is_launched) continue;
      EXPECT_EQ(launch_of(program, i), i - 1) << graph.node_name(node);
    }
  }
}

TEST(Host, ChangesNothingElseOfAProgram) {
  TransformerSpec spec = launched({.tensor = 2, .pipeline = 2, .data = 2});
  const WorkloadGraph with = generate_transformer(spec);
  spec.host.launch = {};
  const WorkloadGraph without = generate_transformer(spec);
  const Program& one = with.program(0);
  std::vector<std::string> names, expected;
  for (std::uint32_t i = 0; i < one.node_count(); ++i) {
    if (!is_host(one, i)) names.push_back(with.node_name(one.node(i)));
  }
  const Program& other = without.program(0);
  for (std::uint32_t i = 0; i < other.node_count(); ++i) {
    expected.push_back(without.node_name(other.node(i)));
  }
  EXPECT_EQ(names, expected);
}

TEST(Host, WaitsWhereTooManyLaunchesArePending) {
  TransformerSpec spec = launched();
  spec.host.pending = 3;
  const WorkloadGraph graph = generate_transformer(spec);
  const Program& program = graph.program(0);
  std::vector<std::uint32_t> computations;
  for (std::uint32_t i = 0; i < program.node_count(); ++i) {
    if (program.node(i).getKind() != schema::NodeKind::COMPUTE || is_host(program, i)) continue;
    if (computations.size() >= 3) {
      const std::uint32_t over = computations[computations.size() - 3];
      EXPECT_EQ(dependencies_of(program, launch_of(program, i)), std::set<std::uint32_t>{over});
    }
    computations.push_back(i);
  }
  EXPECT_GT(computations.size(), 50u);
}

TEST(Host, BeginsTheNextStepWhenTheOneBeforeIsOver) {
  TransformerSpec spec = launched();
  spec.steps = 2;
  const WorkloadGraph graph = generate_transformer(spec);
  const Program& program = graph.program(0);
  const std::uint32_t end = node_named(graph, "step.end");
  std::uint32_t next = end + 1;
  while (!is_host(program, next)) ++next;
  EXPECT_EQ(dependencies_of(program, next), std::set<std::uint32_t>{end});
}

// 8 experts on two devices: products of a layer are 4 launches each.
TEST(Host, LaunchesAProductForEachExpertAndWaitsForTheirCounts) {
  TransformerSpec spec = launched({.data = 2, .expert = 2});
  spec.model.moe = {.experts = 8, .top_k = 2, .ffn = 96};
  spec.kernels.separate_experts = true;
  const WorkloadGraph graph = generate_transformer(spec);
  const Program& program = graph.program(0);
  const auto takes = [&](const char* name) {
    return program.node(launch_of(program, node_named(graph, name))).getDurationPs();
  };
  for (const char* each : {"expert_in", "expert_out.dx", "expert_in.dw"}) {
    EXPECT_EQ(takes(each), 4 * kEachPs) << each;
  }
  for (const char* one : {"router", "permute", "expert.activation", "expert.dispatch"}) {
    EXPECT_EQ(takes(one), kEachPs) << one;
  }
  const auto waits_for = [](const WorkloadGraph& of, const char* name) {
    return dependencies_of(of.program(0), launch_of(of.program(0), node_named(of, name)));
  };
  EXPECT_EQ(waits_for(graph, "expert.dispatch"),
            std::set<std::uint32_t>{node_named(graph, "router.top_k")});
  spec.host.counts = false;
  EXPECT_EQ(waits_for(generate_transformer(spec), "expert.dispatch"), std::set<std::uint32_t>{});
  spec.host.counts = true;
  spec.kernels.separate_experts = false;
  EXPECT_EQ(waits_for(generate_transformer(spec), "expert.dispatch"), std::set<std::uint32_t>{});
}

}  // namespace
}  // namespace exawarp::tests
