// What a run's devices, nodes and switches draw. Devices: what each kernel draws above idle, for
// the time the study computes it to take, and idle power for all the time; while a device does
// nothing but communicate, its `communicating` power. Nodes (hosts, fans, network cards) and
// switches draw what the system's file says, all the time, whatever they do.
//
// A slowed or jittered kernel takes longer at the same work: its energy stays, and idle power goes
// on for longer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "model/cluster.h"
#include "model/energy/power.h"
#include "model/outcome.h"

namespace exawarp::model {

// What a cluster draws all the time, whatever it does.
struct ConstantPower {
  double idle_w = 0;  // of all devices
  double nodes_w = 0, switches_w = 0, links_w = 0;

  [[nodiscard]] double total_w() const { return idle_w + nodes_w + switches_w + links_w; }
};
ConstantPower constant_power_of(const Cluster& cluster, const SystemPower& system);

struct Energy {
  // Joules of the whole run, all devices together.
  double computing_j = 0;                                            // above idle
  std::array<double, kProvenanceCount> computing_by_provenance_j{};  // how its watts are known
  double communicating_j = 0;                                        // above idle
  double idle_j = 0;                                                 // of devices, all the time
  double nodes_j = 0;     // of what is in nodes beside devices
  double switches_j = 0;  // outside nodes
  double links_j = 0;     // the same
  double seconds = 0;     // of the run
  double devices = 0;
  double node_count = 0;
  SystemPower system;

  [[nodiscard]] double devices_j() const { return computing_j + communicating_j + idle_j; }
  [[nodiscard]] double total_j() const { return devices_j() + nodes_j + switches_j + links_j; }
  [[nodiscard]] double device_w() const { return devices_j() / seconds / devices; }
  [[nodiscard]] double kwh() const { return total_j() / 3.6e6; }
  // Of a node with its devices, without switches.
  [[nodiscard]] double node_w() const { return (devices_j() + nodes_j) / seconds / node_count; }
};

// None where the accelerator's power is not known, or no time passed.
// Cost: O(programs).
std::optional<Energy> energy_of(const Cluster& cluster, const Outcome& outcome,
                                const SystemPower& system);

}  // namespace exawarp::model
