// The checks of one program; see validate_program.h.
//
// A program cannot deadlock by itself: check_finishes() runs it as a device does, with all nodes
// taking no time and all messages there. A stream's head waits for one dependency at a time, and
// a dependency is done when its stream has passed it; so the state is one position a stream, and
// the cost O(nodes * streams + dependencies) at worst, O(nodes + dependencies) in practice.
#include "model/workload/validate_program.h"

#include <fmt/format.h>
#include <kj/exception.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/digest.h"
#include "core/error.h"
#include "model/collective/collective.h"

namespace exawarp::model {
namespace {

// Enumerators are 0 to these; a file may hold any 16 bits.
constexpr auto kStreamKindLast = schema::StreamKind::HOST;
constexpr auto kNodeKindLast = schema::NodeKind::MARKER;
constexpr auto kOperationLast = schema::Operation::SCAN;
constexpr auto kCollectiveLast = schema::CollectiveType::PERMUTE;
constexpr auto kPhaseLast = schema::Phase::OVERLAPPED;
constexpr auto kDataTypeLast = schema::DataType::NVFP4;
constexpr auto kMemoryPlaceLast = schema::MemoryPlace::HOST;

// The sizes of the communicators of a family: one, where they are all the same.
std::pair<std::uint32_t, std::uint32_t> least_and_most_members(const GroupTable& table) {
  if (!table.by_lists) return {table.size, table.size};
  std::uint32_t least = 0xffffffff, most = 0;
  for (std::size_t i = 1; i < table.list_first.size(); ++i) {
    const std::uint32_t size = table.list_first[i] - table.list_first[i - 1];
    least = std::min(least, size);
    most = std::max(most, size);
  }
  return {least, most};
}

class ProgramCheck {
 public:
  ProgramCheck(const WorkloadGraph& graph, std::uint32_t index, ProgramTables& tables)
      : graph_(graph), program_(graph.program(index)), index_(index), tables_(tables) {}

  void run() {
    check_streams();
    check_origins();
    check_memory();
    places_.reserve(program_.node_count());
    for (node_ = 0; node_ < program_.node_count(); ++node_) {
      const schema::Node::Reader node = program_.node(node_);
      check_node(node);
      places_.push_back({node.getStream(), node.getPosition(), node.getFirstDependency(),
                         node.getDependencyCount(),
                         node.getKind() == schema::NodeKind::COLLECTIVE});
    }
    check_finishes();
    collect_uses();
  }

 private:
  template <class... Values>
  [[noreturn]] void refuse(fmt::format_string<Values...> text, Values&&... values) const {
    throw core::InputError(program_place(graph_, index_),
                           fmt::format(text, std::forward<Values>(values)...));
  }
  template <class... Values>
  [[noreturn]] void refuse_node(fmt::format_string<Values...> text, Values&&... values) const {
    throw core::InputError(fmt::format("{} nodes[{}]", program_place(graph_, index_), node_),
                           fmt::format(text, std::forward<Values>(values)...));
  }
  template <class Enum>
  void check_enum(const char* field, Enum value, Enum last) const {
    if (value <= last) return;
    refuse_node("{}: no such value: {}; expected 0 to {}", field, static_cast<unsigned>(value),
                static_cast<unsigned>(last));
  }
  void check_streams() const;
  void check_origins() const;
  void check_memory() const;
  void check_node(const schema::Node::Reader& node);
  void check_place_in_stream(const schema::Node::Reader& node) const;
  void check_dependencies(const schema::Node::Reader& node);
  void check_sizes(const schema::Node::Reader& node);
  void check_shape(const schema::Node::Reader& node) const;
  void check_host(const schema::Node::Reader& node) const;
  void check_peer(const schema::Node::Reader& node) const;
  void check_offset(std::int64_t peer, std::uint8_t axis) const;
  void check_collective(const schema::Node::Reader& node) const;
  void check_no_collective(const schema::Node::Reader& node) const;
  void check_size(const char* field, std::uint64_t value, std::uint64_t limit,
                  std::uint64_t& sum) const;
  void check_finishes() const;
  void collect_uses();

