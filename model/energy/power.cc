#include "model/energy/power.h"

#include <algorithm>

#include "model/compute/roofline.h"

namespace exawarp::model {

double modelled_power_w(const Accelerator& accelerator, const ComputeOperation& operation,
                        core::Time duration) {
  const PowerSpec& power = accelerator.power;
  const double seconds = core::to_seconds(duration);
  if (seconds <= 0) return power.idle_w();
  const auto bytes = static_cast<double>(operation.bytes);
  const auto flops = static_cast<double>(operation.flops);
  double share = power.memory_share;
  if (flops > 0 || bytes > 0) {
    const double peak =
        peak_flops_per_s(accelerator, operation.operation, operation.data_type);
    const double of_compute = peak > 0 ? flops / seconds / peak : 0;
    const double of_memory = bytes / seconds / accelerator.memory_bytes_per_s;
    share = of_compute / power.compute_saturation + power.memory_share * of_memory;
  }
  return power.idle_w() + (power.limit_w() - power.idle_w()) * std::clamp(share, 0.0, 1.0);
}

double above_idle_w(const Accelerator& accelerator, const ComputeOperation& operation,
                    const Priced& priced, core::Time duration) {
  const double idle = accelerator.power.idle_w();
  if (priced.watts == 0) return modelled_power_w(accelerator, operation, duration) - idle;
  if (priced.duration.ps == 0) return 0;
  const double launch = core::to_seconds(accelerator.launch_latency);
  const double runs = 1 - std::min(1.0, launch / core::to_seconds(priced.duration));
  return (priced.watts - idle) * runs;
}

}  // namespace exawarp::model
