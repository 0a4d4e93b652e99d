// What devices send each other as loads of a topology's links, where each vertex hands it on in
// equal parts by all ports on minimal paths. So what a link has is a matter of who talks to whom
// and of the wiring, and no accident of hashes.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ids.h"
#include "model/topology/link_numbers.h"
#include "model/topology/topology.h"

namespace exawarp::model {

struct Demand {
  core::DeviceId from, to;  // differ
  double amount = 0;        // > 0, in any unit
};

class EvenSpread {
 public:
  // `topology` outlives it. Memory: 8 bytes a link and 24 a vertex.
  explicit EvenSpread(const Topology& topology);

  // Adds to the loads. Cost: for each receiver, the links of all ways to it from those that send
  // to it. What has no way is left out.
  void add(std::vector<Demand> demands);
  void clear();

  struct PortLoad {
    VertexId at;
    std::uint32_t port = 0;
    double load = 0;  // in what `cost` makes of an amount
  };
  // The link with most, of loads times cost(kind of link); of those that differ by no more than
  // sums of parts do by rounding, the first. All zeros: none.
  template <class Cost>
  [[nodiscard]] PortLoad most(const Cost& cost) const;

 private:
  static constexpr double kRounding = 1e-9;

  void send_to(VertexId end);
  void take_turn(VertexId end, Way way);
  void put(VertexId v, double amount);

  const Topology& topology_;
  LinkNumbers links_;
  std::vector<double> loads_;  // by link
  // Of one receiver: what is at each vertex now, and where there is any.
  std::vector<double> here_, next_;
  std::vector<VertexId> at_, next_at_;
};

template <class Cost>
EvenSpread::PortLoad EvenSpread::most(const Cost& cost) const {
  PortLoad most;
  for (std::uint32_t v = 0; v < links_.vertices(); ++v) {
    for (std::uint32_t port = 0; port < topology_.ports({v}); ++port) {
      const double asked = loads_[links_.of({v}, port)];
      if (asked <= 0) continue;
      const double load = asked * cost(topology_.link({v}, port).kind);
      if (load > most.load * (1 + kRounding)) most = {{v}, port, load};
    }
  }
  return most;
}

}  // namespace exawarp::model
