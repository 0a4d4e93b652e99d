// The Builder first finds where each node's last task will be. Then it goes through the streams in
// order: a node becomes a task of its kind, a collective one for each stage, with times computed
// and dependencies reduced to the last task of each other stream. On the way it sums up the least
// time of each stream, so that a study that passes the end of time is refused.
#include "model/device/program_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/units.h"
#include "model/collective/algorithm.h"
#include "model/collective/cost.h"
#include "model/collective/ring.h"
#include "model/compute/rank_noise.h"
#include "model/device/collective_times.h"
#include "model/device/supported.h"
#include "model/energy/power.h"
#include "model/network/flow/flow_network.h"
#include "model/network/packet/packet_network.h"
#include "model/workload/validate_program.h"

namespace exawarp::model {
namespace {

constexpr std::int64_t kTogetherMax = std::int64_t{1} << 60;  // bytes of all members
constexpr std::size_t kChannelNumbersMax = 65'535;  // they travel in 16 bits

std::optional<TimeClass> class_named(std::string_view name) {
  for (auto c = index_of(TimeClass::tensor); c < index_of(TimeClass::other); ++c) {
    if (name == kTimeClassNames[c]) return static_cast<TimeClass>(c);
  }
  return std::nullopt;
}

void add_sent(Sent& sent, std::uint64_t messages, std::uint64_t bytes) {
  ++sent.nodes;
  sent.messages += messages;
  sent.bytes += bytes;
}

// By a member of a collective, about.
std::uint64_t bytes_sent(const CollectiveStage& stage) {
  const auto bytes = static_cast<std::uint64_t>(stage.bytes);
  const std::uint64_t members = std::max<std::uint64_t>(1, stage.members_max);
  switch (stage.type) {
    case schema::CollectiveType::ALL_REDUCE: return 2 * (bytes - bytes / members);
    case schema::CollectiveType::REDUCE_SCATTER:
    case schema::CollectiveType::ALL_TO_ALL: return bytes - bytes / members;
    case schema::CollectiveType::ALL_GATHER: return bytes * (members - 1);
    default: return bytes;
  }
}

// Or more: no message has more than all of the data, and what the payload's share adds to it. By
// nodes, what a leader puts in counts with the others' (algorithms/nvls_tree.cc), of which is one
// at least.
std::int64_t largest_message(const Collective& c, const Choice& choice) {
  const core::WidePs most = description_of(c.algorithm).by_nodes ? 3 : 1;
  const core::WidePs all = most * bytes_of(c, {.first = 0, .count = c.members});
  return static_cast<std::int64_t>(
      std::min<core::WidePs>(all * kPayloadWhole / std::ranges::min(choice.payload_ppm),
                             std::numeric_limits<std::int64_t>::max()));
}

class Builder {
 public:
  explicit Builder(const ProgramTableInputs& inputs)
      : in_(inputs),
        compute_(inputs.accelerator, inputs.compute),
        stages_(inputs.job, inputs.network, inputs.rules),
        most_bytes_per_s_(find_most_bytes_per_s()) {
    for (std::uint32_t g = 0; g < in_.graph.group_count(); ++g) {
      group_class_.push_back(class_of_group(in_.graph, g));
    }
  }

  ProgramTable build(std::uint32_t index) {
    program_ = &in_.graph.program(index);
    index_ = index;
    table_ = {};
    table_.graph = &in_.graph;
    table_.ranks = in_.job.ranks.get();
    sends_.clear();
    kernels_ = {};
    local_channel_.clear();
    table_.first_task.push_back(0);
    place_tasks();
    for (std::uint32_t s = 0; s < program_->stream_count(); ++s) {
      const std::uint32_t length = program_->stream_length(s);
      stream_takes_ = {};
      for (std::uint32_t i = 0; i < length; ++i) add(s, program_->node_at(s, i));
      table_.first_task.push_back(static_cast<std::uint32_t>(table_.tasks.size()));
    }
    for (const auto& [peer, sends] : sends_) {
      table_.sends.push_back({.peer = peer.second, .absolute = peer.first, .sent = sends});
    }
    table_.kernels = kernels_.all();
    if (in_.accelerator.power.known()) table_.above_idle_mw.resize(table_.tasks.size());
    return std::move(table_);
  }

