// What is in a workload, counted; see inspect.h.
#include "model/workload/inspect.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace exawarp::model {
namespace {

// (0, group, type) for collectives, (1, axis, 0) for sends: a map in the order of the report.
using CommunicationKey = std::tuple<int, std::uint32_t, std::uint32_t>;
using Communication = std::map<CommunicationKey, CommunicationFacts>;

std::vector<std::uint64_t> devices_of_programs(const WorkloadGraph& graph) {
  std::vector<std::uint64_t> devices(graph.program_count());
  for (const BoundRange& range : graph.bound_ranges()) {
    devices[range.program] +=
        std::uint64_t{graph.device_count() / graph.axis_size(range.axis)} * range.count;
  }
  for (const BoundDevice& at : graph.bound_devices()) ++devices[at.program];
  return devices;
}

void add(WorkTotals& sum, const WorkTotals& part, double times) {
  sum.flops += times * part.flops;
  sum.bytes_read += times * part.bytes_read;
  sum.bytes_written += times * part.bytes_written;
  sum.comm_bytes += times * part.comm_bytes;
  for (std::size_t i = 0; i < kNodeKindCount; ++i) sum.nodes[i] += times * part.nodes[i];
}

std::uint32_t largest_communicator(const GroupTable& group) {
  if (!group.by_lists) return group.size;
  std::uint32_t largest = 0;
  for (std::size_t i = 1; i < group.list_first.size(); ++i) {
    largest = std::max(largest, group.list_first[i] - group.list_first[i - 1]);
  }
  return largest;
}

// What a member sends, at least: a ring or an exchange in which nothing goes twice.
double wire_bytes(schema::CollectiveType type, double members, double bytes) {
  if (members <= 1) return 0;
  switch (type) {
    case schema::CollectiveType::ALL_REDUCE: return 2 * (members - 1) / members * bytes;
    case schema::CollectiveType::ALL_GATHER: return (members - 1) * bytes;
    case schema::CollectiveType::REDUCE_SCATTER:
    case schema::CollectiveType::ALL_TO_ALL:
    case schema::CollectiveType::BROADCAST:  // all members but one receive it
    case schema::CollectiveType::REDUCE:
    case schema::CollectiveType::GATHER:
    case schema::CollectiveType::SCATTER: return (members - 1) / members * bytes;
    case schema::CollectiveType::PERMUTE: return bytes;
    case schema::CollectiveType::BARRIER: break;
  }
  return 0;
}

CommunicationFacts describe(const WorkloadGraph& graph, const schema::Node::Reader& node) {
  CommunicationFacts facts;
  if (node.getKind() == schema::NodeKind::COLLECTIVE) {
    facts.over = printable(graph.group(node.getGroup()).name);
    facts.type = core::name_of(node.getCollective());
    facts.members_max = largest_communicator(graph.group(node.getGroup()));
    return facts;
  }
  const std::uint8_t axis = node.getPeerAxis();
  facts.over = axis == schema::NO_AXIS ? "devices" : printable(graph.axis_name(axis));
  facts.type = "send";
  facts.members_max = 2;
  return facts;
}

void count_communication(const WorkloadGraph& graph, const schema::Node::Reader& node,
                         double devices, Communication& communication) {
  CommunicationKey key;
  if (node.getKind() == schema::NodeKind::COLLECTIVE) {
    key = {0, node.getGroup(), static_cast<std::uint32_t>(node.getCollective())};
  } else {
    key = {1, node.getPeerAxis(), 0};
  }
  const auto [found, is_new] = communication.try_emplace(key);
  if (is_new) found->second = describe(graph, node);
  const auto bytes = static_cast<double>(node.getCommBytes());
  found->second.operations += devices;
  found->second.bytes += devices * bytes;
  found->second.wire_bytes +=
      devices * (node.getKind() == schema::NodeKind::SEND
                     ? bytes
                     : wire_bytes(node.getCollective(), found->second.members_max, bytes));
}

// The traffic matrix of sends. A program's sends are summed by (axis, offset) once, and its devices
// then add a few entries each.
class MessageMatrix {
 public:
  explicit MessageMatrix(const WorkloadGraph& graph) : graph_(graph) {
    for (std::uint32_t p = 0; p < graph.program_count(); ++p) sum(graph.program(p));
  }

