#include "io/report/topology_dot.h"

#include <fmt/format.h>

#include "core/error.h"
#include "model/network/faults/link_faults.h"

namespace exawarp::io {
namespace {

using model::vertex_name;

}  // namespace

std::string dot_of(const model::Topology& t, const std::string& place) {
  const std::uint64_t links = t.counts().links;
  if (links > kDotLinksMax) {
    throw core::InputError(place, fmt::format("{} links; expected at most {} in a .dot file (an "
                                              ".svg file draws the tiers of any network)",
                                              links, kDotLinksMax));
  }
  std::string out = fmt::format("graph \"{}\" {{\n  node [shape=box];\n", t.name());
  for (std::uint32_t d = 0; d < t.devices(); ++d) out += fmt::format("  d{} [shape=circle];\n", d);
  const std::uint32_t vertices = t.devices() + t.switches();
  for (std::uint32_t v = 0; v < vertices; ++v) {
    for (std::uint32_t p = 0; p < t.ports({v}); ++p) {
      const model::Link link = t.link({v}, p);
      if (link.peer.value < v) continue;
      out += fmt::format("  {} -- {} [label=\"{}\"];\n", vertex_name(t, {v}),
                         vertex_name(t, link.peer), t.link_kinds()[link.kind].name);
    }
  }
  return out + "}\n";
}

}  // namespace exawarp::io
