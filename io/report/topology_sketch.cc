#include "io/report/topology_sketch.h"

#include <algorithm>
#include <set>

namespace exawarp::io {
namespace {

using model::Link;
using model::Topology;
using model::VertexId;

constexpr std::uint32_t kFar = ~0u;

// Links to the nearest device.
std::vector<std::uint32_t> heights(const Topology& t) {
  std::vector<std::uint32_t> height(t.devices() + t.switches(), kFar);
  std::vector<std::uint32_t> queue;
  for (std::uint32_t d = 0; d < t.devices(); ++d) {
    height[d] = 0;
    queue.push_back(d);
  }
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const VertexId at{queue[next]};
    for (std::uint32_t p = 0; p < t.ports(at); ++p) {
      const std::uint32_t peer = t.link(at, p).peer.value;
      if (height[peer] != kFar) continue;
      height[peer] = height[at.value] + 1;
      queue.push_back(peer);
    }
  }
  return height;
}

}  // namespace

TopologySketch sketch_of(const Topology& t) {
  const std::vector<std::uint32_t> height = heights(t);
  const auto vertices = static_cast<std::uint32_t>(height.size());
  using Key = std::pair<std::uint32_t, std::set<std::uint8_t>>;  // height, kinds of links
  std::map<Key, TopologySketch::Row> found;
  bool some_lead_on = false;
  for (std::uint32_t v = 0; v < vertices; ++v) {
    Key key{height[v], {}};
    bool leads_on = false;
    for (std::uint32_t p = 0; v >= t.devices() && p < t.ports({v}); ++p) {
      const Link link = t.link({v}, p);
      key.second.insert(link.kind);
      leads_on = leads_on || !t.is_device(link.peer);
    }
    some_lead_on = some_lead_on || leads_on;
    TopologySketch::Row& row = found[key];
    row.level = v < t.devices() ? 0 : leads_on ? static_cast<int>(height[v]) : -1;
    row.vertices.push_back(v);
    row.ports_max = std::max(row.ports_max, t.ports({v}));
  }
  TopologySketch out;
  for (auto& [key, row] : found) {
    if (row.level < 0 && (!some_lead_on || key.first == kFar)) row.level = 1;
    out.rows.push_back(row);
  }
  std::ranges::stable_sort(out.rows, std::greater{}, &TopologySketch::Row::level);
  out.row_of.resize(vertices);
  for (std::uint32_t r = 0; r < out.rows.size(); ++r) {
    for (const std::uint32_t v : out.rows[r].vertices) out.row_of[v] = r;
  }
  for (std::uint32_t v = 0; v < vertices; ++v) {
    for (std::uint32_t p = 0; p < t.ports({v}); ++p) {
      const Link link = t.link({v}, p);
      if (link.peer.value < v) continue;
      ++out.links[{std::minmax(out.row_of[v], out.row_of[link.peer.value]), link.kind}];
    }
  }
  return out;
}

}  // namespace exawarp::io
