// What a packet network's ports have counted, as `exawarp run` and `exawarp traffic` print it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/network/packet/packet_totals.h"

namespace exawarp::io {

// Keys and values, in the order of docs/guide/user_guide.md, which explains them.
std::vector<std::pair<std::string, std::uint64_t>> packet_counters(
    const model::PacketTotals& totals);

}  // namespace exawarp::io
