// Nodes that say the same share what was found out about the first of them, and others do not.
#include "model/device/program_table.h"

#include <gtest/gtest.h>

#include <numeric>
#include <utility>
#include <vector>

#include "model/compute/compute_models.h"
#include "model/device/device_model.h"
#include "model/energy/power.h"
#include "model/workload/validate.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using namespace model;
using schema::CollectiveType;
using schema::DataType;
using schema::NodeKind;
using schema::Operation;
using schema::Phase;

// Four devices that run `nodes` on two streams: what computes, and collectives.
WorkloadGraph running(const std::vector<NodeFields>& nodes) {
  WorkloadBuilder workload("nodes");
  const std::uint8_t axis = workload.add_axis("device", 4);
  workload.add_group("all", {axis});
  ProgramBuilder& program = workload.add_program("program");
  const std::uint8_t compute = program.add_stream("compute", schema::StreamKind::COMPUTE);
  const std::uint8_t network = program.add_stream("network", schema::StreamKind::COMMUNICATION);
  for (NodeFields node : nodes) {
    node.stream = node.kind == NodeKind::COLLECTIVE ? network : compute;
    program.add_node(node);
  }
  workload.bind_range(0, {.axis = axis, .first = 0, .count = 4});
  WorkloadGraph graph = workload.build();
  validate(graph);
  return graph;
}

// Each of them differs from the first in one field.
std::vector<NodeFields> kernels() {
  const NodeFields base{.operation = Operation::ELEMENTWISE,
                        .data_type = DataType::BF16,
                        .flops = 1'000,
                        .bytes_read = 4'000'000,
                        .bytes_written = 2'000'000};
  std::vector<NodeFields> nodes(10, base);
  nodes[1].operation = Operation::GEMM;
  nodes[2].data_type = DataType::FP32;
  nodes[3].phase = Phase::BACKWARD;
  nodes[4].flops = 100'000'000'000;
  nodes[5].bytes_read = 8'000'000;
  nodes[6].bytes_written = 5'000'000;
  nodes[7].duration_ps = 123'456;
  nodes[8].kind = NodeKind::MEMORY;
  nodes[9] = nodes[8];
  nodes[9].place = schema::MemoryPlace::HOST;
  return nodes;
}

TEST(ProgramTable, EachKernelHasItsOwnTimeAndPower) {
  std::vector<NodeFields> nodes = kernels();
  nodes.insert(nodes.end(), nodes.begin(), nodes.end());
  const WorkloadGraph graph = running(nodes);
  const Accelerator accelerator = powered_accelerator();
  const Cluster cluster(graph, accelerator, round_fabric(), {});
  const ProgramTable& table = cluster.devices().programs.front();
  const ComputeModels models(accelerator, {});
  ASSERT_EQ(table.tasks.size(), nodes.size());
  ASSERT_EQ(table.above_idle_mw.size(), nodes.size());
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const ComputeOperation operation = operation_of(graph.program(0).node(i), {});
    const Priced priced = models.price(operation);
    EXPECT_EQ(table.tasks[i].wire[0], priced.duration) << "node " << i;
    const double watts = above_idle_w(accelerator, operation, priced, priced.duration);
    EXPECT_NEAR(table.above_idle_mw[i], watts * 1e3, 1) << "node " << i;
  }
}

TEST(ProgramTable, SumsUpWhatIsComputed) {
  const std::vector<NodeFields> nodes = kernels();
  const WorkloadGraph graph = running(nodes);
  const Cluster cluster(graph, round_accelerator(), round_fabric(), {});
  const ProgramTable& table = cluster.devices().programs.front();
  ASSERT_EQ(table.work.size(), 4u);  // the first's kind, a GEMM, another type, another phase
  const auto sum_of = [&](auto member) {
    return std::accumulate(table.work.begin(), table.work.end(), 0.0,
                           [&](double sum, const ComputeWork& work) {
                             return sum + static_cast<double>(work.*member);
                           });
  };
  double flops = 0, bytes = 0, ps = 0, uses = 0;
  for (std::uint32_t i = 0; i < 8; ++i) {  // the others move memory
    flops += static_cast<double>(nodes[i].flops);
    bytes += static_cast<double>(nodes[i].bytes_read + nodes[i].bytes_written);
    ps += static_cast<double>(table.tasks[i].wire[0].ps);
  }
  EXPECT_EQ(sum_of(&ComputeWork::nodes), 8);
  EXPECT_EQ(sum_of(&ComputeWork::flops), flops);
  EXPECT_EQ(sum_of(&ComputeWork::bytes), bytes);
  EXPECT_EQ(sum_of(&ComputeWork::ps), ps);
  for (const KernelUse& kernel : table.kernels) uses += static_cast<double>(kernel.uses);
  EXPECT_EQ(uses, 10);
}

TEST(ProgramTable, EqualCollectivesShareOneTask) {
  NodeFields base{.kind = NodeKind::COLLECTIVE,
                  .collective = CollectiveType::BROADCAST,
                  .group = 0,
                  .comm_bytes = 4'000};
  std::vector<NodeFields> nodes(4, base);
  nodes[1].comm_bytes = 8'000;
  nodes[2].root = 1;
  nodes[3].collective = CollectiveType::REDUCE;
  nodes.insert(nodes.end(), nodes.begin(), nodes.end());
  const WorkloadGraph graph = running(nodes);
  const Cluster cluster(graph, round_accelerator(), round_fabric(), {});
  const ProgramTable& table = cluster.devices().programs.front();
  ASSERT_EQ(table.tasks.size(), 8u);
  ASSERT_EQ(table.stepped.size(), 4u);
  for (std::uint32_t i = 0; i < 8; ++i) {
    const Task& task = table.tasks[i];
    EXPECT_EQ(task.node, i);
    EXPECT_EQ(task.tag, i % 4);
    const Collective& c = table.stepped[task.tag].collective;
    EXPECT_EQ(c.type, nodes[i].collective);
    EXPECT_EQ(c.bytes, static_cast<std::int64_t>(nodes[i].comm_bytes));
    EXPECT_EQ(c.root, nodes[i].root);
  }
  EXPECT_EQ(table.channels.front().sent.nodes, 8u);
}

}  // namespace
}  // namespace exawarp::tests
