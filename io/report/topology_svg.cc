// Draws links as lines behind the vertices, in the colour of their kind or of their load, and a
// legend below.
#include "io/report/topology_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/units.h"
#include "io/report/topology_layout.h"
#include "io/report/topology_sketch.h"
#include "model/network/faults/link_faults.h"

namespace exawarp::io {
namespace {

using model::Link;
using model::Topology;
using model::VertexId;

constexpr std::array<const char*, 8> kColours{"#4878a8", "#c06030", "#508848", "#8858a0",
                                              "#b04860", "#887030", "#308890", "#707070"};
// From idle on: five equal classes.
constexpr std::array<const char*, 5> kLoadColours{"#c8c8c8", "#f2c14e", "#f08a3c", "#d9422b",
                                                  "#7d0f23"};
constexpr const char* kUncounted = "#9ab0c8";
constexpr double kTierHeight = 110, kLegendLine = 18, kWidthMin = 460;

std::string colour_of_kind(std::uint8_t kind) { return kColours[kind % kColours.size()]; }

std::string colour_of_load(double share) {
  const auto classes = static_cast<double>(kLoadColours.size());
  const double index = std::clamp(std::floor(share * classes), 0.0, classes - 1);
  return kLoadColours[static_cast<std::size_t>(index)];
}

std::string load_text(const PortLoad& load) {
  if (!load.counted) return "no packets";
  return fmt::format("{:.0f} % busy, {:.0f} % at most", 100 * load.mean, 100 * load.peak);
}

std::string kind_text(const model::LinkKind& kind, std::uint64_t links) {
  return fmt::format("{} {}{}: {}B/s, {}", core::format_grouped(links), kind.name,
                     links == 1 ? " link" : " links",
                     core::format_count(static_cast<double>(kind.bandwidth_bytes_per_s)),
                     core::format_time(kind.latency));
}

// Calls `visit(vertex, port, link)` once for each link.
template <class Visit>
void for_each_link(const Topology& t, const Visit& visit) {
  for (std::uint32_t v = 0; v < t.devices() + t.switches(); ++v) {
    for (std::uint32_t p = 0; p < t.ports({v}); ++p) {
      const Link link = t.link({v}, p);
      if (link.peer.value >= v) visit(VertexId{v}, p, link);
    }
  }
}

// Loads' colours; returns where it ends.
double legend_of_loads(Svg& svg, double y) {
  svg.text({kPictureMargin, y + kLegendLine}, "share of the time that the busier direction sends");
  y += kLegendLine + 8;
  constexpr double kClass = 74;
  for (std::size_t c = 0; c < kLoadColours.size(); ++c) {
    const double x = kPictureMargin + kClass * static_cast<double>(c);
    svg.bar({x, y}, kClass - 2, 10, kLoadColours[c], "");
    svg.text({x, y + 24}, fmt::format("{} to {} %", 20 * c, 20 * (c + 1)));
  }
  const double x = kPictureMargin + kClass * static_cast<double>(kLoadColours.size());
  svg.bar({x, y}, kClass - 2, 10, kUncounted, "");
  svg.text({x, y + 24}, "no packets");
  return y + 30;
}

// Title above, legend below; returns the picture's whole height.
double label(Svg& svg, const Topology& t, const TopologySketch& sketch, const LinkLoads* loads,
             double drawn_to) {
  svg.text({kPictureMargin, 28}, t.name());
  double y = loads == nullptr ? drawn_to : legend_of_loads(svg, drawn_to);
  std::vector<std::uint64_t> links(t.link_kinds().size());
  for (const auto& [between, count] : sketch.links) links[between.second] += count;
  for (std::size_t k = 0; k < links.size(); ++k) {
    if (links[k] == 0) continue;
    y += kLegendLine;
    const double indent = loads == nullptr ? 32 : 0;
    if (loads == nullptr) {
      svg.line({kPictureMargin, y - 4}, {kPictureMargin + 24, y - 4},
               {.colour = colour_of_kind(static_cast<std::uint8_t>(k))});
    }
    svg.text({kPictureMargin + indent, y}, kind_text(t.link_kinds()[k], links[k]));
  }
  return y + kPictureMargin / 2;
}

// ---- every vertex

// A link that comes round from the other side of a grid: an end on each side.
void draw_wrap(Svg& svg, Point a, Point b, const Svg::Stroke& stroke) {
  constexpr double kEnd = 22;
  const double length = std::hypot(a.x - b.x, a.y - b.y);
  const Point step{(a.x - b.x) / length * kEnd, (a.y - b.y) / length * kEnd};
  Svg::Stroke end = stroke;
  end.dashed = true;
  svg.line(a, {a.x + step.x, a.y + step.y}, end);
  svg.line(b, {b.x - step.x, b.y - step.y}, end);
}

// Whether a link of a grid goes on from its other side.
bool wraps(const std::vector<std::uint32_t>& dims, VertexId a, VertexId b) {
  std::uint32_t stride = 1;
  for (const std::uint32_t size : dims) {
    const std::uint32_t from = a.value / stride % size, to = b.value / stride % size;
    if (std::max(from, to) - std::min(from, to) > 1) return true;
    stride *= size;
  }
  return false;
}

void draw_links(Svg& svg, const Topology& t, const TopologySketch& sketch,
                const TopologyLayout& layout, const LinkLoads* loads) {
  for_each_link(t, [&](VertexId v, std::uint32_t p, const Link& link) {
    const Point a = layout.at[v.value], b = layout.at[link.peer.value];
    Svg::Stroke stroke{.colour = colour_of_kind(link.kind)};
    stroke.title = fmt::format("{} to {}, {}", vertex_name(t, v), vertex_name(t, link.peer),
                               t.link_kinds()[link.kind].name);
    if (loads != nullptr) {
      const PortLoad load = loads->of_link(t, v, p);
      stroke.colour = load.counted ? colour_of_load(load.mean) : kUncounted;
      stroke.width = load.mean == 0 ? 1 : 2;
      stroke.title += ": " + load_text(load);
    }
    if (wraps(layout.dims, v, link.peer)) return draw_wrap(svg, a, b, stroke);
    // Links within a row or column would run through what is between.
    const bool aligned = std::abs(a.y - b.y) < 1 || std::abs(a.x - b.x) < 1;
    const double distance = std::abs(a.x - b.x) + std::abs(a.y - b.y);
    const bool within_row = sketch.row_of[v.value] == sketch.row_of[link.peer.value];
    const bool bent = layout.dims.empty() && within_row && aligned && distance > 80;
    if (bent) stroke.bend = std::min(0.22, 60 / distance);
    svg.line(a, b, stroke);
  });
}

std::string draw_all(const Topology& t, const TopologySketch& sketch, const LinkLoads* loads) {
  const TopologyLayout layout = layout_of(t, sketch);
  Svg svg;
  draw_links(svg, t, sketch, layout, loads);
  for (std::uint32_t v = 0; v < t.devices() + t.switches(); ++v) {
    const std::string name = vertex_name(t, {v});
    if (t.is_device({v})) {
      svg.circle(layout.at[v], layout.radius, name, name);
    } else {
      svg.box(layout.at[v], 22, 14, name, name);
    }
  }
  for (const auto& note : layout.notes) svg.text(note.at, note.text);
  const double height = label(svg, t, sketch, loads, layout.height);
  return svg.document(std::max(layout.width, kWidthMin), height);
}

// ---- tiers

// Of the links between two rows, of one kind.
struct TierLoad {
  double sum = 0;
  std::uint64_t links = 0, counted = 0;
  PortLoad busiest{};
  std::string busiest_link{};
};

using TierKey = std::pair<std::pair<std::uint32_t, std::uint32_t>, std::uint8_t>;

std::map<TierKey, TierLoad> loads_of_tiers(const Topology& t, const TopologySketch& sketch,
                                           const LinkLoads& loads) {
  std::map<TierKey, TierLoad> out;
  for_each_link(t, [&](VertexId v, std::uint32_t p, const Link& link) {
    const auto rows = std::minmax(sketch.row_of[v.value], sketch.row_of[link.peer.value]);
    TierLoad& tier = out[{{rows.first, rows.second}, link.kind}];
    const PortLoad load = loads.of_link(t, v, p);
    tier.sum += load.mean;
    ++tier.links;
    tier.counted += load.counted ? 1 : 0;
    const bool more = load.counted && (!tier.busiest.counted || load.mean > tier.busiest.mean);
    if (!tier.busiest_link.empty() && !more) return;
    tier.busiest = load;
    tier.busiest_link = vertex_name(t, v) + " to " + vertex_name(t, link.peer);
  });
  return out;
}

// The mean is over all links, of which those without packets are idle.
std::string tier_text(const TierLoad& load) {
  if (load.counted == 0) return "no packets";
  return fmt::format(
      "{:.0f} % busy; {}: {}{}", 100 * load.sum / static_cast<double>(load.links),
      load.busiest_link, load_text(load.busiest),
      load.counted == load.links
          ? ""
          : fmt::format("; {} without packets", core::format_grouped(load.links - load.counted)));
}

std::string draw_tiers(const Topology& t, const TopologySketch& sketch, const LinkLoads* loads) {
  constexpr double kWidth = 760, kBox = 300, kHeight = 44;
  Svg svg;
  std::vector<Point> at;
  for (std::size_t r = 0; r < sketch.rows.size(); ++r) {
    at.push_back({kPictureMargin + kBox / 2,
                  kPictureTitle + kPictureMargin + kTierHeight * static_cast<double>(r)});
  }
  std::map<TierKey, TierLoad> tiers;
  if (loads != nullptr) tiers = loads_of_tiers(t, sketch, *loads);
  for (const auto& [between, links] : sketch.links) {
    const auto [a, b] = between.first;
    const bool apart = b > a + 1;  // passes by the rows between
    const auto load = tiers.find(between);
    const std::string colour =
        load == tiers.end() ? colour_of_kind(between.second)
        : load->second.counted == 0
            ? std::string(kUncounted)
            : colour_of_load(load->second.sum / static_cast<double>(load->second.links));
    const double x = apart ? kPictureMargin + kBox - 20 : kPictureMargin + kBox / 2;
    const Point says =
        a == b ? Point{at[a].x + kBox / 2 + 10, at[a].y + 4}
               : Point{x + (apart ? 50 : 10), (at[a].y + at[b].y) / 2 + 4};
    if (a != b) {
      svg.line({x, at[a].y}, {x, at[b].y},
               {.colour = colour, .bend = apart ? -0.2 : 0, .width = loads == nullptr ? 1.0 : 3.0});
    }
    svg.text(says, kind_text(t.link_kinds()[between.second], links), "start",
             loads == nullptr ? colour : "#222222");
    if (load != tiers.end()) svg.text({says.x, says.y + 16}, tier_text(load->second));
  }
  for (std::uint32_t r = 0; r < sketch.rows.size(); ++r) {
    const auto& row = sketch.rows[r];
    svg.box(at[r], kBox, kHeight, "", "");
    const auto count = static_cast<std::uint32_t>(row.vertices.size());
    const char* const what = row.level == 0 ? "devices" : count == 1 ? "switch" : "switches";
    svg.text({at[r].x, at[r].y + 4},
             fmt::format("{}{} {}, {} ports{}", row.level == 0 ? "" : name_of_row(row) + ": ",
                         core::format_grouped(count), what, row.ports_max,
                         row.level == 0 ? "" : " at most"),
             "middle");
  }
  svg.text({kPictureMargin, 28}, t.name());
  double height = at.back().y + kPictureMargin + 10;
  if (loads != nullptr) height = legend_of_loads(svg, height) + kPictureMargin / 2;
  return svg.document(kWidth, height);
}

}  // namespace

std::string svg_of(const Topology& topology, const LinkLoads* loads) {
  const TopologySketch sketch = sketch_of(topology);
  const bool small = topology.devices() + topology.switches() <= kDrawnVerticesMax &&
                     topology.counts().links <= kDrawnLinksMax;
  return small ? draw_all(topology, sketch, loads) : draw_tiers(topology, sketch, loads);
}

}  // namespace exawarp::io
