// Places vertices in rows by tier, on a grid, or around a circle, whichever the family suggests,
// and draws links as lines behind them. Nothing is laid out by iteration: the same topology, the
// same file.
#include "io/report/topology_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "core/units.h"
#include "io/report/topology_sketch.h"
#include "model/topology/torus.h"

namespace exawarp::io {
namespace {

using model::Link;
using model::Topology;
using model::Torus;
using model::VertexId;

constexpr std::array<const char*, 8> kColours{"#4878a8", "#c06030", "#508848", "#8858a0",
                                              "#b04860", "#887030", "#308890", "#707070"};
constexpr double kMargin = 40, kTitle = 50, kRowHeight = 110, kStep = 26, kLegendLine = 18;

struct Point {
  double x = 0, y = 0;
};

const char* colour(std::uint8_t kind) { return kColours[kind % kColours.size()]; }

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else {
      out += c;
    }
  }
  return out;
}

class Svg {
 public:
  void line(Point a, Point b, std::uint8_t kind, double bend) {
    const Point middle{(a.x + b.x) / 2 + bend * (b.y - a.y), (a.y + b.y) / 2 + bend * (a.x - b.x)};
    if (bend == 0) {
      body_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" ", a.x,
                           a.y, b.x, b.y);
    } else {
      body_ += fmt::format("<path d=\"M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}\" ", a.x, a.y,
                           middle.x, middle.y, b.x, b.y);
    }
    body_ += fmt::format("stroke=\"{}\"/>\n", colour(kind));
  }
  void device(Point at) {
    body_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"/>\n", at.x, at.y);
  }
  void box(Point at, double width, double height) {
    body_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.0f}\" height=\"{:.0f}\"/>\n",
                         at.x - width / 2, at.y - height / 2, width, height);
  }
  void text(Point at, const std::string& what, const char* anchor = "start",
            const std::string& fill = "#222222") {
    body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" fill=\"{}\">"
                         "{}</text>\n",
                         at.x, at.y, anchor, fill, escaped(what));
  }
  [[nodiscard]] std::string document(double width, double height) const {
    return fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
                       "width=\"{0:.0f}\" height=\"{1:.0f}\">\n"
                       "<style>line, path {{fill: none; stroke-width: 1}} circle, rect {{fill: "
                       "#f4f4f4; stroke: #222222}} text {{font: 12px sans-serif}}</style>\n"
                       "<rect width=\"100%\" height=\"100%\" style=\"fill: white; stroke: "
                       "none\"/>\n{2}</svg>\n",
                       width, height, body_);
  }

 private:
  std::string body_;
};

std::string kind_text(const model::LinkKind& kind, std::uint64_t links) {
  return fmt::format("{} {}{}: {}B/s, {}", core::format_grouped(links), kind.name,
                     links == 1 ? " link" : " links",
                     core::format_count(static_cast<double>(kind.bandwidth_bytes_per_s)),
                     core::format_time(kind.latency));
}

// Title above, kinds of links below; returns the picture's whole height.
double label(Svg& svg, const Topology& t, const TopologySketch& sketch, double drawn_to) {
  svg.text({kMargin, 28}, t.name());
  std::vector<std::uint64_t> links(t.link_kinds().size());
  for (const auto& [between, count] : sketch.links) links[between.second] += count;
  double y = drawn_to;
  for (std::size_t k = 0; k < links.size(); ++k) {
    if (links[k] == 0) continue;
    const auto kind = static_cast<std::uint8_t>(k);
    y += kLegendLine;
    svg.line({kMargin, y - 4}, {kMargin + 24, y - 4}, kind, 0);
    svg.text({kMargin + 32, y}, kind_text(t.link_kinds()[k], links[k]));
  }
  return y + kMargin / 2;
}

// ---- every vertex

struct Layout {
  std::vector<Point> at;  // by vertex
  double width = 0, height = 0;
};

Layout in_rows(const TopologySketch& sketch) {
  Layout out;
  std::size_t widest = 12;
  for (const auto& row : sketch.rows) widest = std::max(widest, row.vertices.size());
  out.width = 2 * kMargin + kStep * static_cast<double>(widest - 1);
  out.at.resize(sketch.row_of.size());
  double y = kTitle + kMargin / 2;
  for (const auto& row : sketch.rows) {
    const double step =
        (out.width - 2 * kMargin) / static_cast<double>(row.vertices.size());
    for (std::size_t i = 0; i < row.vertices.size(); ++i) {
      out.at[row.vertices[i]] = {kMargin + step * (static_cast<double>(i) + 0.5), y};
    }
    y += kRowHeight;
  }
  out.height = y - kRowHeight + kMargin;
  return out;
}

// The first dimension across, the others down, with a gap between planes.
Layout in_grid(const Topology& t, std::uint32_t columns, std::uint32_t rows_a_plane) {
  Layout out;
  constexpr double kCell = 44;
  for (std::uint32_t d = 0; d < t.devices(); ++d) {
    const std::uint32_t row = d / columns, plane = row / rows_a_plane;
    out.at.push_back({kMargin + kCell * (d % columns + 0.5),
                      kTitle + kCell * (row + 0.5) + kCell * 0.6 * plane});
    out.width = std::max(out.width, out.at.back().x + kMargin);
    out.height = std::max(out.height, out.at.back().y + kMargin);
  }
  return out;
}

