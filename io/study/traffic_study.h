// A traffic study: synthetic traffic over a fabric's network, by packets or by flows
// (configs/traffic/*.yaml).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/study/keys.h"
#include "io/study/yaml.h"
#include "model/topology/fabric.h"
#include "model/network/packet/packet_options.h"
#include "model/network/packet/port_counters.h"
#include "model/network/packet/traffic.h"
#include "model/network/packet/traffic_pattern.h"

namespace exawarp::io {

struct TrafficStudy {
  std::string file;
  std::string name;
  std::uint32_t devices = 0;
  model::TrafficFidelity fidelity = model::TrafficFidelity::packet;
  model::Fabric fabric;
  model::PacketOptions network;
  model::TrafficOptions traffic;
  model::PortCountersOptions counters;  // where they are asked for
  std::uint64_t seed = 1;
  Settings settings;  // all of it as written, to compare ranks by
  ResolvedYaml resolved;
};

const Keys<TrafficStudy>& traffic_study_keys();

// Whether a file's `traffic` section makes it a traffic study. Throws core::InputError.
bool is_traffic_study(const std::string& path, const std::vector<std::string>& overrides);

// Reads, overrides (`path.to.key=value`) and checks a traffic study. Throws core::InputError.
TrafficStudy read_traffic_study(const std::string& path, const std::vector<std::string>& overrides);

}  // namespace exawarp::io
