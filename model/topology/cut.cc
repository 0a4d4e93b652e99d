#include "model/topology/cut.h"

#include <algorithm>
#include <deque>
#include <limits>

#include "model/topology/link_numbers.h"

namespace exawarp::model {
namespace {

// Residual capacities of the ports, and searches through them from one set of devices.
class Flow {
 public:
  Flow(const Topology& topology, const std::function<bool(core::DeviceId)>& is_source)
      : topology_(topology), links_(topology) {
    left_.reserve(links_.count());
    for (std::uint32_t v = 0; v < links_.vertices(); ++v) {
      for (std::uint32_t p = 0; p < topology.ports({v}); ++p) {
        left_.push_back(topology.link_kinds()[topology.link({v}, p).kind].bandwidth_bytes_per_s);
      }
    }
    for (std::uint32_t d = 0; d < topology.devices(); ++d) {
      source_.push_back(is_source({d}));
    }
  }

  // Sends what one more shortest path can take; 0: there is none.
  WideRate augment() {
    std::vector<Link> from(links_.vertices());
    std::vector<bool> seen(links_.vertices(), false);
    std::deque<VertexId> queue;
    for (std::uint32_t d = 0; d < source_.size(); ++d) {
      if (!source_[d]) continue;
      seen[d] = true;
      queue.push_back({d});
    }
    for (; !queue.empty(); queue.pop_front()) {
      const VertexId at = queue.front();
      if (is_sink(at)) return send_along(from, at);
      for (std::uint32_t p = 0; p < topology_.ports(at); ++p) {
        const VertexId peer = topology_.link(at, p).peer;
        if (seen[peer.value] || left(at, p) == 0) continue;
        seen[peer.value] = true;
        from[peer.value] = {at, p, 0};
        queue.push_back(peer);
      }
    }
    return 0;
  }

 private:
  [[nodiscard]] bool is_device(VertexId v) const { return topology_.is_device(v); }
  [[nodiscard]] bool is_sink(VertexId v) const { return is_device(v) && !source_[v.value]; }
  [[nodiscard]] bool is_source(VertexId v) const { return is_device(v) && source_[v.value]; }
  WideRate& left(VertexId v, std::uint32_t port) { return left_[links_.of(v, port)]; }

  WideRate send_along(const std::vector<Link>& from, VertexId sink) {
    WideRate amount = std::numeric_limits<std::int64_t>::max();
    for (VertexId at = sink; !is_source(at); at = from[at.value].peer) {
      amount = std::min(amount, left(from[at.value].peer, from[at.value].peer_port));
    }
    for (VertexId at = sink; !is_source(at); at = from[at.value].peer) {
      const Link& back = from[at.value];
      const Link link = topology_.link(back.peer, back.peer_port);
      left(back.peer, back.peer_port) -= amount;
      left(at, link.peer_port) += amount;
    }
    return amount;
  }

  const Topology& topology_;
  LinkNumbers links_;
  std::vector<WideRate> left_;
  std::vector<bool> source_;
};

}  // namespace

WideRate least_cut(const Topology& topology,
                   const std::function<bool(core::DeviceId)>& in_first_half) {
  Flow flow(topology, in_first_half);
  WideRate total = 0;
  while (const WideRate more = flow.augment()) total += more;
  return total;
}

}  // namespace exawarp::model
