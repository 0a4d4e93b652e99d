// Receiver by receiver: what all others send it goes on hop by hop, all of it at once, so that a
// vertex that many of them pass is asked for its ports once a hop and not once a sender.
#include "model/topology/even_spread.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace exawarp::model {

EvenSpread::EvenSpread(const Topology& topology)
    : topology_(topology),
      links_(topology),
      loads_(links_.count()),
      here_(links_.vertices()),
      next_(links_.vertices()) {}

void EvenSpread::clear() { std::ranges::fill(loads_, 0.0); }

void EvenSpread::add(std::vector<Demand> demands) {
  std::ranges::sort(demands, {},
                    [](const Demand& d) { return std::pair(d.to.value, d.from.value); });
  for (std::size_t i = 0; i < demands.size();) {
    const VertexId end{demands[i].to.value};
    for (; i < demands.size() && demands[i].to.value == end.value; ++i) {
      put({demands[i].from.value}, demands[i].amount);
    }
    send_to(end);
  }
}

void EvenSpread::put(VertexId v, double amount) {
  if (next_[v.value] == 0) next_at_.push_back(v);
  next_[v.value] += amount;
}

void EvenSpread::send_to(VertexId end) {
  Way way = Way::begins;
  while (!next_at_.empty()) {
    std::swap(here_, next_);
    std::swap(at_, next_at_);
    take_turn(end, way);
    way = Way::goes_on;
  }
}

void EvenSpread::take_turn(VertexId end, Way way) {
  for (const VertexId v : at_) {
    const double amount = std::exchange(here_[v.value], 0.0);
    if (v == end) continue;
    const PortChoices ports = topology_.towards(v, end, way);
    const double part = amount / std::max(1u, ports.size());
    for (const PortChoices::Range& range : ports.ranges()) {
      for (std::uint32_t p = range.first; p < range.first + range.count; ++p) {
        loads_[links_.of(v, p)] += part;
        put(topology_.link(v, p).peer, part);
      }
    }
  }
  at_.clear();
}

}  // namespace exawarp::model
