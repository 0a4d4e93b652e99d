#include "model/compute/accelerator.h"

namespace exawarp::model {

double Accelerator::sustained_slowdown() const {
  if (sustained.empty()) return 1;
  SustainedSlowdown below = sustained.front();
  for (const SustainedSlowdown& above : sustained) {
    if (above.idle_share >= idle_share) {
      const double width = above.idle_share - below.idle_share;
      if (width <= 0 || above.idle_share == idle_share) return above.slowdown;
      const double part = (idle_share - below.idle_share) / width;
      return below.slowdown + part * (above.slowdown - below.slowdown);
    }
    below = above;
  }
  return below.slowdown;
}

}  // namespace exawarp::model