  void write(WorkloadFacts& facts) {
    for (std::uint32_t d = 0; d < graph_.device_count(); ++d) {
      for (const auto& [end, amount] : sends_[graph_.program_of(DeviceId{d})]) {
        const auto [axis, offset] = end;
        const DeviceId to = graph_.shifted(DeviceId{d}, axis, offset);
        const bool absolute = axis == schema::NO_AXIS;
        Amount& entry = matrix_[{axis, absolute ? d : graph_.coordinate(DeviceId{d}, axis),
                                 absolute ? to.value : graph_.coordinate(to, axis)}];
        entry.operations += amount.operations;
        entry.bytes += amount.bytes;
      }
      if (matrix_.size() > kMessagePairsMax) {
        facts.messages_complete = false;
        return;
      }
    }
    for (const auto& [key, amount] : matrix_) {
      const auto [axis, from, to] = key;
      const bool absolute = axis == schema::NO_AXIS;
      facts.messages.push_back({absolute ? "devices" : printable(graph_.axis_name(axis)), from, to,
                                amount.operations, amount.bytes});
    }
  }

 private:
  struct Amount {
    double operations = 0, bytes = 0;
  };
  void sum(const Program& program) {
    auto& sends = sends_.emplace_back();
    for (std::uint32_t i = 0; i < program.node_count(); ++i) {
      const schema::Node::Reader node = program.node(i);
      if (node.getKind() != schema::NodeKind::SEND) continue;
      Amount& amount = sends[{node.getPeerAxis(), node.getPeer()}];
      amount.operations += 1;
      amount.bytes += static_cast<double>(node.getCommBytes());
    }
  }
  const WorkloadGraph& graph_;
  std::vector<std::map<std::pair<std::uint8_t, std::int32_t>, Amount>> sends_;  // by program
  std::map<std::tuple<std::uint8_t, std::uint32_t, std::uint32_t>, Amount> matrix_;
};

ProgramFacts inspect_program(const WorkloadGraph& graph, const Program& program,
                             std::uint64_t devices, Communication& communication) {
  ProgramFacts facts;
  facts.name = printable(program.name());
  facts.devices = devices;
  facts.parameters = program.parameter_count();
  facts.memory = program.memory();
  for (std::uint32_t i = 0; i < program.stream_count(); ++i) {
    facts.streams.push_back(printable(program.stream_name(i)));
  }
  for (std::uint32_t i = 0; i < program.node_count(); ++i) {
    const schema::Node::Reader node = program.node(i);
    const schema::NodeKind kind = node.getKind();
    facts.per_device.nodes[static_cast<std::size_t>(kind)] += 1;
    facts.per_device.flops += static_cast<double>(node.getFlops());
    facts.per_device.bytes_read += static_cast<double>(node.getBytesRead());
    facts.per_device.bytes_written += static_cast<double>(node.getBytesWritten());
    if (kind != schema::NodeKind::COLLECTIVE && kind != schema::NodeKind::SEND) continue;
    facts.per_device.comm_bytes += static_cast<double>(node.getCommBytes());
    count_communication(graph, node, static_cast<double>(devices), communication);
  }
  return facts;
}

}  // namespace

WorkloadFacts inspect(const WorkloadGraph& graph) {
  WorkloadFacts facts;
  facts.name = printable(graph.name());
  facts.devices = graph.device_count();
  for (std::uint32_t axis = 0; axis < graph.axis_count(); ++axis) {
    facts.axes.push_back({printable(graph.axis_name(axis)), graph.axis_size(axis)});
  }
  Communication communication;
  const std::vector<std::uint64_t> devices = devices_of_programs(graph);
  for (std::uint32_t p = 0; p < graph.program_count(); ++p) {
    facts.programs.push_back(inspect_program(graph, graph.program(p), devices[p], communication));
    add(facts.total, facts.programs.back().per_device, static_cast<double>(devices[p]));
  }
  for (auto& [key, entry] : communication) facts.communication.push_back(std::move(entry));
  MessageMatrix(graph).write(facts);
  const schema::Training::Reader training = graph.training();
  facts.steps = training.getSteps();
  facts.micro_batches = training.getMicroBatches();
  facts.tokens_per_step = training.getTokensPerStep();
  facts.sequences_per_step = training.getSequencesPerStep();
  facts.parameters = training.getParameters();
  facts.model_flops_per_step = training.getModelFlopsPerStep();
  return facts;
}

}  // namespace exawarp::model
