// How far a run is that has not ended, for progress output.
//
//   WorkDone done(cluster);
//   engine.visit([&](LpId lp, const void* state) { done.add(lp, state); });
//   done.share(...);
//
// At packet fidelity committed events tell little: a train is one event for any number of packets,
// and how long trains are depends on where flows meet. So what packets are still to do is taken to
// need as many events as what they have done.
#pragma once

#include <cstdint>

#include "core/ids.h"
#include "model/cluster.h"
#include "model/network/packet/packet_totals.h"

namespace exawarp::model {

class WorkDone {
 public:
  explicit WorkDone(const Cluster& cluster) : cluster_(&cluster) {}

  // Requires packet fidelity, and that no device serves, as what those will do is not known.
  void add(core::LpId lp, const void* state);
  // The share of the work that is behind, 0 to 1. `events`: executed so far; `expected`: that there
  // would be in all if each packet were one at each link (Cluster::traffic). Of those LPs that were
  // added.
  [[nodiscard]] double share(double events, double expected) const;

 private:
  const Cluster* cluster_;
  double done_ = 0, all_ = 0;  // events of programs
  PacketTotals packets_;
};

}  // namespace exawarp::model
