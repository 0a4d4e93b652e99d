// What a rank was busy with: the figures that ASTRA-sim prints when a rank finishes.
#pragma once

#include "model/guests/astra/config.h"

namespace exawarp::model::astra {

// The time in which at least one of some nodes ran.
class BusyTime {
 public:
  void begin(Ns now) {
    if (running_++ == 0) since_ = now;
    any_ = true;
  }
  void end(Ns now) {
    if (--running_ == 0) total_ns_ += now - since_;
  }
  [[nodiscard]] bool any() const { return any_; }  // nodes at all
  [[nodiscard]] Ns total_ns() const { return total_ns_; }

 private:
  Ns total_ns_ = 0, since_ = 0;
  std::uint32_t running_ = 0;
  bool any_ = false;
};

// Sums over the computations of a rank under the roofline, weighted by their times.
struct RooflineSums {
  Ns compute_ns = 1;  // so that nothing is divided by 0, as in ASTRA-sim; the host's included
  Ns compute_bound_ns = 0;
  double compute_utilization = 0, memory_utilization = 0, intensity = 0;
};

struct Usage {
  BusyTime host, accelerator, communication, memory;
  BusyTime accelerator_or_communication;
  RooflineSums roofline;
  // Time in which the accelerator computed and communication was under way.
  [[nodiscard]] Ns overlap_ns() const {
    return accelerator.total_ns() + communication.total_ns() -
           accelerator_or_communication.total_ns();
  }
  void begin(const TraceNode& node, Ns now);
  void end(const TraceNode& node, Ns now);
};

}  // namespace exawarp::model::astra
