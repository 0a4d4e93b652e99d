// The Builder first finds where each node's last task will be. Then it goes through the streams in
// order: a node becomes a task of its kind (program_kernels.h), a collective one for each stage
// (program_collectives.h), with times computed and dependencies reduced to the last task of each
// other stream. On the way it sums up the least time of each stream, so that a study that passes
// the end of time is refused.
#include "model/device/program_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/units.h"
#include "model/device/collective_times.h"
#include "model/device/program_collectives.h"
#include "model/device/program_kernels.h"
#include "model/device/supported.h"
#include "model/device/task_messages.h"
#include "model/network/packet/packet_network.h"

namespace exawarp::model {
namespace {

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

class Builder {
 public:
  explicit Builder(const ProgramTableInputs& inputs)
      : in_(inputs),
        compute_(inputs.accelerator, inputs.compute),
        kernels_(inputs.graph, inputs.accelerator, compute_, inputs.lag_ppb),
        collectives_(inputs),
        most_bytes_per_s_(find_most_bytes_per_s()) {}

  ProgramTable build(std::uint32_t index) {
    program_ = &in_.graph.program(index);
    index_ = index;
    table_ = {};
    table_.graph = &in_.graph;
    table_.ranks = in_.job.ranks.get();
    sends_.clear();
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
    kernels_.finish(table_);
    collectives_.finish();
    if (in_.accelerator.power.known()) table_.above_idle_mw.resize(table_.tasks.size());
    return std::move(table_);
  }

  [[nodiscard]] std::uint32_t channel_numbers() const { return collectives_.channel_numbers(); }

 private:
  // Where each node's last task is, for the dependencies on it; and room for all.
  void place_tasks() {
    places_.assign(program_->node_count(), {});
    std::size_t all = 0;
    for (std::uint32_t s = 0; s < program_->stream_count(); ++s) {
      std::uint32_t tasks = 0;
      for (std::uint32_t i = 0; i < program_->stream_length(s); ++i) {
        const std::uint32_t node = program_->node_at(s, i);
        const auto reader = program_->node(node);
        tasks += reader.getKind() == schema::NodeKind::COLLECTIVE
                     ? static_cast<std::uint32_t>(collectives_.stages_of(reader).size())
                     : 1;
        places_[node] = {s, tasks - 1};
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
        if (program_->stream(stream).getKind() == schema::StreamKind::HOST) {
          task.time_class = TimeClass::waiting;
          task.wire[0] = core::Time{static_cast<std::int64_t>(node.getDurationPs())};
        } else {
          task.time_class = TimeClass::compute;
          task.wire[0] = duration_of(node, node_index);
        }
        table_.events += task.wire[0].ps > 0 ? 1 : 0;
        takes_at_least(node_index, task.wire[0],
                       [&] { return "computes for " + core::format_time(task.wire[0]); });
        break;
      case schema::NodeKind::COLLECTIVE: return add_collective(task, stream);
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

  [[nodiscard]] core::Time duration_of(const schema::Node::Reader& node, std::uint32_t index) {
    try {
      const ProgramKernels::Kernel kernel = kernels_.use(node, table_);
      if (in_.accelerator.power.known()) {
        table_.above_idle_mw.resize(table_.tasks.size());
        table_.above_idle_mw.push_back(kernel.above_idle_mw);
      }
      return kernel.lasts;
    } catch (const core::InputError& error) {
      throw core::InputError(node_place(in_.graph, index_, index), error.what());
    }
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

  // Streams run in order, so of each other stream only the latest node matters.
  void add_dependencies(Task& task, const schema::Node::Reader& node, std::uint32_t stream) {
    task.first_dependency = static_cast<std::uint32_t>(table_.dependencies.size());
    for (std::uint32_t i = 0; i < node.getDependencyCount(); ++i) {
      const Dependency on = places_[program_->dependency(node, i)];
      if (on.stream == stream) continue;
      const auto mine = table_.dependencies.begin() + task.first_dependency;
      const auto same = std::find_if(mine, table_.dependencies.end(), [&](const Dependency& d) {
        return d.stream == on.stream;
      });
      if (same == table_.dependencies.end()) {
        table_.dependencies.push_back(on);
      } else {
        same->position = std::max(same->position, on.position);
      }
    }
    task.dependency_count =
        static_cast<std::uint16_t>(table_.dependencies.size() - task.first_dependency);
  }

  void add_collective(const Task& node, std::uint32_t stream) {
    std::uint16_t dependencies = node.dependency_count;
    for (const CollectiveTask& each : collectives_.tasks_of(index_, node.node, stream, table_)) {
      Task task = each.task;
      task.node = node.node;
      task.first_dependency = node.first_dependency;
      task.dependency_count = std::exchange(dependencies, 0);  // the first stage waits for all
      table_.tasks.push_back(task);
      table_.events += each.events;
      add_sent(table_.channels[task.channel].sent, each.messages, each.bytes);
      if (each.steps > 0) sends_at_least(node.node, each.steps, each.chunk_bytes);
    }
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
    task.wire = wires_of(in_, bytes);
    task.rendezvous = sends && bytes > in_.eager_max_bytes;
    table_.events += task.rendezvous ? 2 : 1;
    if (!sends) return;
    sends_at_least(task.node, 1, bytes);
    check_message(in_, index_, task.node, bytes);
    add_sent(sends_[{task.peer_is_absolute, task.peer}], 1, node.getCommBytes());
  }

  const ProgramTableInputs& in_;
  ComputeModels compute_;
  ProgramKernels kernels_;
  ProgramCollectives collectives_;
  std::int64_t most_bytes_per_s_;
  std::map<std::pair<bool, std::int32_t>, Sent> sends_;
  std::vector<Dependency> places_;  // by node: its last task
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
