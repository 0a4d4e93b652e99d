// Lists of flows: CSV with the columns `source`, `destination`, `bytes` and `start` ("5 us"), or
// `start_ps`, whole picoseconds. Further columns are passed over, so what `exawarp traffic --flows`
// writes is such a list.
#pragma once

#include <cstdint>
#include <string>

#include "model/network/packet/flow_list.h"

namespace exawarp::io {

constexpr std::uint64_t kListedFlowsMax = 1 << 24;

// Of a network of so many devices. Throws core::InputError at the file and line: a device that
// there is not, a flow from a device to itself, more than 1 TiB or a start after more than a day,
// more flows than kListedFlowsMax.
model::FlowList read_flow_list(const std::string& path, std::uint32_t devices);

}  // namespace exawarp::io
