// Whose timeline is traced.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/device/device_model.h"

namespace exawarp::model {

// By LP of a device, whether it is traced: `asked`, by number, or what stands in for these where
// devices are folded. None asked for: of the first job the first device of each stage of its first
// pipeline, or, where it has no stages, its first eight devices. Throws core::InputError where
// there is no such device.
std::vector<std::uint8_t> timeline_lps(const DeviceModel& model,
                                       std::span<const std::uint32_t> asked);

}  // namespace exawarp::model
