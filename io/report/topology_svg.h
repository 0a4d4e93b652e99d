// A topology as a picture (SVG 1.1): every vertex and link up to kDrawnVerticesMax vertices; beyond
// that its tiers, with how many switches and links they have.
#pragma once

#include <string>

#include "model/topology/topology.h"

namespace exawarp::io {

constexpr std::uint32_t kDrawnVerticesMax = 400;
constexpr std::uint64_t kDrawnLinksMax = 4'000;

std::string svg_of(const model::Topology& topology);

}  // namespace exawarp::io
