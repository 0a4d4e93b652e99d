// An explicit graph: a YAML file of its own, or in place.
//
//   devices: 4
//   switches: 2
//   link_kinds: {slow: {bandwidth: "10 GB/s", latency: "1 us"}}
//   links: ["d0 s0 slow", "d1 s0 slow", ...]      d: device, s: switch
#pragma once

#include "io/study/yaml.h"
#include "model/topology/graph.h"

namespace exawarp::io {

// Throws core::InputError.
model::GraphSpec read_graph(const YamlSection& section);

// One kind of link: `bandwidth` and `latency` (1 ps at least), and optionally `peak_bandwidth`.
model::LinkKind read_link(const YamlSection& section, const std::string& name);

}  // namespace exawarp::io
