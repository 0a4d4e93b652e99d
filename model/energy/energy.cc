#include "model/energy/energy.h"

#include <memory>

#include "model/device/device_model.h"

namespace exawarp::model {
namespace {

double communicating_s(const ClassTotals& totals) {
  DeviceTime sum = 0;
  for (std::size_t i = 1; i <= kCommunicationKindCount; ++i) sum += totals.time_ps[i];
  return static_cast<double>(sum) / core::kPicosecondsPerSecond;
}

}  // namespace

std::optional<Energy> energy_of(const Cluster& cluster, const Outcome& outcome,
                                const SystemPower& system) {
  const Accelerator& accelerator = cluster.accelerator();
  const double seconds = core::to_seconds(outcome.simulated_time());
  if (!accelerator.power.known() || seconds <= 0) return std::nullopt;
  const PowerSpec& power = accelerator.power;
  Energy energy{.seconds = seconds,
                .devices = static_cast<double>(cluster.device_count()),
                .system = system};
  const auto classes = outcome.classes();
  const auto& tables = cluster.devices().programs;
  for (const PlacedJob& job : cluster.jobs()) {
    for (std::uint32_t p = 0; p < job.graph->program_count(); ++p) {
      const ClassTotals& totals = classes[job.first_program + p];
      if (totals.devices == 0) continue;
      for (std::size_t i = 0; i < kProvenanceCount; ++i) {
        const double joules = static_cast<double>(totals.devices) *
                              tables[job.first_program + p].above_idle_j[i];
        energy.computing_by_provenance_j[i] += joules;
        energy.computing_j += joules;
      }
      energy.communicating_j +=
          (power.communicating_w() - power.idle_w()) * communicating_s(totals);
    }
  }
  energy.idle_j = power.idle_w() * energy.devices * seconds;
  const Fabric& fabric = cluster.fabric();
  energy.node_count = energy.devices / fabric.devices_per_node();
  energy.nodes_j = static_cast<double>(system.node_mw) / 1e3 * energy.node_count * seconds;
  if (system.switch_mw > 0) {
    const std::uint32_t switches = make_topology(fabric, cluster.device_count())->switches();
    energy.switches_j = static_cast<double>(system.switch_mw) / 1e3 * switches * seconds;
  }
  return energy;
}

}  // namespace exawarp::model
