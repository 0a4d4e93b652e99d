// Groups stand in an operation as a dense table, as a splat, or as axes of a mesh. Whichever it is
// becomes lists of devices here, in which every device stands once at most.
#include "io/formats/stablehlo/groups.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "core/check.h"
#include "io/formats/stablehlo/program.h"
#include "io/formats/stablehlo/types.h"
#include "io/study/suggest.h"

namespace exawarp::io::stablehlo {
namespace {

constexpr std::int64_t kDeviceMax = (1 << 17) - 1;
constexpr std::uint64_t kListedMax = std::uint64_t{1} << 17;  // devices in all groups together

std::string_view group_text(const Operation& op, const Module& module) {
  std::string_view text = op.attribute("replica_groups");
  if (text.starts_with("#")) {
    const auto alias = module.aliases.find(text);
    if (alias != module.aliases.end()) text = alias->second;
  }
  return text;
}

// The rows of "dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>", or of a splat.
std::vector<std::vector<std::int64_t>> rows_of(std::string_view text, const Operation& op,
                                               const Source& source) {
  const std::size_t type = text.rfind("tensor<");
  std::string_view values = text.substr(0, type == std::string_view::npos ? text.size() : type);
  std::vector<std::vector<std::int64_t>> rows;
  if (values.find("[[") == std::string_view::npos) {  // a splat, or empty
    const std::vector<std::int64_t> splat = integers_in(values);
    if (splat.empty() || type == std::string_view::npos) return rows;
    Lexer lexer(source, static_cast<std::size_t>(text.data() - source.text.data()) + type,
                static_cast<std::size_t>(text.data() - source.text.data()) + text.size());
    const ValueType shape = parse_type(lexer);
    if (shape.empty() || shape[0].dims.size() != 2 || shape[0].elements() > kListedMax)
      source.fail(op.offset, "groups that are no small matrix; expected e.g. tensor<2x4xi64>");
    rows.assign(shape[0].dims[0], std::vector<std::int64_t>(shape[0].dims[1], splat[0]));
    return rows;
  }
  values = values.substr(values.find("[[") + 1);
  while (true) {
    const std::size_t begin = values.find('[');
    const std::size_t end = values.find(']', begin == std::string_view::npos ? 0 : begin);
    if (begin == std::string_view::npos || end == std::string_view::npos) break;
    rows.push_back(integers_in(values.substr(begin, end - begin)));
    values = values.substr(end + 1);
  }
  return rows;
}

DeviceLists checked(const std::vector<std::vector<std::int64_t>>& rows, const Operation& op,
                    const Source& source) {
  DeviceLists groups;
  std::set<std::int64_t> seen;
  for (const std::vector<std::int64_t>& row : rows) {
    std::vector<std::uint32_t> group;
    for (const std::int64_t id : row) {
      if (id == -1) continue;  // fills up an uneven row
      if (id < 0 || id > kDeviceMax)
        source.fail(op.offset, fmt::format("device {} in a group; expected 0 to {}", id,
                                           kDeviceMax));
      if (!seen.insert(id).second)
        source.fail(op.offset, fmt::format("device {} occurs twice in the groups", id));
      group.push_back(static_cast<std::uint32_t>(id));
    }
    if (!group.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

// Devices that differ only along `axes` of a mesh, the last axis of the mesh varying fastest.
DeviceLists groups_over(const NamedMesh& mesh, const std::vector<std::string>& axes,
                        const Operation& op, const Source& source) {
  std::vector<bool> joined(mesh.axes.size(), false);
  for (const std::string& axis : axes) {
    const auto it = std::ranges::find_if(mesh.axes, [&](const auto& a) { return a.first == axis; });
    if (it == mesh.axes.end())
      source.fail(op.offset, fmt::format("axis {} is not one of the mesh", in_quotes(axis)));
    joined[static_cast<std::size_t>(it - mesh.axes.begin())] = true;
  }
  std::uint64_t total = 1;
  for (const auto& axis : mesh.axes) {
    total *= axis.second;
    if (total > kListedMax) source.fail(op.offset, "a mesh of more than 2^17 devices");
  }
  if (!mesh.device_ids.empty() && mesh.device_ids.size() != total)
    source.fail(op.offset, fmt::format("the mesh has {} devices and {} device_ids", total,
                                       mesh.device_ids.size()));
  std::map<std::uint64_t, std::vector<std::int64_t>> rows;
  for (std::uint64_t place = 0; place < total; ++place) {
    std::uint64_t rest = place, key = 0, scale = 1;
    for (std::size_t a = mesh.axes.size(); a-- != 0;) {
      const std::uint64_t coordinate = rest % mesh.axes[a].second;
      rest /= mesh.axes[a].second;
      if (!joined[a]) key += coordinate * scale;
      scale *= mesh.axes[a].second;
    }
    rows[key].push_back(mesh.device_ids.empty() ? static_cast<std::int64_t>(place)
                                                : mesh.device_ids[place]);
  }
  std::vector<std::vector<std::int64_t>> lists;
  for (auto& [key, row] : rows) lists.push_back(std::move(row));
  for (const std::int64_t id : mesh.device_ids) {
    if (id < 0)
      source.fail(op.offset, fmt::format("device {} in the mesh's device_ids; expected 0 to {}",
                                         id, kDeviceMax));
  }
  return checked(lists, op, source);
}

DeviceLists mesh_groups(std::string_view text, const Operation& op, const Module& module,
                        const Source& source) {
  const std::size_t axes_at = text.rfind("axes = [");
  const std::size_t mesh_at = text.find("mesh = ");
  if (axes_at == std::string_view::npos || mesh_at == std::string_view::npos)
    source.fail(op.offset, "groups by mesh axes that name no mesh or no axes");
  std::vector<std::string> axes;
  const std::string_view listed = text.substr(axes_at);
  for (std::size_t at = listed.find('"'); at != std::string_view::npos;) {
    const std::size_t end = listed.find('"', at + 1);
    if (end == std::string_view::npos) break;
    axes.emplace_back(listed.substr(at + 1, end - at - 1));
    at = listed.find('"', end + 1);
  }
  if (listed.find("sub_axis") != std::string_view::npos)
    source.fail(op.offset, "groups over a part of an axis (sub_axis_info); expected whole axes");
  const std::string_view mesh = text.substr(mesh_at + 7, axes_at - mesh_at - 7);
  if (!mesh.starts_with("@"))
    return groups_over(parse_mesh(mesh, source, op.offset), axes, op, source);
  const std::string name(mesh.substr(1, mesh.find_first_of(", >") - 1));
  const auto known = module.meshes.find(name);
  if (known == module.meshes.end())
    source.fail(op.offset, fmt::format("mesh {} is not declared in the module", in_quotes(name)));
  return groups_over(known->second, axes, op, source);
}

std::vector<std::uint32_t> all_of(std::uint64_t count) {
  std::vector<std::uint32_t> ids(count);
  std::iota(ids.begin(), ids.end(), 0u);
  return ids;
}

enum class Mode { direct, cross_replica, cross_partition, replica_and_partition };

// docs/guide/stablehlo.md, "groups": what ids in a group number.
Mode mode_of(const Operation& op, const Module& module) {
  if (module.partitions <= 1) return Mode::direct;
  const auto channel = integers_in(op.attribute("channel_handle"));
  const bool has_channel = (!channel.empty() && channel[0] > 0) ||
                           op.attribute("channel_handle").find("handle = 1") !=
                               std::string_view::npos;
  if (!op.attribute("use_global_device_ids").empty() &&
      op.attribute("use_global_device_ids") != "false")
    return Mode::direct;
  if (!has_channel) return Mode::cross_replica;
  const bool both = op.name == "all_reduce" || op.name == "all_gather" ||
                    op.name == "reduce_scatter";
  if (module.replicas <= 1 && !both) return Mode::direct;
  return both ? Mode::replica_and_partition : Mode::cross_partition;
}

void check_ids(const DeviceLists& groups, std::uint64_t limit, const Operation& op,
               const Source& source) {
  for (const std::vector<std::uint32_t>& group : groups)
    for (const std::uint32_t id : group)
      if (id >= limit)
        source.fail(op.offset, fmt::format("device {} in a group; the module has {}", id, limit));
}

// Groups of replicas or partitions as groups of devices.
DeviceLists expanded(const DeviceLists& groups, Mode mode, const Module& module) {
  const auto partitions = static_cast<std::uint32_t>(module.partitions);
  const auto replicas = static_cast<std::uint32_t>(module.replicas);
  EXAWARP_CHECK(mode != Mode::direct);
  DeviceLists out;
  for (const std::vector<std::uint32_t>& group : groups) {
    if (mode == Mode::replica_and_partition) {
      std::vector<std::uint32_t> one;
      for (const std::uint32_t r : group)
        for (std::uint32_t p = 0; p < partitions; ++p) one.push_back(r * partitions + p);
      out.push_back(std::move(one));
      continue;
    }
    const std::uint32_t copies = mode == Mode::cross_replica ? partitions : replicas;
    for (std::uint32_t copy = 0; copy < copies; ++copy) {
      std::vector<std::uint32_t> one;
      for (const std::uint32_t id : group)
        one.push_back(mode == Mode::cross_replica ? id * partitions + copy
                                                  : copy * partitions + id);
      out.push_back(std::move(one));
    }
  }
  return out;
}

}  // namespace

DeviceLists groups_of(const Operation& op, const Module& module, const Source& source,
                      std::uint32_t devices) {
  const std::string_view text = group_text(op, module);
  DeviceLists groups;
  if (text.find("mesh_axes") != std::string_view::npos) {
    groups = mesh_groups(text, op, module, source);
    check_ids(groups, devices, op, source);
    return groups;
  }
  groups = checked(rows_of(text, op, source), op, source);
  const Mode mode = mode_of(op, module);
  std::uint64_t members = devices;
  if (mode == Mode::cross_replica || mode == Mode::replica_and_partition) members = module.replicas;
  if (mode == Mode::cross_partition) members = module.partitions;
  if (groups.empty()) groups.push_back(all_of(members));
  check_ids(groups, members, op, source);
  return mode == Mode::direct ? groups : expanded(groups, mode, module);
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs_of(const Operation& op,
                                                              const Source& source,
                                                              std::uint32_t devices) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  std::set<std::int64_t> senders, receivers;
  for (const std::vector<std::int64_t>& row :
       rows_of(op.attribute("source_target_pairs"), op, source)) {
    if (row.size() != 2) source.fail(op.offset, "a source-target pair that is none");
    for (const std::int64_t id : row)
      if (id < 0 || id >= devices)
        source.fail(op.offset, fmt::format("device {} in a pair; the module has {}", id, devices));
    if (!senders.insert(row[0]).second || !receivers.insert(row[1]).second)
      source.fail(op.offset, "a device sends twice or receives twice in one permute");
    if (row[0] != row[1])
      pairs.emplace_back(static_cast<std::uint32_t>(row[0]), static_cast<std::uint32_t>(row[1]));
  }
  return pairs;
}

namespace {

void raise(const Region& region, const Source& source, std::int64_t& highest) {
  for (const Operation& op : region.operations) {
    for (const Region& inner : op.regions) raise(inner, source, highest);
    for (const char* name : {"replica_groups", "source_target_pairs"}) {
      const std::string_view text = op.attribute(name);
      if (text.empty() || text.find("mesh_axes") != std::string_view::npos) continue;
      for (const auto& row : rows_of(text, op, source))
        for (const std::int64_t id : row) highest = std::max(highest, std::min(id, kDeviceMax));
    }
  }
}

}  // namespace

std::uint32_t device_count(const Module& module, const Source& source) {
  std::uint64_t devices = module.replicas * module.partitions;
  if (devices > kListedMax)
    source.fail(0, fmt::format("a module for {} devices; expected at most {}", devices,
                               kListedMax));
  std::int64_t highest = -1;
  for (const Function& function : module.functions) raise(function.body, source, highest);
  devices = std::max(devices, static_cast<std::uint64_t>(highest + 1));
  for (const auto& [name, mesh] : module.meshes) {
    std::uint64_t total = 1;
    for (const auto& axis : mesh.axes) total = std::min(total * axis.second, kListedMax);
    devices = std::max(devices, total);
  }
  return static_cast<std::uint32_t>(devices);
}

}  // namespace exawarp::io::stablehlo
