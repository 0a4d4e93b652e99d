// A traffic study: synthetic traffic over a fabric's network at packet fidelity
// (configs/traffic/*.yaml).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/yaml.h"
#include "model/network/fabric.h"
#include "model/network/packet_options.h"
#include "model/network/traffic_pattern.h"

namespace exawarp::io {

struct TrafficStudy {
  std::string file;
  std::string name;
  std::uint32_t devices = 0;
  model::Fabric fabric;
  model::PacketOptions network;
  model::TrafficOptions traffic;
  std::uint64_t seed = 1;
};

// Reads, overrides (`path.to.key=value`) and checks a traffic study. Throws core::InputError.
TrafficStudy read_traffic_study(const std::string& path,
                                const std::vector<std::string>& overrides);

}  // namespace exawarp::io
