#include "model/timeline/timeline_devices.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/error.h"

namespace exawarp::model {
namespace {

constexpr std::uint32_t kDevicesWithoutStages = 8;

// As ranks of the job.
std::vector<core::DeviceId> first_pipeline_of(const WorkloadGraph& graph) {
  std::vector<core::DeviceId> ranks;
  for (std::uint32_t axis = 0; axis < graph.axis_count(); ++axis) {
    if (graph.axis_size(axis) == 1 || class_of_axis(graph, axis) != TimeClass::pipeline) continue;
    for (std::uint32_t stage = 0; stage < graph.axis_size(axis); ++stage) {
      ranks.push_back({stage * graph.axis_stride(axis)});
    }
    return ranks;
  }
  const std::uint32_t count = std::min(graph.device_count(), kDevicesWithoutStages);
  for (std::uint32_t rank = 0; rank < count; ++rank) ranks.push_back({rank});
  return ranks;
}

}  // namespace

std::vector<std::uint8_t> timeline_lps(const DeviceModel& model,
                                       std::span<const std::uint32_t> asked) {
  const std::uint32_t devices = model.allocation->devices();
  const Fold* const fold = model.fold.get();
  std::vector<std::uint8_t> lps(fold != nullptr ? fold->size() : devices);
  const auto add = [&](core::DeviceId device) {
    // A folded job is alone, and its ranks are all of the devices.
    if (fold == nullptr) {
      lps[device.value] = 1;
    } else if (const auto seat = model.allocation->seat_of(device)) {
      lps[fold->ranks().device_of({seat->rank}).value] = 1;
    }
  };
  for (const std::uint32_t device : asked) {
    if (device >= devices) {
      throw core::InputError(
          fmt::format("timeline: no such device: {}; expected 0 to {}", device, devices - 1));
    }
    add({device});
  }
  if (!asked.empty()) return lps;
  const PlacedJob& job = model.jobs.front();
  for (const core::DeviceId rank : first_pipeline_of(*job.graph)) add(job.device_of(rank));
  return lps;
}

}  // namespace exawarp::model
