// The device logical process: an accelerator that runs its program's streams, takes part in
// collectives, and sends and receives through its interfaces. docs/reference/model.md says
// what it models.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/ids.h"
#include "model/compute/jitter.h"
#include "model/compute/slowdown.h"
#include "model/device/device_layout.h"
#include "model/device/device_state.h"
#include "model/device/program_table.h"
#include "model/job/job.h"
#include "model/network/background.h"
#include "model/network/faults/message_trouble.h"
#include "model/network/message/network.h"
#include "model/network/packet/packet_network.h"
#include "pdes/context.h"
#include "pdes/logical_process.h"

namespace exawarp::model {

// The interconnect at packet fidelity.
struct PacketFabric {
  std::unique_ptr<const Topology> topology;
  PacketNetwork network;
  bool inside_nodes;  // messages inside a node go packet by packet, too

  // Whether messages by `interface` do.
  [[nodiscard]] bool carries(Interface interface) const {
    return inside_nodes || interface == Interface::scale_out;
  }
};

// What handlers read, shared by all devices of a rank. Never changes while the simulation runs.
struct DeviceModel {
  Network network;
  Jitter jitter;
  std::vector<Slowdown> slow_devices;
  std::unique_ptr<const MessageTrouble> trouble;  // null where all links are well
  bool analytical;            // collectives and messages by closed forms, without contention
  core::Time notice_latency;  // analytical: a 16th of the least latency of a message
  std::unique_ptr<const PacketFabric> packets;  // null but at packet fidelity
  std::unique_ptr<const Allocation> allocation;
  std::vector<PlacedJob> jobs;
  std::vector<ProgramTable> programs;  // of all jobs; an empty one last, where devices are idle
  DeviceSlots slots;
  std::vector<Background> backgrounds;  // beside.h; not at analytical fidelity
};

// The slots that the largest of `programs` needs on this network, and an endpoint where `packets`
// is not null.
DeviceSlots slots_for(const std::vector<ProgramTable>& programs, const Network& network,
                      const PacketFabric* packets, bool analytical);

// The type of all devices. Handlers find the DeviceModel through the run's Cluster.
pdes::LpType device_type(DeviceSlots slots);
void handle_device(void* state, const pdes::Event& event, pdes::Context& context);
// Of all but background; beside.h.
void describe_device(void* state, pdes::StateArchive& archive);

// Sets the start state of `device` and starts every node that waits for nothing, at time 0 itself
// or, where its job begins later, by an event. A device without a job is done at time 0.
void start_device(const DeviceModel& model, core::DeviceId device, void* state,
                  pdes::Context& context);

}  // namespace exawarp::model