  // Channels get their numbers in order of first use, the same on every rank.
  [[nodiscard]] std::uint32_t channel_numbers() const {
    return static_cast<std::uint32_t>(numbers_.size());
  }

 private:
  // Where in its stream each node's last task is, for the dependencies on it; and room for all.
  void place_tasks() {
    last_task_.assign(program_->node_count(), 0);
    std::size_t all = 0;
    for (std::uint32_t s = 0; s < program_->stream_count(); ++s) {
      std::uint32_t tasks = 0;
      for (std::uint32_t i = 0; i < program_->stream_length(s); ++i) {
        const std::uint32_t node = program_->node_at(s, i);
        const auto reader = program_->node(node);
        tasks += reader.getKind() == schema::NodeKind::COLLECTIVE
                     ? static_cast<std::uint32_t>(stages_.of(reader).size())
                     : 1;
        last_task_[node] = tasks - 1;
      }
      all += tasks;
    }
    table_.tasks.reserve(all);
    table_.dependencies.reserve(program_->dependency_count());
    if (in_.accelerator.power.known()) table_.above_idle_mw.reserve(all);
  }

  void add(std::uint32_t stream, std::uint32_t node_index) {
    const auto node = program_->node(node_index);
    Task task;
    task.node = node_index;
    add_dependencies(task, node, stream);
    switch (node.getKind()) {
      case schema::NodeKind::COMPUTE:
      case schema::NodeKind::MEMORY:
        task.kind = TaskKind::compute;
        task.time_class = TimeClass::compute;
        task.wire[0] = duration_of(node_index);
        table_.events += task.wire[0].ps > 0 ? 1 : 0;
        takes_at_least(node_index, task.wire[0],
                       [&] { return "computes for " + core::format_time(task.wire[0]); });
        break;
      case schema::NodeKind::COLLECTIVE: return add_collectives(task, node, stream);
      case schema::NodeKind::SEND:
      case schema::NodeKind::RECEIVE: add_point_to_point(task, node); break;
      case schema::NodeKind::MARKER:
        task.kind = TaskKind::mark;
        task.tag = static_cast<std::uint32_t>(node.getPhase());
        table_.runs_together |= node.getPhase() == schema::Phase::OVERLAPPED;
        break;
    }
    table_.tasks.push_back(task);
  }

  [[nodiscard]] core::Time duration_of(std::uint32_t node) {
    try {
      const auto reader = program_->node(node);
      const ComputeOperation operation = operation_of(reader, in_.graph.shape_of(reader));
      if (const Priced* known = kernels_.find(operation, reader.getShape())) {
        return lasts(operation, *known);
      }
      const Priced priced = compute_.price(operation);
      kernels_.add(operation, reader.getShape(), priced);
      return lasts(operation, priced);
    } catch (const core::InputError& error) {
      throw core::InputError(node_place(in_.graph, index_, node), error.what());
    }
  }

  // How long the next task does, and, on the way, what it draws.
  core::Time lasts(const ComputeOperation& operation, const Priced& priced) {
    const core::Time duration = lagged(priced.duration, in_.lag_ppb);
    table_.lag_ppb = in_.lag_ppb;
    if (!in_.accelerator.power.known()) return duration;
    const double above_w = above_idle_w(in_.accelerator, operation, priced, duration);
    constexpr double kMwMax = std::numeric_limits<std::int32_t>::max();
    table_.above_idle_mw.resize(table_.tasks.size() + 1);
    table_.above_idle_mw.back() =
        static_cast<std::int32_t>(std::lround(std::clamp(above_w * 1e3, -kMwMax, kMwMax)));
    table_.above_idle_j.at(static_cast<std::size_t>(power_provenance(priced))) +=
        above_w * core::to_seconds(duration);
    return duration;
  }

