// A topology as a picture (SVG 1.1): every vertex and link up to kDrawnVerticesMax vertices; beyond
// that its tiers, with how many switches and links they have.
#pragma once

#include <string>

#include "io/formats/counters/link_loads.h"
#include "model/topology/topology.h"

namespace exawarp::io {

constexpr std::uint32_t kDrawnVerticesMax = 400;
constexpr std::uint64_t kDrawnLinksMax = 4'000;

// With `loads`, links have the colour of how busy they were, else of their kind.
std::string svg_of(const model::Topology& topology, const LinkLoads* loads = nullptr);

}  // namespace exawarp::io
