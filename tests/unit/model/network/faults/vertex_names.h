// How faults name vertices.
#pragma once

#include "model/network/faults/link_faults.h"

namespace exawarp::tests {

constexpr model::VertexName device(std::uint32_t i) { return {true, i}; }
constexpr model::VertexName node(std::uint32_t i) { return {false, i}; }

}  // namespace exawarp::tests
