// What the handlers of devices read, shared by all devices of a rank.
#pragma once

#include <memory>
#include <vector>

#include "core/ids.h"
#include "core/time.h"
#include "model/compute/jitter.h"
#include "model/compute/slowdown.h"
#include "model/device/device_layout.h"
#include "model/device/fold.h"
#include "model/device/program_table.h"
#include "model/job/job.h"
#include "model/network/background.h"
#include "model/network/faults/message_faults.h"
#include "model/network/flow/flow_network.h"
#include "model/network/message/network.h"
#include "model/network/packet/packet_network.h"
#include "model/pace.h"
#include "pdes/context.h"
#include "pdes/event.h"

namespace exawarp::model {

struct DeviceModel;

// What a device made of certain parts does: with an event, and at time zero, where its state is
// set and its program begins at `begin`.
struct DeviceHandlers {
  void (*handle)(void* state, const pdes::Event& event, pdes::Context& context) = nullptr;
  void (*start)(const DeviceModel& model, DeviceState& state, pdes::Context& context,
                core::Time begin) = nullptr;
  // Of LpType; null where nothing is foreseen.
  std::uint32_t (*foresee)(void* state, const pdes::Event& event, pdes::Context& context) = nullptr;
  void (*foresee_more)(void* state, const pdes::Event& event, pdes::Context& context) = nullptr;
};

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

// The interconnect at flow fidelity: what goes across nodes.
struct FlowFabric {
  std::unique_ptr<const Topology> topology;
  FlowNetwork network;
};

// What handlers read, shared by all devices of a rank. Never changes while the simulation runs.
struct DeviceModel {
  Network network;
  Jitter jitter;
  std::vector<Slowdown> slow_devices;
  std::unique_ptr<const MessageFaults> message_faults;  // null where all links are well
  bool analytical;            // collectives and messages by closed forms, without contention
  core::Time notice_latency;  // analytical: a 16th of the least latency of a message
  std::unique_ptr<const PacketFabric> packets;  // null but at packet fidelity
  std::unique_ptr<const FlowFabric> flows;      // null but at flow fidelity
  std::unique_ptr<const Allocation> allocation;
  std::vector<PlacedJob> jobs;
  std::vector<ProgramTable> programs;  // of all jobs; an empty one last, where devices are idle
  DeviceSlots slots;
  std::vector<Background> backgrounds;  // background_traffic.h; not at analytical fidelity
  std::unique_ptr<const Fold> fold;     // null: each device is an LP
  DeviceHandlers handlers;              // of the parts that this study's devices are made of
  // Of compute nodes that start beside a collective (Accelerator::overlap_slowdown).
  std::int64_t overlapped_ppm = kUsualPace;
  // Devices emit what they draw; while they only communicate, this much above idle power.
  bool traces_power = false;
  bool traces_messages = false;  // network/message_trace.h
  bool traces = false;  // power or a timeline: the one thing that is asked where neither is
  std::int32_t communicating_mw = 0;
  // Some devices emit when they do what (timeline/timeline.h): those whose byte, by LP, is not 0. A
  // byte each, as devices beside them read it at every task, too.
  bool traces_timeline = false;
  std::vector<std::uint8_t> timeline = {};

  // Whether Task::wire of the interface is bytes, as it is where the network takes messages over.
  [[nodiscard]] bool wire_is_bytes(Interface interface) const {
    if (flows != nullptr) return interface == Interface::scale_out;
    return packets != nullptr && packets->carries(interface);
  }
};

}  // namespace exawarp::model
