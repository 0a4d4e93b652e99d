#include "model/guests/triosim/network.h"

#include <algorithm>
#include <utility>

namespace exawarp::model::triosim {

void Agenda::run() {
  while (!entries_.empty()) {
    now_s_ = entries_.top().time_s;
    const Action action = entries_.top().action;
    entries_.pop();
    action();
  }
}

void Network::send(Link link, double bytes_per_s, std::uint64_t bytes, Agenda::Action arrived) {
  Road& road = roads_[link];
  road.bytes_per_s = bytes_per_s;
  road.flows[++last_] = {std::move(arrived), static_cast<double>(bytes), 0, agenda_.now_s(), 0};
  share(link);
}

// An end that was planned before no longer counts: finish() knows it by its time.
void Network::share(Link link) {
  Road& road = roads_[link];
  for (auto& [number, flow] : road.flows) {
    const double now_s = agenda_.now_s();
    flow.left_bytes = std::max(0.0, flow.left_bytes - (now_s - flow.since_s) * flow.rate);
    flow.rate = road.bytes_per_s / static_cast<double>(road.flows.size());
    flow.since_s = now_s;
    flow.end_s = now_s + flow.left_bytes / flow.rate;
    agenda_.at(flow.end_s,
               [this, link, n = number, end_s = flow.end_s] { finish(link, n, end_s); });
  }
}

void Network::finish(Link link, std::uint64_t number, double end_s) {
  Road& road = roads_[link];
  const auto found = road.flows.find(number);
  if (found == road.flows.end() || found->second.end_s != end_s) return;
  const Agenda::Action arrived = std::move(found->second.arrived);
  road.flows.erase(found);
  arrived();
  share(link);
}

}  // namespace exawarp::model::triosim
