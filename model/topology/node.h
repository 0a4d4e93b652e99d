// Which node a device is in: consecutive ids, `devices` of them a node.
#pragma once

#include <bit>
#include <cstdint>

#include "core/ids.h"

namespace exawarp::model {

class NodeLayout {
 public:
  // Requires devices >= 1.
  explicit NodeLayout(std::uint32_t devices) : devices_(devices) {}

  [[nodiscard]] std::uint32_t devices() const { return devices_; }
  [[nodiscard]] std::uint32_t node_of(core::DeviceId device) const {
    return device.value / devices_;
  }
  [[nodiscard]] bool same_node(core::DeviceId a, core::DeviceId b) const {
    return node_of(a) == node_of(b);
  }
  // Devices of an atom, as a power of two: a node's, or one where a node is no power of two.
  [[nodiscard]] std::uint32_t atom_shift() const {
    return std::has_single_bit(devices_) ? static_cast<std::uint32_t>(std::countr_zero(devices_))
                                         : 0;
  }

 private:
  std::uint32_t devices_;
};

}  // namespace exawarp::model
