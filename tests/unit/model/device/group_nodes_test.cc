// How groups lie in nodes, against looking at every member of every communicator.
#include "model/device/group_nodes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "core/random.h"
#include "model/workload/builder.h"
#include "model/workload/validate.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::DeviceId;

constexpr std::uint32_t kNodes[] = {1, 2, 3, 4, 6, 8, 12, 16};

WorkloadGraph built(WorkloadBuilder& workload, std::uint8_t axis, std::uint32_t size) {
  workload.add_program("nothing").add_stream("compute", schema::StreamKind::COMPUTE);
  workload.bind_range(0, {.axis = axis, .first = 0, .count = size});
  WorkloadGraph graph = workload.build();
  validate(graph);
  return graph;
}

PlacedJob in_nodes_of(const WorkloadGraph& graph, std::uint32_t ranks_in_node) {
  return {.name = "job", .graph = &graph, .start = {}, .ranks = nullptr,
          .ranks_in_node = ranks_in_node};
}

std::vector<std::vector<DeviceId>> communicators(const WorkloadGraph& graph, std::uint32_t group) {
  std::vector<std::vector<DeviceId>> all;
  for (std::uint32_t d = 0; d < graph.device_count(); ++d) {
    if (graph.membership(group, {d}).position == 0) all.push_back(graph.members(group, {d}));
  }
  return all;
}

bool beyond_a_node(const std::vector<DeviceId>& members, std::uint32_t ranks_in_node) {
  return std::ranges::any_of(members, [&](DeviceId m) {
    return m.value / ranks_in_node != members[0].value / ranks_in_node;
  });
}

// Whether every `share` positions, from a multiple of it on, are in one node.
bool shares_nodes(const std::vector<DeviceId>& members, std::uint32_t share,
                  std::uint32_t ranks_in_node) {
  if (members.size() % share != 0) return false;
  for (std::size_t p = 0; p < members.size(); ++p) {
    const std::size_t first = p - p % share;
    if (members[p].value / ranks_in_node != members[first].value / ranks_in_node) return false;
  }
  return true;
}

bool all_share(const std::vector<std::vector<DeviceId>>& all, std::uint32_t share,
               std::uint32_t ranks_in_node) {
  return std::ranges::all_of(
      all, [&](const auto& members) { return shares_nodes(members, share, ranks_in_node); });
}

bool some_beyond_a_node(const std::vector<std::vector<DeviceId>>& all,
                        std::uint32_t ranks_in_node) {
  return std::ranges::any_of(all, [&](const auto& m) { return beyond_a_node(m, ranks_in_node); });
}

std::uint32_t most_shared(const std::vector<std::vector<DeviceId>>& all,
                          std::uint32_t ranks_in_node) {
  std::uint32_t most = 1;
  if (!some_beyond_a_node(all, ranks_in_node) && all[0].size() != ranks_in_node) return most;
  for (std::uint32_t share = 2; share <= all[0].size(); ++share) {
    if (all_share(all, share, ranks_in_node)) most = share;
  }
  return most;
}

// Groups of each of the axes, of each two, and so on, their positions counted along the first axis
// first or along the last.
WorkloadGraph mesh_of(const std::vector<std::uint32_t>& sizes) {
  WorkloadBuilder workload("mesh");
  std::vector<std::uint8_t> axes;
  for (const std::uint32_t size : sizes) {
    axes.push_back(workload.add_axis("axis " + std::to_string(axes.size()), size));
  }
  for (unsigned members = 1; members < 1u << sizes.size(); ++members) {
    std::vector<std::uint8_t> of;
    for (unsigned a = 0; a < sizes.size(); ++a) {
      if ((members >> a & 1u) != 0) of.push_back(axes[a]);
    }
    const std::string name = "group " + std::to_string(members);
    workload.add_group(name, of);
    if (of.size() < 2) continue;
    std::ranges::reverse(of);
    workload.add_group(name + ", reversed", of);
  }
  return built(workload, axes[0], sizes[0]);
}

TEST(GroupNodes, OfAMeshAreAsItsCommunicatorsSay) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::vector<std::uint32_t> sizes;
    for (std::uint64_t a = 0; a < 3; ++a) {
      sizes.push_back(1 + static_cast<std::uint32_t>(core::random_bits(seed, a) % 6));
    }
    const WorkloadGraph mesh = mesh_of(sizes);
    for (std::uint32_t g = 0; g < mesh.group_count(); ++g) {
      const auto all = communicators(mesh, g);
      for (const std::uint32_t node : kNodes) {
        SCOPED_TRACE(testing::Message()
                     << sizes[0] << " x " << sizes[1] << " x " << sizes[2] << ", "
                     << mesh.group(g).name << ", " << node << " in a node");
        const PlacedJob job = in_nodes_of(mesh, node);
        const GroupTable& table = mesh.group(g);
        EXPECT_EQ(reaches_beyond_node(job, table), some_beyond_a_node(all, node));
        EXPECT_TRUE(all_share(all, members_in_node(job, table), node))
            << members_in_node(job, table);
      }
    }
  }
}

// As jobs are laid out: a tensor-parallel axis beside others, all of them powers of two.
TEST(GroupNodes, OfPowersOfTwoAreAsManyAsThereAre) {
  for (const std::uint32_t tensor : {1u, 2u, 4u}) {
    const WorkloadGraph mesh = mesh_of({tensor, 4, 8});
    for (std::uint32_t g = 0; g < mesh.group_count(); ++g) {
      const auto all = communicators(mesh, g);
      for (const std::uint32_t node : {2u, 4u, 8u, 16u}) {
        const PlacedJob job = in_nodes_of(mesh, node);
        EXPECT_EQ(members_in_node(job, mesh.group(g)), most_shared(all, node))
            << mesh.group(g).name << ", " << node << " in a node, tensor " << tensor;
      }
    }
  }
}

// Lists of one size, of ranks some of which have changed places.
TEST(GroupNodes, OfListsAreAsManyAsThereAre) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::uint64_t draw = 0;
    const auto below = [&](std::uint64_t n) { return core::random_bits(seed, draw++) % n; };
    WorkloadBuilder workload("lists");
    const auto axis = workload.add_axis("devices", 24);
    const auto size = static_cast<std::uint32_t>(2 * (1 + below(3)));
    const auto swapped = static_cast<std::uint32_t>(below(4));  // how far; 0: in order
    std::vector<std::uint32_t> order(24);
    std::iota(order.begin(), order.end(), 0u);
    for (std::uint32_t i = 0; i + swapped < 24; i += 1 + swapped) {
      std::swap(order[i], order[i + swapped]);
    }
    std::vector<std::vector<std::uint32_t>> lists;
    for (auto at = order.begin(); at != order.end(); at += size) lists.emplace_back(at, at + size);
    const auto group = workload.add_group_lists("group", lists);
    const WorkloadGraph graph = built(workload, axis, 24);
    const auto all = communicators(graph, group);
    for (const std::uint32_t node : kNodes) {
      const PlacedJob job = in_nodes_of(graph, node);
      EXPECT_EQ(members_in_node(job, graph.group(group)), most_shared(all, node))
          << "seed " << seed << ", " << node << " in a node";
      EXPECT_EQ(reaches_beyond_node(job, graph.group(group)), some_beyond_a_node(all, node))
          << "seed " << seed << ", " << node << " in a node";
    }
  }
}

}  // namespace
}  // namespace exawarp::tests