  // A node keeps its stream busy for `time` or longer.
  template <class What>
  void takes_at_least(std::uint32_t node, core::Time time, const What& what) {
    stream_takes_ = core::sum_to_end(stream_takes_, time);
    if (stream_takes_ < core::kEndOfTime) return;
    throw core::InputError(
        node_place(in_.graph, index_, node),
        fmt::format("simulated time passes {}: this node {}, with what its stream did before; "
                    "expected smaller amounts, or higher rates",
                    core::kEndOfTimeText, what()));
  }
  void sends_at_least(std::uint32_t node, std::uint32_t messages, std::int64_t bytes) {
    const core::Time each = core::transfer_time(bytes, most_bytes_per_s_);
    takes_at_least(node, core::product_to_end(messages, each), [&] {
      return fmt::format("sends {} x {} bytes at {} B/s", messages, bytes, most_bytes_per_s_);
    });
  }

  // Of any interface that messages leave by.
  [[nodiscard]] std::int64_t find_most_bytes_per_s() const {
    std::int64_t most = 1;
    for (const Interface interface : {Interface::node, Interface::scale_out}) {
      if (!in_.network.uses(interface)) continue;
      const bool packets = in_.by_packets[static_cast<std::size_t>(interface)];
      most = std::max(most, packets && in_.packets != nullptr ? in_.packets->most_bytes_per_s()
                                                              : in_.network.bandwidth(interface));
    }
    return most;
  }

  void check_packets(std::uint32_t node, std::int64_t message_bytes) const {
    const bool by_flows = in_.packets == nullptr &&
                          in_.by_packets[static_cast<std::size_t>(Interface::scale_out)];
    if (by_flows && message_bytes > kFlowBytesMax) {
      throw core::InputError(
          node_place(in_.graph, index_, node),
          fmt::format("a message of {} bytes; expected at most {} at network.fidelity flow",
                      message_bytes, kFlowBytesMax));
    }
    if (in_.packets == nullptr || in_.packets->options().can_carry(message_bytes)) return;
    throw core::InputError(
        node_place(in_.graph, index_, node),
        fmt::format("a message of {} bytes is {} packets or more; expected larger packets, or a "
                    "smaller message",
                    message_bytes, kPacketsMax));
  }

  // Streams run in order, so of each other stream only the latest node matters.
  void add_dependencies(Task& task, const schema::Node::Reader& node, std::uint32_t stream) {
    task.first_dependency = static_cast<std::uint32_t>(table_.dependencies.size());
    for (std::uint32_t i = 0; i < node.getDependencyCount(); ++i) {
      const std::uint32_t dependency = program_->dependency(node, i);
      const auto on = program_->node(dependency);
      if (on.getStream() == stream) continue;
      const std::uint32_t position = last_task_[dependency];
      const auto mine = table_.dependencies.begin() + task.first_dependency;
      const auto same = std::find_if(mine, table_.dependencies.end(), [&](const Dependency& d) {
        return d.stream == on.getStream();
      });
      if (same == table_.dependencies.end()) {
        table_.dependencies.push_back({on.getStream(), position});
      } else {
        same->position = std::max(same->position, position);
      }
    }
    task.dependency_count =
        static_cast<std::uint16_t>(table_.dependencies.size() - task.first_dependency);
  }

  void set_wire(Task& task, std::int64_t bytes) {
    for (const Interface interface : {Interface::node, Interface::scale_out}) {
      const auto i = static_cast<std::size_t>(interface);
      task.wire[i] = in_.by_packets[i] ? core::Time{bytes}
                                       : in_.network.wire_time(bytes, interface);
    }
  }

