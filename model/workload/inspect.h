// What is in a workload, counted: the facts that `exawarp workload inspect` prints.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "model/workload/graph.h"
#include "model/workload/names.h"

namespace exawarp::model {

constexpr std::size_t kNodeKindCount = std::size(schema::kNodeKindNames);
constexpr std::size_t kMessagePairsMax = 1u << 16;  // entries of the traffic matrix

// Totals over nodes. Doubles, because sums over all devices may pass 64 bits.
struct WorkTotals {
  double flops = 0;
  double bytes_read = 0;
  double bytes_written = 0;
  double comm_bytes = 0;  // handed to collectives and sends; see commBytes in graph.h
  std::array<double, kNodeKindCount> nodes{};  // by schema::NodeKind
};

struct ProgramFacts {
  std::string name;
  std::uint64_t devices = 0;
  std::uint64_t parameters = 0;  // a device
  std::vector<std::string> streams;
  std::optional<ProgramMemory> memory;
  WorkTotals per_device;
};

// Communication of one kind: all collectives of one type on one group, or all sends along one axis.
struct CommunicationFacts {
  std::string over;               // the group's or the axis' name; "devices" for absolute peers
  std::string type;               // all_reduce, ..., or "send"
  std::uint32_t members_max = 0;  // of the largest communicator; 2 for sends
  double operations = 0;          // over all devices
  double bytes = 0;               // commBytes over all devices
  double wire_bytes = 0;          // what all devices send, by algorithms that send least
};

// Messages from one place to another: coordinates along an axis, or device numbers.
struct MessageFacts {
  std::string over;  // as CommunicationFacts::over of sends
  std::uint32_t from = 0, to = 0;
  double operations = 0, bytes = 0;  // over all devices
};

struct AxisFacts {
  std::string name;
  std::uint32_t size = 0;
};

struct WorkloadFacts {
  std::string name;
  std::uint32_t devices = 0;
  std::vector<AxisFacts> axes;
  std::vector<ProgramFacts> programs;
  std::vector<CommunicationFacts> communication;  // by group, then type; sends last, by axis
  std::vector<MessageFacts> messages;  // the traffic matrix of sends: by axis, from, to
  bool messages_complete = true;       // false: past kMessagePairsMax pairs, none is listed
  WorkTotals total;                               // over all devices and steps
  std::uint32_t steps = 0;
  std::uint32_t micro_batches = 0;
  std::uint64_t tokens_per_step = 0;
  std::uint64_t sequences_per_step = 0;
  std::uint64_t parameters = 0;
  double model_flops_per_step = 0;
};

// Requires a validated graph. O(nodes of all programs + bindings).
WorkloadFacts inspect(const WorkloadGraph& graph);

}  // namespace exawarp::model
