// Where the vertices of a small topology are drawn: switches in rows by tier, a torus or mesh as a
// grid, others around a circle. Nothing is laid out by iteration: the same topology, the same file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/report/svg.h"
#include "io/report/topology_sketch.h"

namespace exawarp::io {

constexpr double kPictureMargin = 40, kPictureTitle = 50;

struct TopologyLayout {
  std::vector<Point> at;  // by vertex
  double width = 0, height = 0;
  double radius = 9;  // of a device
  struct Note {
    Point at;
    std::string text;
  };
  std::vector<Note> notes;  // names of rows and planes
  std::vector<std::uint32_t> dims;  // of a grid, the fastest first; else empty
};

TopologyLayout layout_of(const model::Topology& topology, const TopologySketch& sketch);

// "tier 2", "switches of nodes", "devices".
std::string name_of_row(const TopologySketch::Row& row);

}  // namespace exawarp::io
