// How busy each port was, from the counters that `--counters` writes (CSV).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "model/topology/topology.h"

namespace exawarp::io {

struct PortLoad {
  double mean = 0;  // share of the time from 0 to the last bucket's end, 0 to 1
  double peak = 0;  // of one bucket
  // False: the file has no packets there, as of links inside nodes that are not simulated by
  // packet.
  bool counted = false;
};

class LinkLoads {
 public:
  // Throws core::InputError at the file and line: a port that `topology` does not have, a share
  // above 1, or no rows at all.
  LinkLoads(const std::string& path, const model::Topology& topology);

  // Of what a port sends; not counted where the file does not name it.
  [[nodiscard]] PortLoad of(model::VertexId vertex, std::uint32_t port) const;
  // Of the busier direction of the link at a port.
  [[nodiscard]] PortLoad of_link(const model::Topology& topology, model::VertexId vertex,
                                 std::uint32_t port) const;

 private:
  std::map<std::pair<std::uint32_t, std::uint32_t>, PortLoad> ports_;  // by vertex and port
};

}  // namespace exawarp::io
