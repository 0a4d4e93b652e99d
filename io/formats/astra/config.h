// Reads the files of an ASTRA-sim set-up (docs/guide/astra.md): same keys, same defaults.
#pragma once

#include <string>
#include <vector>

#include "model/guests/astra/config.h"

namespace exawarp::io {

// What a reader reports that is not an error: keys that neither ASTRA-sim nor we use, and the like.
using Warnings = std::vector<std::string>;

// network.yml.
[[nodiscard]] model::astra::NetworkConfig read_astra_network(const std::string& path,
                                                             Warnings& warnings);
// memory.json.
[[nodiscard]] model::astra::MemoryConfig read_astra_memory(const std::string& path,
                                                           Warnings& warnings);
// system.json; reads the graphs of custom collectives too, whose prefixes are relative to the
// working directory. `injection_scale` multiplies endpoint-delay where that is given.
[[nodiscard]] model::astra::SystemConfig read_astra_system(const std::string& path,
                                                           double injection_scale,
                                                           Warnings& warnings);

}  // namespace exawarp::io
