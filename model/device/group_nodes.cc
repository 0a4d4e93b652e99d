#include "model/device/group_nodes.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

namespace exawarp::model {
namespace {

std::span<const std::uint32_t> list_of(const GroupTable& table, std::size_t list) {
  return std::span(table.members)
      .subspan(table.list_first[list], table.list_first[list + 1] - table.list_first[list]);
}

std::size_t lists_of(const GroupTable& table) {
  return table.list_first.empty() ? 0 : table.list_first.size() - 1;
}

// The longest share that all of the lists' stretches within one node are multiples of.
std::uint32_t listed_in_node(const GroupTable& table, std::uint32_t ranks_in_node) {
  std::size_t common = 0;
  for (std::size_t l = 0; l < lists_of(table); ++l) {
    const std::span members = list_of(table, l);
    for (auto at = members.begin(); at != members.end();) {
      const std::uint32_t node = *at / ranks_in_node;
      const auto end =
          std::find_if(at, members.end(), [&](auto m) { return m / ranks_in_node != node; });
      common = std::gcd(common, static_cast<std::size_t>(end - at));
      at = end;
    }
  }
  return static_cast<std::uint32_t>(std::max<std::size_t>(1, common));
}

// Of `size` ranks that are `stride` apart.
std::uint32_t share_of_node(std::uint32_t ranks_in_node, std::uint32_t stride,
                            std::uint32_t size) {
  return ranks_in_node % stride == 0 ? std::gcd(ranks_in_node / stride, size) : 1;
}

std::uint32_t along_axes_in_node(const PlacedJob& job, const std::vector<std::uint8_t>& axes) {
  std::uint32_t members = 1;
  for (const std::uint8_t axis : axes) {
    const std::uint32_t stride = job.graph->axis_stride(axis), size = job.graph->axis_size(axis);
    if (size == 1) continue;
    members *= share_of_node(job.ranks_in_node, stride, size);
    if (job.ranks_in_node % (stride * size) != 0) break;  // the next axis is in other nodes
  }
  return members;
}

}  // namespace

std::uint32_t members_in_node(std::uint32_t ranks_in_node, std::uint32_t stride,
                              std::uint32_t size) {
  const bool is_part = ranks_in_node > stride * size && ranks_in_node % (stride * size) == 0;
  return is_part ? 1 : share_of_node(ranks_in_node, stride, size);
}

std::uint32_t members_in_node(const PlacedJob& job, const GroupTable& table) {
  const std::uint32_t members = table.by_lists ? listed_in_node(table, job.ranks_in_node)
                                               : along_axes_in_node(job, table.axes);
  return reaches_beyond_node(job, table) || members == job.ranks_in_node ? members : 1;
}

bool reaches_beyond_node(const PlacedJob& job, const GroupTable& table) {
  const std::uint32_t in_node = job.ranks_in_node;
  if (table.by_lists) {
    for (std::size_t l = 0; l < lists_of(table); ++l) {
      const std::span members = list_of(table, l);
      const auto elsewhere = [&](auto m) { return m / in_node != members[0] / in_node; };
      if (std::ranges::any_of(members, elsewhere)) return true;
    }
    return false;
  }
  const WorkloadGraph& graph = *job.graph;
  if (graph.device_count() <= in_node) return false;
  return std::ranges::any_of(table.axes, [&](std::uint8_t axis) {
    const std::uint32_t size = graph.axis_size(axis);
    return size > 1 && in_node % (graph.axis_stride(axis) * size) != 0;
  });
}

}  // namespace exawarp::model
