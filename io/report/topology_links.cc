#include "io/report/topology_links.h"

#include <fmt/format.h>

#include <ostream>
#include <utility>

#include "io/study/suggest.h"
#include "model/network/faults/link_faults.h"

namespace exawarp::io {

void print_links(const model::Topology& t, std::ostream& out) {
  const std::uint32_t vertices = t.devices() + t.switches();
  for (std::uint32_t v = 0; v < vertices; ++v) {
    for (std::uint32_t p = 0; p < t.ports({v}); ++p) {
      const model::Link link = t.link({v}, p);
      if (std::pair(link.peer.value, link.peer_port) < std::pair(v, p)) continue;
      out << fmt::format("{}:{} {}:{} {}\n", model::vertex_name(t, {v}), p,
                         model::vertex_name(t, link.peer), link.peer_port,
                         one_line(t.link_kinds()[link.kind].name));
    }
  }
  out << std::flush;
}

}  // namespace exawarp::io
