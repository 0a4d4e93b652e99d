// Which communicators are alike is found without looking at all of them, and says the same as
// looking.
#include "model/device/group_network.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "model/workload/validate.h"
#include "tests/support/cluster_fixture.h"
#include "tests/support/draws.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::DeviceId;

WorkloadGraph built(const WorkloadBuilder& builder) {
  WorkloadGraph graph = builder.build();
  validate(graph);
  return graph;
}

// Three axes, of which groups 0 to 6 are made: each alone, two of them, all.
WorkloadGraph mesh(const std::array<std::uint32_t, 3>& sizes) {
  WorkloadBuilder workload("mesh");
  std::vector<std::uint8_t> axes;
  for (const std::uint32_t size : sizes) {
    axes.push_back(workload.add_axis("axis " + std::to_string(axes.size()), size));
  }
  for (unsigned members = 1; members < 8; ++members) {
    std::vector<std::uint8_t> of;
    for (unsigned a = 0; a < 3; ++a) {
      if ((members >> a & 1u) != 0) of.push_back(axes[a]);
    }
    workload.add_group("group " + std::to_string(members), of);
  }
  workload.add_program("nothing").add_stream("compute", schema::StreamKind::COMPUTE);
  workload.bind_range(0, {.axis = axes[0], .first = 0, .count = sizes[0]});
  return built(workload);
}

void expect_members_by_position(const WorkloadGraph& graph, const Among& among, DeviceId rank) {
  const std::vector<DeviceId> all = among.members(graph, rank);
  ASSERT_EQ(all.size(), among.membership(graph, rank).size);
  for (std::uint32_t p = 0; p < all.size(); ++p) {
    EXPECT_EQ(all[p], among.member(graph, rank, p)) << "position " << p << " of " << rank.value;
  }
}

void expect_classes_as_looked_at(const Among& among, const PlacedJob& job,
                                 const Network& network) {
  const GroupFamily family = group_family(among, job, network);
  for (std::uint32_t r = 0; r < job.graph->device_count(); ++r) {
    expect_members_by_position(*job.graph, among, {r});
    const Membership in = among.membership(*job.graph, {r});
    if (in.size < 2 || in.position != 0) continue;
    const GroupNetwork group(network, among.members(*job.graph, {r}), false);
    const GroupNetwork& as = family.networks.at(family.classes.class_of({r}));
    EXPECT_EQ(as.fingerprint(), group.fingerprint()) << "of rank " << r;
    EXPECT_EQ(as.members(), group.members());
    EXPECT_EQ(as.uniform(), group.uniform());
    EXPECT_EQ(as.span(), group.span());
  }
}

// Random meshes on fat trees whose nodes, leaves and pods need not divide what axes stride over.
TEST(GroupFamily, ClassesAreThoseOfTheGroupsThemselves) {
  Draws draws(7, 0);
  const auto one_of = [&](const std::vector<std::uint32_t>& values) {
    return values[draws.below(static_cast<std::uint32_t>(values.size()))];
  };
  for (int i = 0; i < 60; ++i) {
    const std::array<std::uint32_t, 3> sizes{one_of({1, 2, 3, 4, 6, 8}), one_of({2, 3, 4, 5, 8}),
                                             one_of({1, 2, 4, 7})};
    const WorkloadGraph graph = mesh(sizes);
    Fabric fabric = round_fabric();
    ClosSpec& tree = tree_of(fabric);
    tree.devices_per_leaf = one_of({4, 8, 12, 16});
    tree.groups_per_pod = one_of({1, 2, 3});
    const Network network(fabric, graph.device_count());
    const PlacedJob job{.name = "job", .graph = &graph, .start = {}, .ranks = nullptr};
    SCOPED_TRACE("mesh " + std::to_string(sizes[0]) + " x " + std::to_string(sizes[1]) + " x " +
                 std::to_string(sizes[2]) + ", " + std::to_string(tree.devices_per_leaf) +
                 " a leaf, " + std::to_string(tree.groups_per_pod) + " leaves a pod");
    for (std::uint32_t group = 0; group < graph.group_count(); ++group) {
      expect_classes_as_looked_at({.group = group}, job, network);
    }
    for (std::uint32_t axis = 0; axis < 3; ++axis) {
      expect_classes_as_looked_at({.group = 6, .axis = axis}, job, network);
    }
  }
}

TEST(GroupFamily, TakesMembersOfListsInTheirOrder) {
  WorkloadBuilder workload("lists");
  const std::uint8_t axis = workload.add_axis("device", 8);
  workload.add_group_lists("odd and even", {{7, 1, 5, 3}, {0, 4, 2}});
  workload.add_program("nothing").add_stream("compute", schema::StreamKind::COMPUTE);
  workload.bind_range(0, {.axis = axis, .first = 0, .count = 8});
  const WorkloadGraph graph = built(workload);
  for (std::uint32_t r = 0; r < 8; ++r) expect_members_by_position(graph, {.group = 0}, {r});
  for (std::uint32_t r = 0; r < 7; r += 2) {  // in runs of two; rank 6 is in no list
    if (r != 6) expect_members_by_position(graph, {.group = 0, .width = 1, .across = true}, {r});
  }
}

}  // namespace
}  // namespace exawarp::tests
