// The device logical process: an accelerator that runs its program's streams, takes part in
// collectives, and sends and receives through its interfaces. docs/model.md says what it models.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/ids.h"
#include "model/compute/jitter.h"
#include "model/compute/slowdown.h"
#include "model/device/device_state.h"
#include "model/device/program_table.h"
#include "model/network/message_trouble.h"
#include "model/network/network.h"
#include "pdes/context.h"
#include "pdes/logical_process.h"

namespace exawarp::model {

// What handlers read, shared by all devices of a rank. Never changes while the simulation runs.
struct DeviceModel {
  const WorkloadGraph* graph;
  Network network;
  Jitter jitter;
  std::vector<Slowdown> slow_devices;
  std::unique_ptr<const MessageTrouble> trouble;  // null where all links are well
  bool analytical;            // collectives and messages by closed forms, without contention
  core::Time notice_latency;  // analytical: a 16th of the least latency of a message
  std::vector<ProgramTable> programs;
  DeviceSlots slots;
};

// The slots that the largest of `programs` needs on this network.
DeviceSlots slots_for(const std::vector<ProgramTable>& programs, const Network& network);

// The type of all devices. Handlers find the DeviceModel through the run's Cluster.
pdes::LpType device_type(DeviceSlots slots);

// Sets the start state of `device` and starts, at time 0, every node that waits for nothing.
void start_device(const DeviceModel& model, core::DeviceId device, void* state,
                  pdes::Context& context);

}  // namespace exawarp::model
