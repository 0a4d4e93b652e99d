#include "io/report/topology_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "model/network/faults/link_faults.h"
#include "model/topology/torus.h"

namespace exawarp::io {
namespace {

using model::Topology;
using model::Torus;

constexpr double kRowHeight = 110, kStep = 26, kRowNames = 120;

TopologyLayout in_rows(const Topology& t, const TopologySketch& sketch) {
  TopologyLayout out;
  std::size_t widest = 12;
  for (const auto& row : sketch.rows) widest = std::max(widest, row.vertices.size());
  const double left = kPictureMargin + kRowNames;
  out.width = left + kPictureMargin + kStep * static_cast<double>(widest);
  out.at.resize(sketch.row_of.size());
  double y = kPictureTitle + kPictureMargin / 2;
  for (const auto& row : sketch.rows) {
    const double step =
        (out.width - left - kPictureMargin) / static_cast<double>(row.vertices.size());
    for (std::size_t i = 0; i < row.vertices.size(); ++i) {
      out.at[row.vertices[i]] = {left + step * (static_cast<double>(i) + 0.5), y};
    }
    out.notes.push_back({{kPictureMargin, y - 3}, name_of_row(row)});
    const std::string first = vertex_name(t, {row.vertices.front()});
    const std::string last = vertex_name(t, {row.vertices.back()});
    out.notes.push_back({{kPictureMargin, y + 12}, first == last ? first : first + " to " + last});
    y += kRowHeight;
  }
  out.height = y - kRowHeight + kPictureMargin;
  return out;
}

// The first dimension goes to the right, the second down, the third back (each step a little up and
// to the right); grids of further dimensions stand below each other.
TopologyLayout in_grid(const Topology& t, std::span<const std::uint32_t> dims) {
  TopologyLayout out;
  out.dims.assign(dims.begin(), dims.end());
  const auto size = [&](std::size_t d) { return d < dims.size() ? dims[d] : 1u; };
  const std::uint32_t plane = size(0) * size(1), cube = plane * size(2);
  constexpr double kBackX = 26, kBackY = 22;
  const double back_x = kBackX * (size(2) - 1), back_y = kBackY * (size(2) - 1);
  const double cell_x = kStep * 1.6 + back_x, cell_y = kStep * 1.6 + back_y;
  const double block = cell_y * size(1) + back_y + 2 * kStep;
  for (std::uint32_t d = 0; d < t.devices(); ++d) {
    const std::uint32_t x = d % size(0), y = d / size(0) % size(1), z = d % cube / plane;
    out.at.push_back({kPictureMargin + kStep + cell_x * x + kBackX * z,
                      kPictureTitle + kStep + block * (d / cube) + back_y + cell_y * y -
                          kBackY * z});
    out.width = std::max(out.width, out.at.back().x + kPictureMargin + kStep);
    out.height = std::max(out.height, out.at.back().y + kPictureMargin + kStep);
  }
  for (std::uint32_t c = 0; c * cube < t.devices() && dims.size() > 3; ++c) {
    out.notes.push_back({{kPictureMargin, kPictureTitle + block * c + 8},
                         fmt::format("d{} to d{}", c * cube, (c + 1) * cube - 1)});
  }
  return out;
}

// Devices around a circle, clockwise from the top; switches, if any, around one inside it.
TopologyLayout in_circle(const Topology& t) {
  TopologyLayout out;
  const double radius = std::max(100.0, t.devices() * 20 / (2 * std::numbers::pi));
  const auto place = [&](std::uint32_t count, double r) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const double angle = 2 * std::numbers::pi * (i + 0.5) / count;
      out.at.push_back({kPictureMargin + radius + r * std::sin(angle),
                        kPictureTitle + radius - r * std::cos(angle)});
    }
  };
  place(t.devices(), radius);
  place(t.switches(), radius - 40);
  out.width = 2 * (radius + kPictureMargin);
  out.height = kPictureTitle + 2 * radius + kPictureMargin / 2;
  return out;
}

}  // namespace

std::string name_of_row(const TopologySketch::Row& row) {
  if (row.level == 0) return "devices";
  return row.level < 0 ? "inside nodes" : fmt::format("tier {}", row.level);
}

TopologyLayout layout_of(const Topology& t, const TopologySketch& sketch) {
  const bool one_row = sketch.rows.size() == 2 && std::ranges::any_of(sketch.links, [](auto& l) {
    return l.first.first == std::pair(0u, 0u);  // links between switches
  });
  if (t.switches() != 0 && !one_row) return in_rows(t, sketch);
  if (t.switches() != 0) return in_circle(t);
  const auto* torus = dynamic_cast<const Torus*>(&t);
  if (torus == nullptr || torus->dims().size() == 1) return in_circle(t);
  return in_grid(t, torus->dims());
}

}  // namespace exawarp::io
