// Which devices a collective joins.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/formats/stablehlo/module.h"

namespace exawarp::io::stablehlo {

using DeviceLists = std::vector<std::vector<std::uint32_t>>;

// The groups of a collective as device ids, in the order given. Without a group that names them,
// all devices are one group. Devices are numbered replica * partitions + partition.
// Throws core::InputError for a mesh or axis that is not declared, and ids out of range.
DeviceLists groups_of(const Operation& op, const Module& module, const Source& source,
                      std::uint32_t devices);

// The pairs (from, to) of a collective_permute.
std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs_of(const Operation& op,
                                                              const Source& source,
                                                              std::uint32_t devices);

// Devices of the module: replicas times partitions, or one more than the highest id in its
// collectives where that is greater.
std::uint32_t device_count(const Module& module, const Source& source);

}  // namespace exawarp::io::stablehlo
