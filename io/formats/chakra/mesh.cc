// Axes and communicators travel as one attribute of text in the traces' metadata. An import that
// finds it rebuilds the groups by rule; without it they would be lists.
#include "io/formats/chakra/mesh.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "io/formats/chakra/attributes.h"
#include "io/formats/chakra/utf8.h"

namespace exawarp::io {
namespace {

namespace schema = model::schema;

constexpr std::string_view kLists = "lists";

// Takes a number from the front of `text`.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

bool has_mesh(const model::WorkloadGraph& graph) {
  for (std::uint32_t g = 0; g < graph.group_count(); ++g) {
    if (!graph.group(g).communicators.empty()) return false;
  }
  for (std::uint32_t p = 0; p < graph.program_count(); ++p) {
    const model::Program& program = graph.program(p);
    for (std::uint32_t i = 0; i < program.node_count(); ++i) {
      const schema::Node::Reader node = program.node(i);
      if (is_message(node.getKind()) && node.getPeerAxis() == schema::NO_AXIS) return false;
    }
  }
  return true;
}

void add_mesh(const model::WorkloadGraph& graph, chakra::GlobalMetadata& metadata) {
  chakra::Attribute& axes = *metadata.add_attr();
  axes.set_name(kAxesAttribute);
  for (std::uint32_t a = 0; a < graph.axis_count(); ++a) {
    axes.mutable_string_list()->add_values(
        fmt::format("{}:{}", graph.axis_size(a), as_utf8(graph.axis_name(a))));
  }
  chakra::Attribute& groups = *metadata.add_attr();
  groups.set_name(kGroupsAttribute);
  for (std::uint32_t g = 0; g < graph.group_count(); ++g) {
    const model::GroupTable& group = graph.group(g);
    const std::string along =
        group.by_lists ? std::string(kLists) : fmt::format("{}", fmt::join(group.axes, ","));
    groups.mutable_string_list()->add_values(fmt::format("{}:{}", along, as_utf8(group.name)));
  }
}

std::optional<Mesh> Mesh::parse(const std::vector<std::string>& axes,
                                const std::vector<std::string>& groups, std::uint32_t ranks) {
  Mesh mesh;
  std::uint64_t product = 1;
  for (std::string_view text : axes) {
    const std::optional<std::uint32_t> size = take_number(text);
    if (!size || *size == 0 || *size > ranks || !take(text, ':')) return std::nullopt;
    mesh.axes_.push_back({std::string(text), *size, static_cast<std::uint32_t>(product)});
    product *= *size;
    if (product > ranks) return std::nullopt;
  }
  if (product != ranks || axes.empty() || axes.size() >= schema::NO_AXIS) return std::nullopt;
  for (std::string_view text : groups) {
    Group& group = mesh.groups_.emplace_back();
    group.by_lists = text.starts_with(kLists);
    if (group.by_lists) text.remove_prefix(kLists.size());
    if (group.by_lists && !text.starts_with(':')) return std::nullopt;
    while (!text.starts_with(':')) {
      if (!group.axes.empty() && !take(text, ',')) return std::nullopt;
      const std::optional<std::uint32_t> axis = take_number(text);
      if (!axis || *axis >= axes.size()) return std::nullopt;
      if (std::ranges::find(group.axes, *axis) != group.axes.end()) return std::nullopt;
      group.axes.push_back(static_cast<std::uint8_t>(*axis));
    }
    group.name = text.substr(1);
  }
  return mesh;
}

void Mesh::write(model::WorkloadBuilder& workload,
                 const std::map<std::size_t, Lists>& lists) const {
  for (const Axis& axis : axes_) workload.add_axis(axis.name, axis.size);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (!groups_[g].by_lists) {
      workload.add_group(groups_[g].name, groups_[g].axes);
      continue;
    }
    std::vector<std::vector<std::uint32_t>> members;
    if (const auto found = lists.find(g); found != lists.end()) {
      members.assign(found->second.begin(), found->second.end());
    }
    workload.add_group_lists(groups_[g].name, std::move(members));
  }
}

std::vector<std::uint32_t> Mesh::members(std::size_t group, std::uint32_t rank) const {
  std::vector<std::uint32_t> members{rank};
  for (const std::uint8_t a : groups_[group].axes) {
    members.front() -= rank / axes_[a].stride % axes_[a].size * axes_[a].stride;
  }
  for (const std::uint8_t a : groups_[group].axes) {
    const std::size_t inner = members.size();
    for (std::uint32_t i = 1; i < axes_[a].size; ++i) {
      for (std::size_t k = 0; k < inner; ++k) members.push_back(members[k] + i * axes_[a].stride);
    }
  }
  return members;
}

}  // namespace exawarp::io
