// A `packet:` section: the settings of packet fidelity. docs/reference/keys.md lists the keys,
// docs/reference/packet_network.md explains them.
#pragma once

#include "io/study/yaml.h"
#include "model/network/packet/packet_options.h"

namespace exawarp::io {

inline constexpr const char* kUsualRouting = "ecmp";  // of studies that are silent

// Throws core::InputError naming file, line and key. What depends on the topology is
// model::PacketNetwork's to check. The seed of routing and marks is the caller's to set.
model::PacketOptions read_packet_options(const YamlSection& section);

}  // namespace exawarp::io
