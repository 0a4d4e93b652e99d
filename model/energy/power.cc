#include "model/energy/power.h"

#include <algorithm>

#include "model/compute/roofline.h"

namespace exawarp::model {

double node_power_w(const Accelerator& accelerator, schema::Node::Reader node,
                    core::Time duration) {
  const PowerSpec& power = accelerator.power;
  const double seconds = core::to_seconds(duration);
  if (seconds <= 0) return power.idle_w();
  const double bytes =
      static_cast<double>(node.getBytesRead()) + static_cast<double>(node.getBytesWritten());
  const auto flops = static_cast<double>(node.getFlops());
  double share = power.memory_share;
  if (flops > 0 || bytes > 0) {
    const double peak =
        peak_flops_per_s(accelerator, node.getOperation(), node.getDataType());
    const double of_compute = peak > 0 ? flops / seconds / peak : 0;
    const double of_memory = bytes / seconds / accelerator.memory_bytes_per_s;
    share = of_compute / power.compute_saturation + power.memory_share * of_memory;
  }
  return power.idle_w() + (power.limit_w() - power.idle_w()) * std::clamp(share, 0.0, 1.0);
}

}  // namespace exawarp::model
