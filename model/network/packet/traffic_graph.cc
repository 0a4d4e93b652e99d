#include "model/network/packet/traffic_graph.h"

#include <algorithm>
#include <utility>

#include "model/network/packet/routing.h"

namespace exawarp::model {
namespace {

constexpr std::size_t kMergeEvery = 1u << 16;  // bounds memory by the merged edges

}  // namespace

void TrafficBuilder::add_edge(std::uint32_t a, std::uint32_t b, std::uint64_t weight) {
  if (a == b || weight == 0) return;
  edges_.push_back({a, b, weight});
  edges_.push_back({b, a, weight});
  if (edges_.size() > 2 * merged_ + kMergeEvery) merge();
}

Traffic TrafficBuilder::build() {
  merge();
  traffic_.first_edge.assign(traffic_.work.size() + 1, 0);
  for (const Edge& e : edges_) {
    ++traffic_.first_edge[e.from + 1];
    traffic_.neighbour.push_back(e.to);
    traffic_.weight.push_back(e.weight);
  }
  for (std::size_t a = 0; a < traffic_.work.size(); ++a) {
    traffic_.first_edge[a + 1] += traffic_.first_edge[a];
  }
  return std::move(traffic_);
}

void TrafficBuilder::merge() {
  std::sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) {
    return std::pair(a.from, a.to) < std::pair(b.from, b.to);
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    if (kept != 0 && edges_[kept - 1].from == edges_[i].from &&
        edges_[kept - 1].to == edges_[i].to) {
      edges_[kept - 1].weight += edges_[i].weight;
    } else {
      edges_[kept++] = edges_[i];
    }
  }
  edges_.resize(kept);
  merged_ = kept;
}

void PacketPaths::add(core::DeviceId from, core::DeviceId to, std::uint64_t messages,
                      std::uint64_t bytes) {
  const Topology& topology = network_.topology();
  if (messages == 0) return;
  const auto whole = static_cast<std::uint64_t>(network_.options().packet_bytes);
  // Of messages of one size. Rounded, as bytes are estimated: a little more is no packet more.
  const std::uint64_t each = (bytes / messages + whole / 2) / whole;
  const std::uint64_t packets = messages * std::max<std::uint64_t>(1, each);
  const VertexId end{to.value};
  for (VertexId at{from.value}; at != end;) {
    const Way way = at.value == from.value ? Way::begins : Way::goes_on;
    const PortChoices choices = topology.towards(at, end, way);
    if (choices.empty()) return;
    const Link link = topology.link(at, destination_port(choices, topology.spread(at, end)));
    builder_.add_work(atom_of(link.peer), packets);
    builder_.add_edge(atom_of(at), atom_of(link.peer), packets);
    at = link.peer;
  }
}

}  // namespace exawarp::model
