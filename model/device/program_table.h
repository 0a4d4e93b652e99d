// A program as device handlers read it: every node decoded into tasks of 48 bytes in issue order
// (one a node; a collective that runs axis by axis is one for each axis), with its duration or
// transfer time computed, and dependencies reduced to at most one a stream.
//
// One table a program and rank, shared by all its devices. Streams read it as a MappedProgram
// (task_source.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/time.h"
#include "model/collective/choice.h"
#include "model/compute/accelerator.h"
#include "model/compute/compute_models.h"
#include "model/compute/pedigree.h"
#include "model/device/collective_stages.h"
#include "model/device/device_state.h"
#include "model/device/group_network.h"
#include "model/device/task.h"
#include "model/device/time_class.h"
#include "model/job/job.h"
#include "model/network/message/network.h"
#include "model/workload/graph.h"
#include "model/workload/validate.h"

namespace exawarp::model {

class PacketNetwork;
struct ServedProgram;

static_assert(kStreamsMax <= 32, "streams are bits of a word");
constexpr std::uint32_t kChannelSlotsMax = 255;

// What a device sends in the course of a program, for placements; estimated for collectives.
struct Sent {
  std::uint64_t nodes = 0;  // sends and collectives
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

// The collectives that a program runs among the members of one kind of communicator, plain rings
// and stepped ones apart. They are on one stream, and members of a
// group run the same sequence of them (validate() sees to both), so counting is enough to know
// which one a chunk belongs to.
struct Channel {
  Among among;
  std::uint32_t stream = 0;
  std::uint16_t number = 0;       // over all programs; what messages carry
  Sent sent{};                     // by a device to the others
  bool stepped = false;
  std::shared_ptr<const GroupClasses> groups{};  // at analytical fidelity
};

// A collective that devices run step by step. Equal tasks of a program share one.
struct SteppedTask {
  Collective collective;  // members 0: the device's communicator says how many
  Choice choice;
  std::uint8_t channel = 0;
  std::uint32_t first_time = 0;  // at analytical fidelity: into ProgramTable::times
};

// Sends of a program to one peer.
struct PeerSends {
  std::int32_t peer = 0;
  bool absolute = false;
  Sent sent{};
};

// Of the compute nodes of a program that are of one phase, operation and type.
struct ComputeWork {
  schema::Phase phase = schema::Phase::NONE;
  schema::Operation operation = schema::Operation::OTHER;
  schema::DataType data_type = schema::DataType::NONE;
  std::uint64_t nodes = 0;
  double ps = 0, flops = 0, bytes = 0;  // of all of them; bytes read and written
};

struct ProgramTable {
  // In graph and tasks devices are the job's ranks.
  const WorkloadGraph* graph = nullptr;
  const RankMap* ranks = nullptr;  // null: each rank's number is its device's
  std::vector<Task> tasks;  // stream by stream, in issue order
  std::vector<Dependency> dependencies;
  std::vector<std::uint32_t> first_task;  // by stream, with one more for the end
  std::vector<Channel> channels;
  std::vector<std::uint8_t> channel_by_number;  // index: Channel::number; kNoChannel: not here
  std::vector<PeerSends> sends;
  std::vector<SteppedTask> stepped;
  // At analytical fidelity: what a collective takes once its last member has come, by class of its
  // channel's groups; those of one collective follow each other.
  std::vector<core::Time> times;
  std::vector<InterfaceUse> uses;  // of each meanwhile, where interfaces are shared
  std::vector<KernelUse> kernels;  // what it computes, for reports
  std::vector<ComputeWork> work;   // the same, by phase and type
  // What a task adds to its device's idle power while it lasts, by task; empty where the
  // accelerator's power is not known. And the joules of all tasks together, by how that is known.
  std::vector<std::int32_t> above_idle_mw;
  std::array<double, kProvenanceCount> above_idle_j{};
  std::int64_t lag_ppb = 0;    // of what computes, ProgramTableInputs::lag_ppb
  bool runs_together = false;  // some passes, which devices then tell apart (PassAccount)
  std::uint64_t events = 0;  // a device executes, without waits for an interface
  // Where a scheduler says what devices do, and the tasks are what it may say; else null.
  std::shared_ptr<const ServedProgram> served = nullptr;

  [[nodiscard]] std::uint32_t streams() const {
    return static_cast<std::uint32_t>(first_task.size()) - 1;
  }
  [[nodiscard]] std::uint32_t length(std::uint32_t stream) const {
    return first_task[stream + 1] - first_task[stream];
  }
  [[nodiscard]] const Task& task(std::uint32_t stream, std::uint32_t position) const {
    return tasks[first_task[stream] + position];
  }
  [[nodiscard]] core::DeviceId device_of(core::DeviceId rank) const {
    if (ranks == nullptr) [[likely]] return rank;
    return ranks->device_of(rank);
  }
  // The device at the other end of a send or receive that `rank` runs.
  [[nodiscard]] core::DeviceId peer_of(const Task& task, core::DeviceId rank) const {
    return device_of(task.peer_rank(rank));
  }
  // Of the channel's communicator that `rank` is in: its place there, and the device of a member.
  [[nodiscard]] Membership membership(const Channel& channel, core::DeviceId rank) const {
    return channel.among.membership(*graph, rank);
  }
  [[nodiscard]] core::DeviceId member(const Channel& channel, core::DeviceId rank,
                                      std::uint32_t position) const {
    return device_of(channel.among.member(*graph, rank, position));
  }
};

struct ProgramTableInputs {
  const PlacedJob& job;
  const WorkloadGraph& graph;  // the job's
  const Accelerator& accelerator;
  const Network& network;
  const ComputeChoice& compute;
  const CollectiveRules& rules;
  std::int64_t eager_max_bytes;  // longer messages ask first
  bool analytical;
  bool shares_interfaces;  // at analytical fidelity
  // Interfaces whose messages the network takes over, as packets or as flows.
  std::array<bool, kInterfaceCount> by_packets;
  const PacketNetwork* packets;  // of packets
  std::int64_t lag_ppb = 0;  // of what computes, compute/rank_noise.h
};

// One table for each program of the graph. Requires a graph that passed validate() and
// check_supported(). Throws core::InputError where a duration cannot be computed, where the nodes
// of a stream take until kEndOfTime by themselves, or a message has too many packets.
// Cost: O(nodes + dependencies), about 50 ns a node; at analytical fidelity also O(devices) for
// each kind of communicator, and what group_time() takes for each different collective.
std::vector<ProgramTable> make_program_tables(const ProgramTableInputs& inputs);

// The bytes that a send of program `program` (index over all jobs) has in its graph.
std::uint64_t bytes_of_send(std::span<const PlacedJob> jobs, std::uint32_t program,
                            const Task& send);

// What exposed communication in group `group`, or along `axis`, counts as: by the group's name or,
// where that says nothing, by its axis; `data` where it has several of context, expert and data.
TimeClass class_of_group(const WorkloadGraph& graph, std::uint32_t group);
TimeClass class_of_axis(const WorkloadGraph& graph, std::uint32_t axis);

}  // namespace exawarp::model
