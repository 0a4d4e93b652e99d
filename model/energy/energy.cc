#include "model/energy/energy.h"

#include <memory>

#include "model/device/device_model.h"
#include "model/device/served_program.h"

namespace exawarp::model {
namespace {

double communicating_s(const ClassTotals& totals) {
  DeviceTime sum = 0;
  for (std::size_t i = 1; i <= kCommunicationKindCount; ++i) sum += totals.time_ps[i];
  return static_cast<double>(sum) / core::kPicosecondsPerSecond;
}

// Above idle, of devices that serve. Of their iterations only the time is known, so they count as
// operations of no known work, which wait for memory.
double iterations_j(const Accelerator& accelerator, const ClassTotals& totals) {
  constexpr core::Time kAny{1'000'000};
  const double watts =
      modelled_power_w(accelerator, ComputeOperation{}, kAny) - accelerator.power.idle_w();
  return watts * static_cast<double>(totals.time_ps[index_of(TimeClass::compute)]) /
         core::kPicosecondsPerSecond;
}

}  // namespace

ConstantPower constant_power_of(const Cluster& cluster, const SystemPower& system) {
  const auto watts = [](std::int64_t mw, double count) {
    return static_cast<double>(mw) / 1e3 * count;
  };
  const Fabric& fabric = cluster.fabric();
  const double devices = cluster.device_count();
  ConstantPower out{.idle_w = watts(cluster.accelerator().power.idle_mw, devices),
                    .nodes_w = watts(system.node_mw, devices / fabric.devices_per_node())};
  if (system.switch_mw == 0 && system.link_mw == 0) return out;
  const auto topology = make_topology(fabric, cluster.device_count());
  const TopologyCounts counts = topology->counts();
  std::uint64_t switches = counts.switches, links = counts.links;
  if (fabric.nodes) {
    const std::uint64_t nodes =
        (cluster.device_count() + fabric.nodes->devices - 1) / fabric.nodes->devices;
    switches -= nodes * fabric.nodes->planes;
    links -= std::uint64_t{cluster.device_count()} * fabric.nodes->planes;
  }
  out.switches_w = watts(system.switch_mw, static_cast<double>(switches));
  out.links_w = watts(system.link_mw, static_cast<double>(links));
  return out;
}

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
        const double joules = outcome.repeated() * static_cast<double>(totals.devices) *
                              tables[job.first_program + p].above_idle_j[i];
        energy.computing_by_provenance_j[i] += joules;
        energy.computing_j += joules;
      }
      if (tables[job.first_program + p].served != nullptr) {
        const double joules = iterations_j(accelerator, totals);
        energy.computing_by_provenance_j[static_cast<std::size_t>(Provenance::modelled)] += joules;
        energy.computing_j += joules;
      }
      energy.communicating_j +=
          (power.communicating_w() - power.idle_w()) * communicating_s(totals);
    }
  }
  energy.node_count = energy.devices / cluster.fabric().devices_per_node();
  const ConstantPower all_the_time = constant_power_of(cluster, system);
  energy.idle_j = all_the_time.idle_w * seconds;
  energy.nodes_j = all_the_time.nodes_w * seconds;
  energy.switches_j = all_the_time.switches_w * seconds;
  energy.links_j = all_the_time.links_w * seconds;
  return energy;
}

}  // namespace exawarp::model
