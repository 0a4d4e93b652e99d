// Thin over ProgramBuilder: a node gets its stream by role, and only dependencies that no stream
// implies.
#include "model/generate/program_writer.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "core/check.h"
#include "core/random.h"

namespace exawarp::model {
namespace {

constexpr std::array<const char*, kStreamRoles> kStreamNames{"compute",
                                                             "tensor",
                                                             "data",
                                                             "pipeline",
                                                             "embedding",
                                                             "context",
                                                             "expert",
                                                             "expert nodes",
                                                             "expert tensor",
                                                             "expert data",
                                                             "data gather",
                                                             "expert gather",
                                                             "data replica",
                                                             "expert replica",
                                                             "receive forward",
                                                             "send forward",
                                                             "receive gradient",
                                                             "send gradient",
                                                             "receive forward far",
                                                             "send forward far",
                                                             "receive gradient far",
                                                             "send gradient far",
                                                             "storage",
                                                             "host"};

schema::StreamKind kind_of(StreamRole role) {
  if (role == kHost) return schema::StreamKind::HOST;
  return role == kCompute ? schema::StreamKind::COMPUTE : schema::StreamKind::COMMUNICATION;
}

}  // namespace

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

std::uint32_t ProgramWriter::compute(const OperationCost& cost, std::initializer_list<Node> after) {
  NodeFields fields = context_;
  fields.kind = schema::NodeKind::COMPUTE;
  fields.stream = stream(kCompute);
  fields.operation = cost.operation;
  fields.name = name(cost.name);
  fields.flops = cost.flops;
  fields.bytes_read = cost.bytes_read;
  fields.bytes_written = cost.bytes_written;
  if (cost.data_type != schema::DataType::NONE) fields.data_type = cost.data_type;
  fields.shape = shape(cost);
  const std::uint32_t node = add_launched(fields, after, cost.launches);
  last_compute_ = node;
  return node;
}

std::uint32_t ProgramWriter::collective(const Collective& what, std::initializer_list<Node> after) {
  NodeFields fields = context_;
  fields.kind = schema::NodeKind::COLLECTIVE;
  fields.stream = stream(what.stream);
  fields.collective = what.type;
  fields.group = what.group;
  fields.name = name(what.name);
  fields.comm_bytes = what.bytes;
  fields.data_type = what.data_type;
  fields.root = what.root;
  fields.sizes = what.sizes;
  return add(fields, after);
}

std::uint32_t ProgramWriter::storage(const char* text, std::uint64_t read, std::uint64_t written,
                                     std::initializer_list<Node> after) {
  NodeFields fields = context_;
  fields.kind = schema::NodeKind::MEMORY;
  fields.place = schema::MemoryPlace::HOST;
  fields.stream = stream(kStorage);
  fields.name = name(text);
  fields.bytes_read = read;
  fields.bytes_written = written;
  return add_launched(fields, after, 0);
}

std::uint32_t ProgramWriter::marker(const char* text, std::initializer_list<Node> after) {
  NodeFields fields = context_;
  fields.kind = schema::NodeKind::MARKER;
  fields.data_type = schema::DataType::NONE;
  fields.stream = stream(kCompute);
  fields.name = name(text);
  return add_launched(fields, after, 0);
}

std::uint32_t ProgramWriter::host_wait(const char* text, std::uint64_t picoseconds,
                                       std::initializer_list<Node> after) {
  NodeFields fields{.operation = schema::Operation::OTHER, .phase = context_.phase};
  fields.stream = stream(kCompute);
  fields.name = name(text);
  fields.duration_ps = picoseconds;
  return add_launched(fields, after, 0);
}

std::uint32_t ProgramWriter::add(const NodeFields& fields, std::initializer_list<Node> after) {
  return add_launched(fields, after, 1);
}

std::uint32_t ProgramWriter::add_launched(const NodeFields& fields,
                                          std::initializer_list<Node> after,
                                          std::uint32_t launches) {
  std::array<std::uint32_t, 16> nodes{};
  EXAWARP_CHECK(after.size() <= nodes.size(), after.size());
  std::size_t count = 0;
  for (const Node& node : after) {
    if (node) nodes[count++] = *node;
  }
  Before before{.after = {nodes.data(), count}, .awaited = {}, .by_host = {}};
  if (fields.kind == schema::NodeKind::COMPUTE) before.awaited = awaited_;
  if (launched_.is_used() && launches > 0) {
    before.launches = launches;
    before.by_host = by_host_;
  }
  const std::uint32_t node = held_ == nullptr ? put(fields, before) : hold(fields, before);
  if (fields.kind == schema::NodeKind::COMPUTE) awaited_.clear();
  if (before.launches > 0) by_host_.clear();
  return node;
}

std::uint32_t ProgramWriter::hold(const NodeFields& fields, const Before& before) {
  const auto kept = [](Nodes nodes) { return std::vector(nodes.begin(), nodes.end()); };
  held_->nodes.push_back(
      {fields, kept(before.after), kept(before.awaited), kept(before.by_host), before.launches});
  placed_.push_back(kHeld);  // until it is
  return kHeld + static_cast<std::uint32_t>(placed_.size() - 1);
}

// Dependencies on the node's own stream are left out: its order says the same.
std::uint32_t ProgramWriter::put(const NodeFields& fields, const Before& before) {
  std::array<std::uint32_t, 17> nodes{};
  std::size_t count = 0;
  if (before.launches > 0) nodes[count++] = put_launch(fields, before);
  for (const std::uint32_t node : before.after) {
    if (program_.stream_of(placed(node)) != fields.stream) nodes.at(count++) = placed(node);
  }
  for (const std::uint32_t each : before.awaited) {
    const std::uint32_t node = placed(each);
    const auto known = nodes.begin() + count;
    if (std::find(nodes.begin(), known, node) != known) continue;  // said twice
    if (program_.stream_of(node) == fields.stream) continue;
    nodes.at(count++) = node;
  }
  const std::uint32_t added = program_.add_node(fields, std::span(nodes.data(), count));
  if (before.launches > 0 && fields.stream == stream(kCompute)) {
    launched_.add(added, before.launches);
  }
  return added;
}

// What the host does for the node `of`: it waits until there is room for one launch more.
std::uint32_t ProgramWriter::put_launch(const NodeFields& of, const Before& before) {
  std::vector<std::uint32_t> after;
  for (const std::uint32_t node : before.by_host) after.push_back(placed(node));
  if (const Node over = launched_.make_room()) after.push_back(*over);
  NodeFields fields{.stream = stream(kHost), .phase = of.phase};
  fields.micro_batch = of.micro_batch;
  fields.layer = of.layer;
  fields.name = name("launch");
  fields.duration_ps = static_cast<std::uint64_t>(launched_.each().ps) * before.launches;
  return program_.add_node(fields, after);
}

// ---- two parts in turn

// Each part is cut where it waits for communication of its own. What a piece begins goes on while
// the other part's next piece computes, and is over, or nearly so, when its turn comes again. Where
// one part has more pieces, the other's are spread among them.
void ProgramWriter::together(const std::function<void()>& first,
                             const std::function<void()>& second) {
  EXAWARP_CHECK(held_ == nullptr, "parts inside of a part");
  const Node before = last_compute_;
  const std::array<Part, 2> parts{written(first, before), written(second, before)};
  std::array<std::size_t, 2> next{};
  const auto left = [&](std::size_t p) { return next[p] < parts[p].pieces.size(); };
  while (left(0) || left(1)) {
    const std::size_t ahead = next[0] * parts[1].pieces.size();
    const std::size_t other = next[1] * parts[0].pieces.size();
    const std::size_t p = left(0) && (!left(1) || ahead <= other) ? 0 : 1;
    place(parts[p], next[p]++);
  }
  last_compute_ = before;
  for (const Part& part : parts) {
    if (part.last_compute)
      last_compute_ = std::max(last_compute_, Node(placed(*part.last_compute)));
    for (const std::uint32_t node : part.awaited) awaited_.push_back(placed(node));
    for (const std::uint32_t node : part.by_host) by_host_.push_back(placed(node));
  }
}

ProgramWriter::Part ProgramWriter::written(const std::function<void()>& write, Node after) {
  Part part{.nodes = {}, .first = static_cast<std::uint32_t>(placed_.size())};
  last_compute_ = after;
  held_ = &part;
  write();
  held_ = nullptr;
  part.last_compute = last_compute_;
  part.awaited = std::exchange(awaited_, {});
  part.by_host = std::exchange(by_host_, {});
  const auto communicates = [&](std::uint32_t node) {
    if (node < kHeld + part.first) return false;
    return part.nodes[node - kHeld - part.first].fields.kind != schema::NodeKind::COMPUTE;
  };
  for (std::size_t i = 0; i < part.nodes.size(); ++i) {
    const Held& node = part.nodes[i];
    const bool waits = node.fields.kind == schema::NodeKind::COMPUTE &&
                       (std::ranges::any_of(node.after, communicates) ||
                        std::ranges::any_of(node.awaited, communicates));
    if (i == 0 || waits) part.pieces.push_back(i);
  }
  return part;
}

void ProgramWriter::place(const Part& part, std::size_t piece) {
  const bool is_last = piece + 1 == part.pieces.size();
  const std::size_t end = is_last ? part.nodes.size() : part.pieces[piece + 1];
  for (std::size_t i = part.pieces[piece]; i < end; ++i) {
    const Held& node = part.nodes[i];
    placed_[part.first + i] =
        put(node.fields, {node.after, node.awaited, node.by_host, node.launches});
  }
}

std::uint8_t ProgramWriter::stream(StreamRole role) {
  std::optional<std::uint8_t>& index = streams_[role];
  if (!index) {
    index = program_.add_stream(kStreamNames[role], kind_of(role));
  }
  return *index;
}

// An operation's shape is that of the one before it with this name, but where layers differ.
std::uint16_t ProgramWriter::shape(const OperationCost& cost) {
  if (std::holds_alternative<std::monostate>(cost.shape)) return 0;
  for (KnownShape& known : shapes_) {
    if (known.name != cost.name) continue;
    if (known.shape == cost.shape) return known.index;
    known = {cost.name, cost.shape, workload_.add_shape(cost.shape)};
    return known.index;
  }
  shapes_.push_back({cost.name, cost.shape, workload_.add_shape(cost.shape)});
  return shapes_.back().index;
}

// Names are literals, so the same name is the same pointer, or at worst is looked up again.
std::uint32_t ProgramWriter::name(const char* text) {
  const std::uint64_t hash = core::mix64(reinterpret_cast<std::uintptr_t>(text));
  auto& [known, index] = names_[hash % names_.size()];
  if (known != text) {
    known = text;
    index = workload_.name(text);
  }
  return index;
}

}  // namespace exawarp::model
