// Looks at each group once (axes, size, how many consecutive members share a node); a node of the
// workload is then matched against the rules and split along the group's dimensions.
#include "model/device/collective_stages.h"

#include <algorithm>

#include "model/collective/ring.h"
#include "model/device/group_nodes.h"

namespace exawarp::model {
namespace {

using core::DeviceId;
using schema::CollectiveType;

std::uint32_t largest_size(const GroupTable& table) {
  std::uint32_t most = table.by_lists ? 1 : table.size;
  for (std::size_t l = 0; l + 1 < table.list_first.size(); ++l) {
    most = std::max(most, table.list_first[l + 1] - table.list_first[l]);
  }
  return most;
}

// The common size of a family's communicators, or nothing where they differ.
std::optional<std::uint32_t> uniform_size(const WorkloadGraph& graph, const GroupTable& table) {
  if (!table.by_lists) return table.size;
  // A device in no list is a group of one.
  if (table.list_first.size() < 2 || table.members.size() < graph.device_count()) {
    return std::nullopt;
  }
  const std::uint32_t size = table.list_first[1] - table.list_first[0];
  for (std::size_t l = 1; l + 1 < table.list_first.size(); ++l) {
    if (table.list_first[l + 1] - table.list_first[l] != size) return std::nullopt;
  }
  return size;
}

std::int64_t share_of(std::int64_t bytes, std::uint32_t members) {
  return (bytes + members - 1) / members;
}

}  // namespace

Membership Among::membership(const WorkloadGraph& graph, DeviceId device) const {
  if (axis != kWholeGroup) return {graph.axis_size(axis), graph.coordinate(device, axis)};
  const Membership all = graph.membership(group, device);
  if (width == 0) return all;
  return across ? Membership{all.size / width, all.position / width}
                : Membership{width, all.position % width};
}

DeviceId Among::member(const WorkloadGraph& graph, DeviceId device,
                       std::uint32_t position) const {
  if (axis != kWholeGroup) {
    // Modulo 2^32, as ids are.
    const std::uint32_t steps = position - graph.coordinate(device, axis);
    return {device.value + steps * graph.axis_stride(axis)};
  }
  if (width == 0) return graph.member(group, device, position);
  const std::uint32_t here = graph.membership(group, device).position;
  return graph.member(group, device,
                      across ? here % width + position * width : here - here % width + position);
}

std::vector<DeviceId> Among::members(const WorkloadGraph& graph, DeviceId device) const {
  if (axis == kWholeGroup && width == 0) return graph.members(group, device);
  const Membership in = membership(graph, device);
  std::vector<DeviceId> all;
  all.reserve(in.size);
  for (std::uint32_t p = 0; p < in.size; ++p) all.push_back(member(graph, device, p));
  return all;
}

CollectiveStages::CollectiveStages(const PlacedJob& job, const Network& network,
                                   const CollectiveRules& rules)
    : graph_(*job.graph), network_(network), rules_(rules), ranks_in_node_(job.ranks_in_node) {
  const WorkloadGraph& graph = graph_;
  for (std::uint32_t g = 0; g < graph.group_count(); ++g) {
    const GroupTable& table = graph.group(g);
    Group& group = groups_.emplace_back();
    group.size = uniform_size(graph, table);
    group.most = largest_size(table);
    group.in_node = members_in_node(job, table);
    group.across_nodes = reaches_beyond_node(job, table);
    for (const std::uint8_t axis : table.axes) {
      if (graph.axis_size(axis) > 1) group.axes.push_back(axis);
    }
  }
}

std::vector<CollectiveStage> CollectiveStages::of(const schema::Node::Reader& node) const {
  std::vector<CollectiveStage> stages = unsettled(node);
  for (CollectiveStage& stage : stages) {
    if (stage.choice.channels != kChannelsOfGroup) continue;
    stage.choice.channels = group_channels(
        stage.choice.algorithm,
        {.type = stage.type, .bytes = stage.bytes, .members = stage.members_max},
        stage.node_members);
  }
  return stages;
}

// Channels may still be the group's.
std::vector<CollectiveStage> CollectiveStages::unsettled(const schema::Node::Reader& node) const {
  const Group& group = groups_[node.getGroup()];
  CollectiveStage whole{.among = {.group = node.getGroup()},
                        .type = node.getCollective(),
                        .bytes = static_cast<std::int64_t>(node.getCommBytes()),
                        .members = group.size,
                        .members_max = group.most,
                        .node_members = group.in_node,
                        .choice = default_choice(node.getCollective())};
  const auto by_rule = choose(rules_, {.type = whole.type, .bytes = whole.bytes,
                                       .members = group.most, .by_sizes = node.getSizes() != 0,
                                       .across_nodes = group.across_nodes});
  if (!by_rule) return axis_by_axis_or_whole(whole);
  whole.choice = *by_rule;
  return whole.choice.hierarchical ? by_dimension(whole) : std::vector{whole};
}

std::uint32_t CollectiveStages::in_node_along(std::uint32_t axis) const {
  return members_in_node(ranks_in_node_, graph_.axis_stride(axis), graph_.axis_size(axis));
}

std::vector<CollectiveStage> CollectiveStages::axis_by_axis_or_whole(
    const CollectiveStage& whole) const {
  std::vector<CollectiveStage> stages;
  std::vector<std::uint32_t> sizes;
  for (const std::uint32_t axis : groups_[whole.among.group].axes) {
    sizes.push_back(graph_.axis_size(axis));
    stages.push_back(whole);
    stages.back().among.axis = axis;
    stages.back().members = stages.back().members_max = sizes.back();
    stages.back().node_members = in_node_along(axis);
  }
  if (axis_by_axis(whole.type, whole.bytes, sizes, network_.step_cost())) return stages;
  return {whole};
}

// The group's dimensions, innermost first, each as a stage without type and bytes of its own.
std::vector<CollectiveStage> CollectiveStages::dimensions(const CollectiveStage& whole) const {
  const Group& group = groups_[whole.among.group];
  std::vector<CollectiveStage> stages;
  if (group.axes.size() > 1) {
    for (const std::uint32_t axis : group.axes) {
      stages.push_back(whole);
      stages.back().among.axis = axis;
      stages.back().members = graph_.axis_size(axis);
      stages.back().node_members = in_node_along(axis);
    }
  } else if (group.size && group.in_node > 1 && group.in_node < *group.size) {
    for (const bool across : {false, true}) {
      stages.push_back(whole);
      stages.back().among.width = group.in_node;
      stages.back().among.across = across;
      stages.back().node_members = 1;
      stages.back().members = across ? *group.size / group.in_node : group.in_node;
    }
  }
  for (CollectiveStage& stage : stages) {
    stage.members_max = *stage.members;
  }
  return stages;
}

std::vector<CollectiveStage> CollectiveStages::by_dimension(const CollectiveStage& whole) const {
  const std::vector<CollectiveStage> all = dimensions(whole);
  if (all.empty()) return {whole};
  std::vector<CollectiveStage> stages;
  const auto add = [&](std::size_t dimension, CollectiveType type, std::int64_t bytes) {
    CollectiveStage stage = all[dimension];
    stage.type = type;
    stage.bytes = bytes;
    if (dimension + 1 == all.size()) stage.choice.algorithm = whole.choice.across;
    if (!stages.empty()) stage.choice.start = {};
    stages.push_back(stage);
  };
  const std::size_t last = all.size() - 1;
  std::vector<std::int64_t> inputs{whole.bytes};  // of the way up, by dimension
  for (const CollectiveStage& d : all) {
    inputs.push_back(share_of(inputs.back(), *d.members));
  }
  switch (whole.type) {
    case CollectiveType::ALL_GATHER: {
      std::int64_t part = whole.bytes;
      for (std::size_t d = all.size(); d-- > 0; part *= *all[d].members) add(d, whole.type, part);
      break;
    }
    case CollectiveType::ALL_REDUCE:
      for (std::size_t d = 0; d < last; ++d) add(d, CollectiveType::REDUCE_SCATTER, inputs[d]);
      add(last, CollectiveType::ALL_REDUCE, inputs[last]);
      for (std::size_t d = last; d-- > 0;) add(d, CollectiveType::ALL_GATHER, inputs[d + 1]);
      break;
    default:  // reduce-scatter, barrier
      for (std::size_t d = 0; d <= last; ++d) add(d, whole.type, inputs[d]);
  }
  return stages;
}

}  // namespace exawarp::model
