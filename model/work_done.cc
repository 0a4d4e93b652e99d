#include "model/work_done.h"

#include <algorithm>

#include "model/device/device_layout.h"
#include "model/device/device_model.h"
#include "model/device/device_state.h"

namespace exawarp::model {
namespace {

// Of a device's program, by the tasks that are over.
double events_done(const DeviceParts<const DeviceState>& parts, const ProgramTable& table) {
  if (table.tasks.empty()) return 0;
  double tasks = 0;
  for (std::uint32_t s = 0; s < table.streams(); ++s) tasks += parts.streams[s].cursor;
  return static_cast<double>(table.events) * tasks / static_cast<double>(table.tasks.size());
}

}  // namespace

void WorkDone::add(core::LpId lp, const void* memory) {
  if (lp.value >= cluster_->device_lps()) {
    if (cluster_->packet_network().is_watch(lp)) return;
    packets_.add(*static_cast<const PacketSwitchState*>(memory));
    return;
  }
  const auto& state = *static_cast<const DeviceState*>(memory);
  const DeviceParts<const DeviceState> parts(state);
  if (parts.endpoint != nullptr) packets_.add(*parts.endpoint);
  const ProgramTable& table = cluster_->devices().programs[state.program];
  done_ += events_done(parts, table);
  all_ += static_cast<double>(table.events);
}

double WorkDone::share(double events, double expected) const {
  if (events <= 0) return 0;
  const double links = std::max(0.0, expected - all_);
  const double passed =
      std::min(links, static_cast<double>(packets_.packet_hops + packets_.packets_sent));
  // A collective in progress has sent more than its task says.
  const double done = std::max(done_, links > 0 ? all_ * passed / links : 0);
  const double events_each = passed > 0 ? std::max(0.0, events - done) / passed : 0;
  return events / (events + (all_ - done) + events_each * (links - passed));
}

}  // namespace exawarp::model
