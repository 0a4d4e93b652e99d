// From a module's groups of device ids to communicators of the mesh that it shall run on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/formats/stablehlo/groups.h"
#include "model/workload/builder.h"

namespace exawarp::io::stablehlo {

// The mesh may have k times the module's devices: then its first axis has grown k-fold, and groups
// along it grow with it. Group by group: all devices of the module become all of the mesh; groups
// along axes of the mesh stay along them; other groups only run on as many devices as the module's.
class MeshGroups {
 public:
  static constexpr std::uint32_t kNobody = 0xffffffff;

  using Axes = std::vector<std::pair<std::string, std::uint32_t>>;  // the last one fastest
  // Adds the axes to `workload`. Throws core::InputError where the mesh is no multiple of the
  // module's devices.
  MeshGroups(const Axes& mesh, std::uint32_t module_devices, const Source& source,
             model::WorkloadBuilder& workload);

  [[nodiscard]] std::uint32_t devices() const { return devices_; }
  // Size of the axis that varies fastest, the first of the workload.
  [[nodiscard]] std::uint32_t fastest() const { return mesh_.back().second; }
  [[nodiscard]] std::uint32_t growth() const { return growth_; }
  // The communicator family for `groups` in the workload, or kNobody where each has one member.
  std::uint32_t family_of(const DeviceLists& groups, const Operation& op);

 private:
  // The axes (bit i: mesh axis i) along which the groups of the module lie, if they do.
  [[nodiscard]] std::optional<std::uint32_t> axes_of(const DeviceLists& groups) const;
  std::uint32_t add_family(const DeviceLists& groups, const Operation& op);

  Axes mesh_;
  Axes module_mesh_;  // empty: the module has no such mesh
  std::uint32_t module_devices_, devices_ = 1, growth_ = 1;
  const Source& source_;
  model::WorkloadBuilder& workload_;
  std::map<DeviceLists, std::uint32_t> known_;
};

}  // namespace exawarp::io::stablehlo
