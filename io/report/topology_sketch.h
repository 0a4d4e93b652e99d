// A topology sorted into rows for drawing: devices, switches by how far they are from a device, and
// apart those of one row that have links of other kinds (an NVSwitch is no leaf).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/topology/topology.h"

namespace exawarp::io {

struct TopologySketch {
  struct Row {
    int level = 0;  // 0: devices; 1: switches next to them, ...; -1: switches of devices alone,
                    // where others lead on
    std::vector<std::uint32_t> vertices;
    std::uint32_t ports_max = 0;
  };
  std::vector<Row> rows;                // from the highest level down
  std::vector<std::uint32_t> row_of;    // by vertex
  // Links between two rows (the lower index first) of a kind.
  std::map<std::pair<std::pair<std::uint32_t, std::uint32_t>, std::uint8_t>, std::uint64_t> links;
};

TopologySketch sketch_of(const model::Topology& topology);

}  // namespace exawarp::io
