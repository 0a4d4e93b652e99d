// A list of groups that is what some axes of the mesh give by rule is stored as those axes, which
// takes no memory per device; any other becomes a family of lists.
#include "io/formats/stablehlo/mesh_groups.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "core/check.h"
#include "core/error.h"
#include "model/workload/validate.h"

namespace exawarp::io::stablehlo {
namespace {

constexpr std::size_t kAxesMax = 8;

std::uint8_t builder_axis(std::size_t axis, std::size_t axes) {
  return static_cast<std::uint8_t>(axes - 1 - axis);  // a workload's first axis is the fastest
}

}  // namespace

MeshGroups::MeshGroups(const Axes& mesh, std::uint32_t module_devices, const Source& source,
                       model::WorkloadBuilder& workload)
    : mesh_(mesh), module_devices_(module_devices), source_(source), workload_(workload) {
  if (mesh_.empty()) mesh_.emplace_back("device", module_devices);
  if (mesh_.size() > kAxesMax)
    throw core::InputError("--mesh", fmt::format("{} axes; expected at most {}", mesh_.size(),
                                                 kAxesMax));
  std::uint64_t devices = 1;
  for (const auto& axis : mesh_) {
    devices *= axis.second;
    if (devices > model::kDevicesMax)
      throw core::InputError("--mesh", fmt::format("more than {} devices", model::kDevicesMax));
  }
  devices_ = static_cast<std::uint32_t>(devices);
  if (devices_ % module_devices_ != 0)
    throw core::InputError("--mesh", fmt::format("{} devices; {} is for {}; expected a multiple of "
                                                 "that",
                                                 devices_, source.path, module_devices_));
  growth_ = devices_ / module_devices_;
  if (mesh_[0].second % growth_ == 0) {
    module_mesh_ = mesh_;
    module_mesh_[0].second /= growth_;
  }
  for (std::size_t i = mesh_.size(); i-- != 0;)
    workload_.add_axis(mesh_[i].first, mesh_[i].second);
}

std::optional<std::uint32_t> MeshGroups::axes_of(const DeviceLists& groups) const {
  EXAWARP_CHECK(!groups.empty() && !groups[0].empty());
  const std::size_t size = groups[0].size();
  if (groups.size() * size != module_devices_) return std::nullopt;
  if (groups.size() == 1 && std::ranges::is_sorted(groups[0])) return (1u << mesh_.size()) - 1;
  if (module_mesh_.empty()) return std::nullopt;
  for (std::uint32_t axes = 0; axes < 1u << module_mesh_.size(); ++axes) {
    std::vector<std::uint32_t> offsets{0};
    std::uint32_t stride = 1;
    for (std::size_t i = module_mesh_.size(); i-- != 0;) {
      const std::uint32_t extent = module_mesh_[i].second;
      if ((axes >> i & 1u) != 0) {
        const std::vector<std::uint32_t> inner = offsets;
        for (std::uint32_t c = 1; c < extent; ++c)
          for (const std::uint32_t offset : inner) offsets.push_back(offset + c * stride);
      }
      stride *= extent;
    }
    if (offsets.size() != size) continue;
    const auto along = [&](const std::vector<std::uint32_t>& group) {
      if (group.size() != size) return false;
      for (std::size_t m = 0; m < size; ++m)
        if (group[m] != group[0] + offsets[m]) return false;
      return true;
    };
    if (std::ranges::all_of(groups, along)) return axes;
  }
  return std::nullopt;
}

std::uint32_t MeshGroups::add_family(const DeviceLists& groups, const Operation& op) {
  const auto axes = axes_of(groups);
  if (axes) {
    std::vector<std::uint8_t> joined;
    std::uint64_t members = 1;
    std::string name;
    for (std::size_t i = mesh_.size(); i-- != 0;) {
      if ((*axes >> i & 1u) == 0) continue;
      joined.push_back(builder_axis(i, mesh_.size()));
      members *= mesh_[i].second;
      name = name.empty() ? mesh_[i].first : mesh_[i].first + "+" + name;
    }
    if (members == 1) return kNobody;
    return workload_.add_group(name, joined);
  }
  if (growth_ != 1)
    source_.fail(op.offset, fmt::format("groups of {} that lie along no axis of the mesh cannot "
                                        "grow to {} devices; expected --mesh of {} devices, or "
                                        "axes that the groups follow",
                                        op.name, devices_, module_devices_));
  if (std::ranges::all_of(groups, [](const auto& group) { return group.size() == 1; }))
    return kNobody;
  return workload_.add_group_lists(fmt::format("groups {}", known_.size()), groups);
}

std::uint32_t MeshGroups::family_of(const DeviceLists& groups, const Operation& op) {
  const auto it = known_.find(groups);
  if (it != known_.end()) return it->second;
  constexpr std::size_t kFamiliesMax = 4'096;
  if (known_.size() >= kFamiliesMax)
    source_.fail(op.offset, fmt::format("more than {} kinds of groups", kFamiliesMax));
  EXAWARP_CHECK(module_devices_ * growth_ == devices_, module_devices_, growth_, devices_);
  return known_.emplace(groups, add_family(groups, op)).first->second;
}

}  // namespace exawarp::io::stablehlo