  // What is asked of nodes again, once each has been checked.
  struct Place {
    std::uint32_t stream, position, first_dependency, dependency_count;
    bool is_collective;
  };

  const WorkloadGraph& graph_;
  const Program& program_;
  std::uint32_t index_;
  ProgramTables& tables_;
  std::vector<Place> places_;  // by node
  std::uint32_t node_ = 0;
  std::uint64_t dependencies_ = 0;  // of the nodes so far
  std::uint64_t flops_ = 0, bytes_read_ = 0, bytes_written_ = 0, comm_bytes_ = 0, duration_ps_ = 0;
};

void ProgramCheck::check_streams() const {
  const std::uint32_t nodes = program_.node_count();
  if (program_.stream_count() > kStreamsMax) {
    refuse("streams: too many: {}; expected at most {}", program_.stream_count(), kStreamsMax);
  }
  if (program_.order_count() != nodes) {
    refuse("order: has {} entries; expected one for each of the {} nodes", program_.order_count(),
           nodes);
  }
  std::uint64_t total = 0;
  for (std::uint32_t i = 0; i < program_.stream_count(); ++i) {
    const schema::Stream::Reader stream = program_.stream(i);
    if (stream.getKind() > kStreamKindLast) {
      refuse("streams[{}]: kind: no such value: {}; expected 0 to {}", i,
             static_cast<unsigned>(stream.getKind()), static_cast<unsigned>(kStreamKindLast));
    }
    if (stream.getFirst() > nodes || stream.getCount() > nodes - stream.getFirst()) {
      refuse("streams[{}]: nodes {} to {} (exclusive) of the order; expected at most {}", i,
             stream.getFirst(), std::uint64_t{stream.getFirst()} + stream.getCount(), nodes);
    }
    total += stream.getCount();
  }
  if (total != nodes) {
    refuse("streams: hold {} nodes in all; expected each of the {} nodes once", total, nodes);
  }
}

void ProgramCheck::check_origins() const {
  const std::uint32_t count = program_.origin_count();
  if (count != 0 && count != program_.node_count()) {
    refuse("origins: has {} entries; expected none, or one for each of the {} nodes", count,
           program_.node_count());
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    const schema::Origin::Reader origin = program_.origin(i);
    if (origin.getRecord() >= graph_.records().size() ||
        origin.getControlCount() > program_.node(i).getDependencyCount()) {
      refuse("origins[{}]: record {} or controlCount {} out of range", i, origin.getRecord(),
             origin.getControlCount());
    }
  }
}

void ProgramCheck::check_memory() const {
  const auto check = [this](const char* field, std::uint64_t value) {
    if (value < kSizeMax) return;
    refuse("{}: out of range: {}; expected less than {}", field, value, kSizeMax);
  };
  check("parameterCount", program_.parameter_count());
  if (!program_.memory()) return;
  const ProgramMemory& memory = *program_.memory();
  check("memory: weights", memory.weights);
  check("memory: gradients", memory.gradients);
  check("memory: optimizer", memory.optimizer);
  for (std::size_t i = 0; i < memory.timeline.size(); ++i) {
    const ProgramMemory::Point& point = memory.timeline[i];
    if (point.node >= program_.node_count()) {
      refuse("memory: timeline[{}]: no such node: {}; expected less than {}", i, point.node,
             program_.node_count());
    }
    if (point.bytes >= kSizeMax) {
      refuse("memory: timeline[{}]: bytes: out of range: {}; expected less than {}", i, point.bytes,
             kSizeMax);
    }
  }
}

// Readers look at fields before kinds, so each field is sound whatever the kind. What is not looked
// at here, tag, microBatch and layer, has a meaning for each of its values.
void ProgramCheck::check_node(const schema::Node::Reader& node) {
  check_enum("kind", node.getKind(), kNodeKindLast);
  check_enum("operation", node.getOperation(), kOperationLast);
  check_enum("collective", node.getCollective(), kCollectiveLast);
  check_enum("phase", node.getPhase(), kPhaseLast);
  check_enum("dataType", node.getDataType(), kDataTypeLast);
  check_enum("place", node.getPlace(), kMemoryPlaceLast);
  check_place_in_stream(node);
  check_dependencies(node);
  check_sizes(node);
  check_shape(node);
  const std::uint32_t names = graph_.name_count();
  if (node.getName() != schema::NO_NAME && node.getName() >= names) {
    refuse_node("name: no such name: {}; expected less than {}", node.getName(), names);
  }
  if (node.getKind() == schema::NodeKind::COLLECTIVE) {
    check_collective(node);
  } else {
    check_no_collective(node);
  }
  check_peer(node);
  check_host(node);
}

// With as many places as nodes (check_streams), a place for each node means a node for each place.
void ProgramCheck::check_place_in_stream(const schema::Node::Reader& node) const {
  const std::uint32_t stream = node.getStream();
  if (stream >= program_.stream_count()) {
    refuse_node("stream: no such stream: {}; expected less than {}", stream,
                program_.stream_count());
  }
  const std::uint32_t length = program_.stream_length(stream);
  if (node.getPosition() >= length) {
    refuse_node("position: {} in stream {}; expected less than its length, {}", node.getPosition(),
                stream, length);
  }
  const std::uint32_t there = program_.node_at(stream, node.getPosition());
  if (there != node_) {
    refuse_node("position: place {} of stream {} holds node {}; expected this node",
                node.getPosition(), stream, there);
  }
}

void ProgramCheck::check_dependencies(const schema::Node::Reader& node) {
  const std::uint32_t count = program_.dependency_count();
  const std::uint32_t first = node.getFirstDependency();
  if (first > count || node.getDependencyCount() > count - first) {
    refuse_node("dependencies: {} to {} (exclusive); expected at most {}", first,
                std::uint64_t{first} + node.getDependencyCount(), count);
  }
  dependencies_ += node.getDependencyCount();
  if (dependencies_ > count) {
    refuse_node("dependencies: nodes share entries of the list; expected each its own");
  }
  for (std::uint32_t i = 0; i < node.getDependencyCount(); ++i) {
    const std::uint32_t on = program_.dependency(node, i);
    if (on >= program_.node_count()) {
      refuse_node("dependencies: no such node: {}; expected less than {}", on,
                  program_.node_count());
    }
    if (on == node_) refuse_node("dependencies: the node waits for itself");
  }
}

void ProgramCheck::check_size(const char* field, std::uint64_t value, std::uint64_t limit,
                              std::uint64_t& sum) const {
  if (value >= limit) {
    refuse_node("{}: out of range: {}; expected less than {}", field, value, limit);
  }
  sum += value;  // both below 2^62: no overflow
  if (sum >= kSizeMax) {
    refuse_node("{}: the program's nodes sum up to {} so far; expected less than {}", field, sum,
                kSizeMax);
  }
}

void ProgramCheck::check_sizes(const schema::Node::Reader& node) {
  check_size("flops", node.getFlops(), kSizeMax, flops_);
  check_size("bytesRead", node.getBytesRead(), kSizeMax, bytes_read_);
  check_size("bytesWritten", node.getBytesWritten(), kSizeMax, bytes_written_);
  check_size("commBytes", node.getCommBytes(), kCommBytesMax, comm_bytes_);
  if (node.getDurationPs() != schema::NO_DURATION) {
    check_size("durationPs", node.getDurationPs(), kDurationMaxPs, duration_ps_);
  }
}

void ProgramCheck::check_shape(const schema::Node::Reader& node) const {
  if (node.getShape() == 0) return;
  if (node.getKind() != schema::NodeKind::COMPUTE) {
    refuse_node("shape: {} for a node that computes nothing; expected 0", node.getShape());
  }
  if (node.getShape() > graph_.shapes().size()) {
    refuse_node("shape: no such shape: {}; expected at most {}", node.getShape(),
                graph_.shapes().size());
  }
}

void ProgramCheck::check_host(const schema::Node::Reader& node) const {
  if (program_.stream(node.getStream()).getKind() != schema::StreamKind::HOST) return;
  if (node.getKind() == schema::NodeKind::MARKER) return;
  if (node.getKind() != schema::NodeKind::COMPUTE || node.getDurationPs() == schema::NO_DURATION) {
    refuse_node("kind: of another kind than stream {}, a host's, has; expected a computation of a "
                "recorded duration, or a marker",
                node.getStream());
  }
}

void ProgramCheck::check_peer(const schema::Node::Reader& node) const {
  const bool is_message =
      node.getKind() == schema::NodeKind::SEND || node.getKind() == schema::NodeKind::RECEIVE;
  const std::int64_t peer = node.getPeer();
  const std::uint8_t axis = node.getPeerAxis();
  if (!is_message && peer == 0 && axis == 0) return;  // as in a message without these fields
  if (axis == schema::NO_AXIS) {
    if (peer < 0 || peer >= graph_.device_count()) {
      refuse_node("peer: no such device: {}; expected 0 to {}", peer, graph_.device_count() - 1);
    }
    if (is_message && graph_.program_of({static_cast<std::uint32_t>(peer)}) == index_) {
      refuse_node("peer: device {} runs this program, so it is its own peer", peer);
    }
    return;
  }
  if (axis >= graph_.axis_count()) {
    refuse_node("peerAxis: no such axis: {}; expected less than {}, or {}", axis,
                graph_.axis_count(), schema::NO_AXIS);
  }
  if (is_message && peer == 0) {
    refuse_node("peer: offset 0 along axis {}: a device is its own peer", axis);
  }
  check_offset(peer, axis);
}

void ProgramCheck::check_offset(std::int64_t peer, std::uint8_t axis) const {
  const std::int64_t size = graph_.axis_size(axis);
  const CoordinateSpan span = tables_.spans[index_][axis];
  if (span.first > span.last) {  // no device runs the program
    if (peer > -size && peer < size) return;
    refuse_node("peer: offset {} along axis {}; expected {} to {}", peer, axis, 1 - size, size - 1);
  }
  if (span.first + peer < 0 || span.last + peer >= size) {
    refuse_node(
        "peer: offset {} along axis {}, from coordinates {} to {}, leaves the axis; expected peers "
        "in 0 to {}",
        peer, axis, span.first, span.last, size - 1);
  }
}

void ProgramCheck::check_no_collective(const schema::Node::Reader& node) const {
  const auto check = [this](const char* field, std::uint32_t value) {
    if (value == 0) return;
    refuse_node("{}: {} for a node that is no collective; expected 0", field, value);
  };
  check("group", node.getGroup());
  check("root", node.getRoot());
  check("sizes", node.getSizes());
}

void ProgramCheck::check_collective(const schema::Node::Reader& node) const {
  if (node.getGroup() >= graph_.group_count()) {
    refuse_node("group: no such group: {}; expected less than {}", node.getGroup(),
                graph_.group_count());
  }
  const auto [least, most] = least_and_most_members(graph_.group(node.getGroup()));
  if (most == 0) {
    refuse_node("group: group {} has no members; expected at least one", node.getGroup());
  }
  const bool permutes = node.getCollective() == schema::CollectiveType::PERMUTE;
  const bool has_root = permutes || is_rooted(node.getCollective());
  if (node.getRoot() != 0 && (!has_root || node.getRoot() >= least)) {
    refuse_node("root: out of range: {}; expected {}", node.getRoot(),
                has_root ? fmt::format("less than {}, the members of the group", least)
                         : "0 for a collective without a root");
  }
  if (node.getSizes() == 0) return;
  if (node.getCollective() != schema::CollectiveType::ALL_TO_ALL) {
    refuse_node("sizes: {} for a collective that is no all-to-all; expected 0", node.getSizes());
  }
  if (node.getSizes() > graph_.size_tables().size()) {
    refuse_node("sizes: no such table: {}; expected at most {}", node.getSizes(),
                graph_.size_tables().size());
  }
  const std::uint64_t entries = graph_.size_tables()[node.getSizes() - 1].size();
  if (least != most || (entries != most && entries != std::uint64_t{most} * most)) {
    refuse_node("sizes: a table of {} entries for groups of {} to {} members; expected one size of "
                "group, and as many entries as members or their square", entries, least, most);
  }
}

void ProgramCheck::check_finishes() const {
  const std::uint32_t streams = program_.stream_count();
  std::vector<std::uint32_t> cursor(streams), next_dependency(streams);
  const auto done = [&](std::uint32_t node) {
    return cursor[places_[node].stream] > places_[node].position;
  };
  // Moves a stream as far as it goes; a head resumes at the dependency it waited for.
  const auto advance = [&](std::uint32_t stream) {
    const std::uint32_t before = cursor[stream];
    const std::uint32_t length = program_.stream_length(stream);
    for (; cursor[stream] < length; ++cursor[stream]) {
      const Place& node = places_[program_.node_at(stream, cursor[stream])];
      std::uint32_t& next = next_dependency[stream];
      while (next < node.dependency_count &&
             done(program_.dependency_entry(node.first_dependency + next))) {
        ++next;
      }
      if (next < node.dependency_count) break;
      next = 0;
    }
    return cursor[stream] != before;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::uint32_t stream = 0; stream < streams; ++stream) moved |= advance(stream);
  }
  for (std::uint32_t stream = 0; stream < streams; ++stream) {
    if (cursor[stream] == program_.stream_length(stream)) continue;
    const std::uint32_t head = program_.node_at(stream, cursor[stream]);
    const std::uint32_t on = program_.dependency(program_.node(head), next_dependency[stream]);
    refuse(
        "nodes[{}]: waits for nodes[{}], which waits for it through dependencies and the order "
        "of streams; expected no cycle",
        head, on);
  }
}

void ProgramCheck::collect_uses() {
  std::map<std::uint32_t, core::Hasher> hashes;
  for (std::uint32_t stream = 0; stream < program_.stream_count(); ++stream) {
    for (std::uint32_t at = 0; at < program_.stream_length(stream); ++at) {
      node_ = program_.node_at(stream, at);
      if (!places_[node_].is_collective) continue;
      const schema::Node::Reader node = program_.node(node_);
      const auto [found, is_new] = tables_.uses[index_].try_emplace(node.getGroup());
      GroupUse& use = found->second;
      if (is_new) use.stream = stream;
      if (use.stream != stream) {
        refuse_node("group: collectives of group {} are on streams {} and {}; expected one stream",
                    node.getGroup(), use.stream, stream);
      }
      core::Hasher& hash = hashes[node.getGroup()];
      hash.word(static_cast<std::uint64_t>(node.getCollective()));
      hash.word(node.getCommBytes());
      hash.word(std::uint64_t{node.getRoot()} << 32 | node.getSizes());
      ++use.count;
      use.hash = hash.value();
    }
  }
}

}  // namespace

std::string program_place(const WorkloadGraph& graph, std::uint32_t program) {
  return fmt::format("{}: programs[{}] \"{}\"", graph.place(), program,
                     printable(graph.program(program).name()));
}

void check_program(const WorkloadGraph& graph, std::uint32_t program, ProgramTables& tables) {
  ProgramCheck(graph, program, tables).run();
}

void decoding(const std::string& place, const std::function<void()>& read) {
  try {
    read();
  } catch (const kj::Exception& problem) {
    throw core::InputError(place,
                           "not a workload graph: " + printable(problem.getDescription().cStr()));
  }
}

}  // namespace exawarp::model
