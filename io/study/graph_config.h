// An explicit graph: a YAML file of its own, or in place.
//
//   devices: 4
//   switches: 2
//   link_kinds: {slow: {bandwidth: "10 GB/s", latency: "1 us"}}
//   links: ["d0 s0 slow", "d1 s0 slow", ...]      d: device, s: switch
#pragma once

#include "io/study/keys.h"
#include "model/topology/graph.h"

namespace exawarp::io {

const Keys<model::GraphSpec>& graph_keys();

}  // namespace exawarp::io
