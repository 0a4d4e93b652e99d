// A stage becomes a plain ring, for which devices have a fast path, or is run step by step.
#include "model/device/program_collectives.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "model/collective/algorithm.h"
#include "model/collective/cost.h"
#include "model/collective/ring.h"
#include "model/device/supported.h"
#include "model/device/task_messages.h"
#include "model/workload/validate_program.h"

namespace exawarp::model {
namespace {

constexpr std::int64_t kTogetherMax = std::int64_t{1} << 60;  // bytes of all members
constexpr std::size_t kChannelNumbersMax = 65'535;  // they travel in 16 bits

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

// Of a member.
Collective collective_of(const CollectiveStage& stage, const schema::Node::Reader& node,
                         const WorkloadGraph& graph) {
  Collective c{.type = stage.type, .algorithm = stage.choice.algorithm, .bytes = stage.bytes,
               .members = stage.members_max};
  c.root = is_rooted(c.type) ? node.getRoot() : 0;
  c.shift = c.type == schema::CollectiveType::PERMUTE ? node.getRoot() : 0;
  c.lanes = lanes_of(stage.choice, {.type = c.type, .bytes = c.bytes, .members = c.members});
  c.both_ways = stage.choice.both_ways;
  c.node_members = stage.node_members;
  if (node.getSizes() != 0) c.sizes = graph.size_tables()[node.getSizes() - 1];
  return c;
}

}  // namespace

ProgramCollectives::ProgramCollectives(const ProgramTableInputs& inputs)
    : in_(inputs), stages_(inputs.job, inputs.network, inputs.rules) {
  for (std::uint32_t g = 0; g < in_.graph.group_count(); ++g) {
    group_class_.push_back(class_of_group(in_.graph, g));
  }
}

ProgramCollectives::Identity ProgramCollectives::identity_of(const schema::Node::Reader& node) {
  const auto type = static_cast<std::uint64_t>(node.getCollective());
  return {type << 16 | node.getGroup(), node.getCommBytes(),
          std::uint64_t{node.getRoot()} << 32 | node.getSizes()};
}

const std::vector<CollectiveStage>& ProgramCollectives::stages_of(
    const schema::Node::Reader& node) {
  std::vector<CollectiveStage>& known = known_stages_[identity_of(node)];
  if (known.empty()) known = stages_.of(node);
  return known;
}

const std::vector<CollectiveTask>& ProgramCollectives::tasks_of(std::uint32_t program,
                                                                std::uint32_t node,
                                                                std::uint32_t stream,
                                                                ProgramTable& table) {
  const schema::Node::Reader reader = in_.graph.program(program).node(node);
  std::vector<CollectiveTask>& known = known_tasks_[identity_of(reader)];
  if (!known.empty()) return known;
  for (const CollectiveStage& stage : stages_of(reader)) {
    known.push_back(task_of(stage, {program, node, stream}, table));
  }
  return known;
}

void ProgramCollectives::finish() {
  known_tasks_.clear();
  local_channel_.clear();
}

CollectiveTask ProgramCollectives::task_of(const CollectiveStage& stage, const Place& place,
                                           ProgramTable& table) {
  const std::uint32_t group = stage.among.group;
  const bool steps = in_.analytical || !stage.choice.is_plain_ring() || !ring_supports(stage.type);
  CollectiveTask out;
  out.task.kind = steps ? TaskKind::stepped : TaskKind::collective;
  out.task.time_class = group_class_[group];
  out.task.collective = static_cast<std::uint8_t>(stage.type);
  out.task.channel = channel_of({stage.among, steps}, place, table);
  out.bytes = bytes_sent(stage);
  if (steps) {
    make_stepped(out, stage, place, table);
  } else {
    make_ring(out, stage, place);
  }
  return out;
}

void ProgramCollectives::make_stepped(CollectiveTask& out, const CollectiveStage& stage,
                                      const Place& place, ProgramTable& table) const {
  if (stage.bytes > kTogetherMax / stage.members_max) {
    throw core::InputError(
        node_place(in_.graph, place.program, place.node),
        fmt::format("commBytes: {} for each of {} members; expected at most {} in all",
                    stage.bytes, stage.members_max, kTogetherMax));
  }
  Collective c =
      collective_of(stage, in_.graph.program(place.program).node(place.node), in_.graph);
  check_message(in_, place.program, place.node, largest_message(c, stage.choice));
  out.messages = collective_messages(c) / c.members;
  out.events = in_.analytical ? 3 : out.messages + 1;
  out.task.tag = static_cast<std::uint32_t>(table.stepped.size());
  c.members = stage.members.value_or(0);
  table.stepped.push_back({c, stage.choice, static_cast<std::uint8_t>(out.task.channel)});
}

void ProgramCollectives::make_ring(CollectiveTask& out, const CollectiveStage& stage,
                                   const Place& place) const {
  if (!stage.members) {
    out.task.steps = kStepsVary;
    out.task.wire[0] = {stage.bytes};
    out.messages = 1;
    check_message(in_, place.program, place.node, stage.bytes);
    return;
  }
  const RingPlan plan = ring_plan(stage.type, stage.bytes, *stage.members);
  out.task.steps = plan.steps;
  out.task.wire = wires_of(in_, plan.chunk_bytes);
  out.events = out.messages = out.steps = plan.steps;
  out.chunk_bytes = plan.chunk_bytes;
  check_message(in_, place.program, place.node, plan.chunk_bytes);
}

std::uint8_t ProgramCollectives::channel_of(const ChannelKey& key, const Place& place,
                                            ProgramTable& table) {
  const auto [it, fresh] =
      local_channel_.try_emplace(key, static_cast<std::uint8_t>(table.channels.size()));
  if (!fresh) return it->second;
  const auto next = static_cast<std::uint16_t>(numbers_.size());
  const std::uint16_t number = numbers_.try_emplace(key, next).first->second;
  table.channels.push_back(
      {.among = key.among, .stream = place.stream, .number = number, .stepped = key.stepped});
  if (table.channels.size() > kChannelSlotsMax || numbers_.size() > kChannelNumbersMax) {
    throw core::InputError(
        program_place(in_.graph, place.program),
        fmt::format("runs collectives in too many groups: {}, {} with the programs before; "
                    "expected at most {} and {}",
                    table.channels.size(), numbers_.size(), kChannelSlotsMax,
                    kChannelNumbersMax));
  }
  return it->second;
}

}  // namespace exawarp::model