  void add_collectives(Task task, const schema::Node::Reader& node, std::uint32_t stream) {
    task.kind = TaskKind::collective;
    task.time_class = group_class_[node.getGroup()];
    task.collective = static_cast<std::uint8_t>(node.getCollective());
    for (const CollectiveStage& stage : stages_.of(node)) {
      const bool steps = in_.analytical || !stage.choice.is_plain_ring() ||
                         !ring_supports(stage.type);
      task.collective = static_cast<std::uint8_t>(stage.type);
      task.channel = channel_of({stage.among, steps}, stream);
      table_.tasks.push_back(steps ? stepped(task, node, stage) : ring(task, stage));
      task.dependency_count = 0;  // the first stage waited for all
    }
  }

  Task stepped(Task task, const schema::Node::Reader& node, const CollectiveStage& stage) {
    if (stage.bytes > kTogetherMax / stage.members_max) {
      throw core::InputError(
          node_place(in_.graph, index_, task.node),
          fmt::format("commBytes: {} for each of {} members; expected at most {} in all",
                      stage.bytes, stage.members_max, kTogetherMax));
    }
    Collective c{.type = stage.type, .algorithm = stage.choice.algorithm, .bytes = stage.bytes,
                 .members = stage.members_max};
    c.root = is_rooted(c.type) ? node.getRoot() : 0;
    c.shift = c.type == schema::CollectiveType::PERMUTE ? node.getRoot() : 0;
    c.lanes = lanes_of(stage.choice, {.type = c.type, .bytes = c.bytes, .members = c.members});
    c.both_ways = stage.choice.both_ways;
    c.node_members = c.lanes > 1 ? stage.node_members : 1;
    if (node.getSizes() != 0) c.sizes = in_.graph.size_tables()[node.getSizes() - 1];
    task.kind = TaskKind::stepped;
    task.tag = static_cast<std::uint32_t>(table_.stepped.size());
    check_packets(task.node, largest_message(c, stage.choice));
    const std::uint64_t messages = collective_messages(c) / c.members;
    table_.events += in_.analytical ? 3 : messages + 1;
    add_sent(table_.channels[task.channel].sent, messages, bytes_sent(stage));
    c.members = stage.members.value_or(0);
    table_.stepped.push_back({c, stage.choice});
    return task;
  }

  Task ring(Task task, const CollectiveStage& stage) {
    if (!stage.members) {
      task.steps = kStepsVary;
      task.wire[0] = {stage.bytes};
      add_sent(table_.channels[task.channel].sent, 1, bytes_sent(stage));
      check_packets(task.node, stage.bytes);
      return task;
    }
    const RingPlan plan = ring_plan(stage.type, stage.bytes, *stage.members);
    task.steps = plan.steps;
    table_.events += plan.steps;
    add_sent(table_.channels[task.channel].sent, plan.steps, bytes_sent(stage));
    set_wire(task, plan.chunk_bytes);
    sends_at_least(task.node, plan.steps, plan.chunk_bytes);
    check_packets(task.node, plan.chunk_bytes);
    return task;
  }

  void add_point_to_point(Task& task, const schema::Node::Reader& node) {
    const bool sends = node.getKind() == schema::NodeKind::SEND;
    task.kind = sends ? TaskKind::send : TaskKind::receive;
    task.tag = node.getTag();
    task.peer_is_absolute = node.getPeerAxis() == schema::NO_AXIS;
    task.peer = node.getPeer();
    task.time_class = TimeClass::other;
    if (!task.peer_is_absolute) {
      task.peer *= static_cast<std::int32_t>(in_.graph.axis_stride(node.getPeerAxis()));
      task.time_class = class_of_axis(in_.graph, node.getPeerAxis());
    }
    const auto bytes = static_cast<std::int64_t>(node.getCommBytes());
    set_wire(task, bytes);
    task.rendezvous = sends && bytes > in_.eager_max_bytes;
    table_.events += task.rendezvous ? 2 : 1;
    if (!sends) return;
    sends_at_least(task.node, 1, bytes);
    check_packets(task.node, bytes);
    add_sent(sends_[{task.peer_is_absolute, task.peer}], 1, node.getCommBytes());
  }

