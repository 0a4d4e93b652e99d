// A topology as a Graphviz graph, every vertex and link of it.
#pragma once

#include <string>

#include "model/topology/topology.h"

namespace exawarp::io {

constexpr std::uint64_t kDotLinksMax = 200'000;

// Throws core::InputError, starting with `place`, where there are more than kDotLinksMax links.
std::string dot_of(const model::Topology& topology, const std::string& place);

}  // namespace exawarp::io
