// Recommendation and convolutional networks against published sizes.
#include <gtest/gtest.h>

#include "model/generate/dlrm.h"
#include "model/generate/resnet.h"
#include "model/workload/validate.h"

namespace exawarp::tests {
namespace {

using namespace model;

std::size_t count(const WorkloadGraph& graph, const std::string& name) {
  std::size_t found = 0;
  for (std::uint32_t i = 0; i < graph.program(0).node_count(); ++i) {
    if (graph.node_name(graph.program(0).node(i)) == name) ++found;
  }
  return found;
}

schema::Node::Reader node(const WorkloadGraph& graph, const std::string& name) {
  const Program& program = graph.program(0);
  for (std::uint32_t i = 0; i < program.node_count(); ++i) {
    if (graph.node_name(program.node(i)) == name) return program.node(i);
  }
  ADD_FAILURE() << "no node " << name;
  return program.node(0);
}

// torchvision: 25,557,032 parameters, of which the classifier's bias of 1,000 is left out here, and
// 4.09 G multiply-adds a picture of 224 x 224.
TEST(Resnet, FiftyLayersHaveThePublishedParametersAndProducts) {
  ResnetSpec spec;
  spec.global_batch = 1;
  const WorkloadGraph graph = generate_resnet(spec);
  EXPECT_EQ(count(graph, "conv") + count(graph, "classify"), 50u + 4);  // and 4 shortcuts
  EXPECT_EQ(graph.program(0).parameter_count(), 25'557'032u - 1'000);
  double forward = 0;
  for (std::uint32_t i = 0; i < graph.program(0).node_count(); ++i) {
    const auto n = graph.program(0).node(i);
    const std::string name = graph.node_name(n);
    if (name == "conv" || name == "classify") forward += static_cast<double>(n.getFlops());
  }
  EXPECT_NEAR(forward / 2, 4.09e9, 0.01e9);
}

TEST(Resnet, GradientsGoInBucketsBesideBackward) {
  ResnetSpec spec;
  spec.devices = 8;
  spec.global_batch = 64;
  const WorkloadGraph graph = generate_resnet(spec);
  EXPECT_EQ(count(graph, "gradient.all_reduce"), 4u);  // 102 MB in buckets of 26.2 MB
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < graph.program(0).node_count(); ++i) {
    const auto n = graph.program(0).node(i);
    if (graph.node_name(n) == "gradient.all_reduce") bytes += n.getCommBytes();
  }
  EXPECT_EQ(bytes, 4 * graph.program(0).parameter_count());
}

TEST(Resnet, RefusesWhatIsNotPossible) {
  ResnetSpec spec;
  spec.global_batch = 3;
  spec.devices = 2;
  EXPECT_THROW(check(spec), SpecProblem);
  spec.global_batch = 4;
  spec.image = 225;
  EXPECT_THROW(check(spec), SpecProblem);
}

DlrmSpec tiny_dlrm() {
  DlrmSpec spec;
  spec.devices = 4;
  spec.global_batch = 32;
  spec.table_rows = {1000, 500, 250};
  spec.table_lookups = {1, 4, 3};
  spec.vector_width = 16;
  spec.bottom_mlp = {32, 16};
  spec.top_mlp = {64, 1};
  return spec;
}

TEST(Dlrm, VectorsTravelToTheirSamplesAndBack) {
  const WorkloadGraph graph = generate_dlrm(tiny_dlrm());
  EXPECT_EQ(count(graph, "vectors.all_to_all"), 2u);
  // 8 samples a device: indices of 8 lookups, 3 vectors of 16 in fp32.
  EXPECT_EQ(node(graph, "indices.all_to_all").getCommBytes(), 8u * 8 * 8);
  EXPECT_EQ(node(graph, "vectors.all_to_all").getCommBytes(), 4u * 8 * 3 * 16);
  EXPECT_EQ(node(graph, "lookup").getBytesRead(), 4u * 8 * 8 * 16);
  EXPECT_EQ(node(graph, "interaction").getFlops(), 2u * 8 * 4 * 4 * 16);
  EXPECT_EQ(node(graph, "top").getFlops(), 2u * 8 * (16 + 6) * 64);
}

TEST(Dlrm, TablesAreSharedOutAndDenseParametersAreCopied) {
  const WorkloadGraph graph = generate_dlrm(tiny_dlrm());
  const std::uint64_t dense = 13 * 32 + 32 * 16 + 22 * 64 + 64;
  EXPECT_EQ(graph.program(0).parameter_count(), dense + 1750 * 16 / 4);
  EXPECT_EQ(node(graph, "gradient.all_reduce").getCommBytes(), 4 * dense);
  EXPECT_EQ(graph.program(0).memory()->optimizer, 8 * dense);
}

TEST(Dlrm, CrossLayersAreTwoProductsEach) {
  DlrmSpec spec = tiny_dlrm();
  spec.interaction = Interaction::kCross;
  spec.cross_layers = 3;
  spec.cross_rank = 8;
  const WorkloadGraph graph = generate_dlrm(spec);
  EXPECT_EQ(count(graph, "cross"), 6u);
  EXPECT_EQ(node(graph, "cross").getFlops(), 2u * 8 * 64 * 8);
  EXPECT_EQ(count(graph, "interaction"), 0u);
}

TEST(Dlrm, RefusesABottomThatIsNoVector) {
  DlrmSpec spec = tiny_dlrm();
  spec.bottom_mlp = {32, 8};
  EXPECT_THROW(check(spec), SpecProblem);
}

}  // namespace
}  // namespace exawarp::tests
