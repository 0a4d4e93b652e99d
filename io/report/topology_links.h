// Every link of a topology by the names that `faults` takes.
#pragma once

#include <iosfwd>

#include "model/topology/topology.h"

namespace exawarp::io {

// One line a link, e.g. "s0:3 d12:0 host": vertex and port of both ends, and its kind. Each link
// once, from the end with the lower vertex. Cost: O(links), no memory.
void print_links(const model::Topology& topology, std::ostream& out);

}  // namespace exawarp::io