// Devices around a circle, clockwise from the top; switches, if any, around one inside it.
Layout in_circle(const Topology& t) {
  Layout out;
  const double radius = std::max(100.0, t.devices() * 20 / (2 * std::numbers::pi));
  const auto place = [&](std::uint32_t count, double r) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const double angle = 2 * std::numbers::pi * (i + 0.5) / count;
      out.at.push_back({kMargin + radius + r * std::sin(angle),
                        kTitle + radius - r * std::cos(angle)});
    }
  };
  place(t.devices(), radius);
  place(t.switches(), radius - 40);
  out.width = 2 * (radius + kMargin);
  out.height = kTitle + 2 * radius + kMargin / 2;
  return out;
}

Layout layout_of(const Topology& t, const TopologySketch& sketch) {
  const bool one_row = sketch.rows.size() == 2 && std::ranges::any_of(sketch.links, [](auto& l) {
    return l.first.first == std::pair(0u, 0u);  // links between switches
  });
  if (t.switches() != 0 && !one_row) return in_rows(sketch);
  if (t.switches() != 0) return in_circle(t);
  const auto* torus = dynamic_cast<const Torus*>(&t);
  if (torus == nullptr || torus->dims().size() == 1) return in_circle(t);
  return in_grid(t, torus->dims()[0], torus->dims()[1]);
}

std::string draw_all(const Topology& t, const TopologySketch& sketch) {
  Layout layout = layout_of(t, sketch);
  Svg svg;
  const std::uint32_t vertices = t.devices() + t.switches();
  for (std::uint32_t v = 0; v < vertices; ++v) {
    for (std::uint32_t p = 0; p < t.ports({v}); ++p) {
      const Link link = t.link({v}, p);
      if (link.peer.value < v) continue;
      const Point a = layout.at[v], b = layout.at[link.peer.value];
      // Links within a row or column would run through what is between.
      const bool aligned = std::abs(a.y - b.y) < 1 || std::abs(a.x - b.x) < 1;
      const double distance = std::abs(a.x - b.x) + std::abs(a.y - b.y);
      const bool within_row = sketch.row_of[v] == sketch.row_of[link.peer.value];
      const bool bent = within_row && aligned && distance > 80;
      svg.line(a, b, link.kind, bent ? std::min(0.22, 60 / distance) : 0);
    }
  }
  for (std::uint32_t v = 0; v < vertices; ++v) {
    if (t.is_device({v})) {
      svg.device(layout.at[v]);
    } else {
      svg.box(layout.at[v], 16, 12);
    }
  }
  const double height = label(svg, t, sketch, layout.height);
  return svg.document(std::max(layout.width, 460.0), height);
}

// ---- tiers

std::string draw_tiers(const Topology& t, const TopologySketch& sketch) {
  constexpr double kWidth = 560, kBox = 300, kHeight = 44;
  Svg svg;
  std::vector<Point> at;
  for (std::size_t r = 0; r < sketch.rows.size(); ++r) {
    at.push_back({kMargin + kBox / 2, kTitle + kMargin + kRowHeight * static_cast<double>(r)});
  }
  for (const auto& [between, links] : sketch.links) {
    const auto [a, b] = between.first;
    const bool apart = b > a + 1;  // passes by the rows between
    const double x = apart ? kMargin + kBox - 20 : kMargin + kBox / 2;
    if (a == b) continue;
    svg.line({x, at[a].y}, {x, at[b].y}, between.second, apart ? -0.2 : 0);
    const double y = (at[a].y + at[b].y) / 2 + 4;
    svg.text({x + (apart ? 50 : 10), y}, kind_text(t.link_kinds()[between.second], links), "start",
             colour(between.second));
  }
  for (std::uint32_t r = 0; r < sketch.rows.size(); ++r) {
    const auto& row = sketch.rows[r];
    svg.box(at[r], kBox, kHeight);
    const auto count = static_cast<std::uint32_t>(row.vertices.size());
    svg.text({at[r].x, at[r].y + 4},
             fmt::format("{} {}, {} ports{}", core::format_grouped(count),
                         row.level == 0 ? "devices" : count == 1 ? "switch" : "switches",
                         row.ports_max, row.level == 0 ? "" : " at most"),
             "middle");
    for (const auto& [between, links] : sketch.links) {
      if (between.first != std::pair(r, r)) continue;
      svg.text({at[r].x + kBox / 2 + 10, at[r].y + 4},
               kind_text(t.link_kinds()[between.second], links), "start", colour(between.second));
    }
  }
  svg.text({kMargin, 28}, t.name());
  return svg.document(kWidth + 140, at.back().y + kMargin + 10);
}

}  // namespace

std::string svg_of(const Topology& topology) {
  const TopologySketch sketch = sketch_of(topology);
  const bool small = topology.devices() + topology.switches() <= kDrawnVerticesMax &&
                     topology.counts().links <= kDrawnLinksMax;
  return small ? draw_all(topology, sketch) : draw_tiers(topology, sketch);
}

}  // namespace exawarp::io
