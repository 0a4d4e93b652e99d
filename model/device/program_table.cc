#include "model/device/program_table.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "model/collective/ring.h"
#include "model/device/supported.h"

namespace exawarp::model {
namespace {

std::optional<TimeClass> class_named(std::string_view name) {
  for (auto c = index_of(TimeClass::tensor); c < index_of(TimeClass::other); ++c) {
    if (name == kTimeClassNames[c]) return static_cast<TimeClass>(c);
  }
  return std::nullopt;
}

// The common size of a family's communicators, or nothing where they differ.
std::optional<std::uint32_t> uniform_size(const WorkloadGraph& graph, std::uint32_t group) {
  const auto reader = graph.root().getGroups()[group];
  if (!reader.isLists()) return graph.membership(group, DeviceId{0}).size;
  const auto lists = reader.getLists();
  std::uint64_t listed = 0;
  for (const auto list : lists) {
    if (list.size() != lists[0].size()) return std::nullopt;
    listed += list.size();
  }
  // A device in no list is a group of one.
  if (lists.size() == 0 || listed < graph.device_count()) return std::nullopt;
  return lists[0].size();
}

class Builder {
 public:
  explicit Builder(const ProgramTableInputs& inputs) : in_(inputs) {
    const std::uint32_t groups = in_.graph.root().getGroups().size();
    for (std::uint32_t g = 0; g < groups; ++g) {
      group_class_.push_back(class_of_group(in_.graph, g));
      group_size_.push_back(uniform_size(in_.graph, g));
    }
  }

  ProgramTable build(std::uint32_t index) {
    program_ = &in_.graph.program(index);
    index_ = index;
    table_ = {};
    sends_.clear();
    local_channel_.clear();
    table_.first_task.push_back(0);
    for (std::uint32_t s = 0; s < program_->stream_count(); ++s) {
      const std::uint32_t length = program_->stream_length(s);
      for (std::uint32_t i = 0; i < length; ++i) add(s, program_->node_at(s, i));
      table_.first_task.push_back(static_cast<std::uint32_t>(table_.tasks.size()));
    }
    for (const auto& [peer, sends] : sends_) {
      table_.sends.push_back({.peer = peer.second, .absolute = peer.first, .sends = sends});
    }
    return std::move(table_);
  }

  // Channels get their numbers in order of first use, the same on every rank.
  [[nodiscard]] std::uint32_t channel_numbers() const {
    return static_cast<std::uint32_t>(numbers_.size());
  }

 private:
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
        break;
      case schema::NodeKind::COLLECTIVE: add_collective(task, node, stream); break;
      case schema::NodeKind::SEND:
      case schema::NodeKind::RECEIVE: add_point_to_point(task, node); break;
      case schema::NodeKind::MARKER: break;
    }
    table_.tasks.push_back(task);
  }

  [[nodiscard]] core::Time duration_of(std::uint32_t node) const {
    try {
      return node_duration(in_.accelerator, program_->node(node), in_.fidelity);
    } catch (const core::InputError& error) {
      throw core::InputError(node_place(in_.graph, index_, node), error.what());
    }
  }

  // Streams run in order, so of each other stream only the latest node matters.
  void add_dependencies(Task& task, const schema::Node::Reader& node, std::uint32_t stream) {
    task.first_dependency = static_cast<std::uint32_t>(table_.dependencies.size());
    for (std::uint32_t i = 0; i < node.getDependencyCount(); ++i) {
      const auto on = program_->node(program_->dependency(node, i));
      if (on.getStream() == stream) continue;
      const auto mine = table_.dependencies.begin() + task.first_dependency;
      const auto same = std::find_if(mine, table_.dependencies.end(), [&](const Dependency& d) {
        return d.stream == on.getStream();
      });
      if (same == table_.dependencies.end()) {
        table_.dependencies.push_back({on.getStream(), on.getPosition()});
      } else {
        same->position = std::max(same->position, on.getPosition());
      }
    }
    task.dependency_count =
        static_cast<std::uint16_t>(table_.dependencies.size() - task.first_dependency);
  }

  void set_wire(Task& task, std::int64_t bytes) {
    task.wire = {in_.network.wire_time(bytes, Interface::node),
                 in_.network.wire_time(bytes, Interface::scale_out)};
  }

  void add_collective(Task& task, const schema::Node::Reader& node, std::uint32_t stream) {
    const std::uint32_t group = node.getGroup();
    task.kind = TaskKind::collective;
    task.time_class = group_class_[group];
    task.collective = static_cast<std::uint8_t>(node.getCollective());
    task.channel = channel_of(stream, group);
    ++table_.channels[task.channel].collectives;
    const auto bytes = static_cast<std::int64_t>(node.getCommBytes());
    if (!group_size_[group].has_value()) {
      task.steps = kStepsVary;
      task.wire[0] = {bytes};
      return;
    }
    const RingPlan plan = ring_plan(node.getCollective(), bytes, *group_size_[group]);
    task.steps = plan.steps;
    table_.events += plan.steps;
    set_wire(task, plan.chunk_bytes);
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
    set_wire(task, static_cast<std::int64_t>(node.getCommBytes()));
    ++table_.events;
    if (sends) ++sends_[{task.peer_is_absolute, task.peer}];
  }

  std::uint8_t channel_of(std::uint32_t stream, std::uint32_t group) {
    const auto [it, fresh] = local_channel_.try_emplace(
        {stream, group}, static_cast<std::uint8_t>(table_.channels.size()));
    if (fresh) {
      const auto before = std::count_if(table_.channels.begin(), table_.channels.end(),
                                        [&](const Channel& c) { return c.group == group; });
      const auto next = static_cast<std::uint16_t>(numbers_.size());
      const std::uint16_t number =
          numbers_.try_emplace({static_cast<std::uint32_t>(before), group}, next).first->second;
      table_.channels.push_back({.group = group, .stream = stream, .number = number});
    }
    return it->second;
  }

  using ChannelKey = std::pair<std::uint32_t, std::uint32_t>;  // stream or its rank, group
  const ProgramTableInputs& in_;
  std::vector<TimeClass> group_class_;
  std::vector<std::optional<std::uint32_t>> group_size_;
  std::map<ChannelKey, std::uint16_t> numbers_;  // by rank; of all programs
  std::map<ChannelKey, std::uint8_t> local_channel_;
  std::map<std::pair<bool, std::int32_t>, std::uint64_t> sends_;
  const Program* program_ = nullptr;
  std::uint32_t index_ = 0;
  ProgramTable table_;
};

}  // namespace

TimeClass class_of_axis(const WorkloadGraph& graph, std::uint32_t axis) {
  const std::string_view name = graph.root().getAxes()[axis].getName().cStr();
  return class_named(name).value_or(TimeClass::other);
}

TimeClass class_of_group(const WorkloadGraph& graph, std::uint32_t group) {
  const auto reader = graph.root().getGroups()[group];
  if (const auto named = class_named(reader.getName().cStr())) return *named;
  if (reader.isLists() || reader.getAxes().size() == 0) return TimeClass::other;
  std::uint32_t slowest = reader.getAxes()[0];
  for (const std::uint32_t axis : reader.getAxes()) slowest = std::max(slowest, axis);
  return class_of_axis(graph, slowest);
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
  return tables;
}

}  // namespace exawarp::model