  struct ChannelKey {
    Among among;
    bool stepped;
    auto operator<=>(const ChannelKey&) const = default;
  };

  std::uint8_t channel_of(const ChannelKey& key, std::uint32_t stream) {
    const auto [it, fresh] =
        local_channel_.try_emplace(key, static_cast<std::uint8_t>(table_.channels.size()));
    if (!fresh) return it->second;
    const auto next = static_cast<std::uint16_t>(numbers_.size());
    const std::uint16_t number = numbers_.try_emplace(key, next).first->second;
    table_.channels.push_back(
        {.among = key.among, .stream = stream, .number = number, .stepped = key.stepped});
    if (table_.channels.size() > kChannelSlotsMax || numbers_.size() > kChannelNumbersMax) {
      throw core::InputError(
          program_place(in_.graph, index_),
          fmt::format("runs collectives in too many groups: {}, {} with the programs before; "
                      "expected at most {} and {}",
                      table_.channels.size(), numbers_.size(), kChannelSlotsMax,
                      kChannelNumbersMax));
    }
    return it->second;
  }

  const ProgramTableInputs& in_;
  ComputeModels compute_;
  KernelUses kernels_;  // of the program being built
  CollectiveStages stages_;
  std::int64_t most_bytes_per_s_;
  std::vector<TimeClass> group_class_;
  std::map<ChannelKey, std::uint16_t> numbers_;  // of all programs so far
  std::map<ChannelKey, std::uint8_t> local_channel_;
  std::map<std::pair<bool, std::int32_t>, Sent> sends_;
  std::vector<std::uint32_t> last_task_;  // by node
  const Program* program_ = nullptr;
  std::uint32_t index_ = 0;
  core::Time stream_takes_;  // at least, up to the node that is added
  ProgramTable table_;
};

}  // namespace

TimeClass class_of_axis(const WorkloadGraph& graph, std::uint32_t axis) {
  return class_named(graph.axis_name(axis)).value_or(TimeClass::other);
}

std::uint64_t bytes_of_send(std::span<const PlacedJob> jobs, std::uint32_t program,
                            const Task& send) {
  const PlacedJob* of = nullptr;
  for (const PlacedJob& job : jobs) {
    if (job.runs && job.first_program <= program) of = &job;
  }
  EXAWARP_CHECK(of != nullptr, program);
  return of->graph->program(program - of->first_program).node(send.node).getCommBytes();
}

TimeClass class_of_group(const WorkloadGraph& graph, std::uint32_t group) {
  const GroupTable& table = graph.group(group);
  if (const auto named = class_named(table.name)) return *named;
  if (table.axes.empty()) return TimeClass::other;
  if (table.axes.size() == 1) return class_of_axis(graph, table.axes[0]);
  for (const std::uint32_t axis : table.axes) {
    const TimeClass c = class_of_axis(graph, axis);
    if (c != TimeClass::context && c != TimeClass::expert && c != TimeClass::data) {
      return TimeClass::other;
    }
  }
  return TimeClass::data;
}

std::vector<ProgramTable> make_program_tables(const ProgramTableInputs& inputs) {
  Builder builder(inputs);
  std::vector<ProgramTable> tables;
  tables.reserve(inputs.graph.program_count());
  for (std::uint32_t p = 0; p < inputs.graph.program_count(); ++p) {
    tables.push_back(builder.build(p));
  }
  for (ProgramTable& table : tables) {
    table.channel_by_number.assign(builder.channel_numbers(), kNoChannel);
    for (std::size_t c = 0; c < table.channels.size(); ++c) {
      table.channel_by_number[table.channels[c].number] = static_cast<std::uint8_t>(c);
    }
  }
  if (inputs.analytical) add_collective_times(inputs, tables);
  return tables;
}

}  // namespace exawarp::model
