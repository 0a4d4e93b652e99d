// The device logical process: an accelerator that runs its program's streams, takes part in
// collectives, and sends and receives through its interfaces. docs/reference/model.md says
// what it models.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ids.h"
#include "model/device/device_model.h"
#include "pdes/context.h"
#include "pdes/logical_process.h"

namespace exawarp::model {

// The slots that the largest of `programs` needs on this network, and an endpoint where `packets`
// is not null.
DeviceSlots slots_for(const std::vector<ProgramTable>& programs, const Network& network,
                      const PacketFabric* packets, bool analytical, bool flows);

// What a device runs, as which rank, from when on.
struct DevicePlace {
  std::uint32_t program;  // index into DeviceModel::programs
  core::DeviceId rank;
  core::Time start;
};
DevicePlace place_of(const DeviceModel& model, core::DeviceId device);

// The parts that devices of this study are made of, chosen by its network's fidelity and by what
// may be wrong with links. Requires all of `model` but its handlers.
DeviceHandlers choose_parts(const DeviceModel& model);

// The type of all devices. Handlers find the DeviceModel through the run's Cluster.
pdes::LpType device_type(const DeviceModel& model);
// Of all but background; background_traffic.h.
void describe_device(void* state, pdes::StateArchive& archive);

// Sets the start state of `device` and starts every node that waits for nothing, at time 0 itself
// or, where its job begins later, by an event. A device without a job is done at time 0.
void start_device(const DeviceModel& model, core::DeviceId device, void* state,
                  pdes::Context& context);

}  // namespace exawarp::model
