// Thin over ProgramBuilder: a node gets its stream by role, and only dependencies that no stream
// implies.
#include "model/generate/program_writer.h"

#include <algorithm>
#include <span>

#include "core/check.h"

namespace exawarp::model {
namespace {

constexpr std::array<const char*, kStreamRoles> kStreamNames{
    "compute",      "tensor",           "data",          "pipeline",       "embedding",
    "context",      "expert",           "expert nodes",  "expert tensor",  "expert data",
    "data gather",  "expert gather",    "data replica",  "expert replica", "receive forward",
    "send forward", "receive gradient", "send gradient", "storage"};

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
  const std::uint32_t node = add(fields, after);
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
  return add(fields, after);
}

std::uint32_t ProgramWriter::marker(const char* text, std::initializer_list<Node> after) {
  NodeFields fields = context_;
  fields.kind = schema::NodeKind::MARKER;
  fields.data_type = schema::DataType::NONE;
  fields.stream = stream(kCompute);
  fields.name = name(text);
  return add(fields, after);
}

std::uint32_t ProgramWriter::host_wait(const char* text, std::uint64_t picoseconds,
                                       std::initializer_list<Node> after) {
  NodeFields fields{.operation = schema::Operation::OTHER, .phase = context_.phase};
  fields.stream = stream(kCompute);
  fields.name = name(text);
  fields.duration_ps = picoseconds;
  return add(fields, after);
}

// Dependencies on the node's own stream are left out: its order says the same.
std::uint32_t ProgramWriter::add(NodeFields fields, std::initializer_list<Node> after) {
  std::array<std::uint32_t, 16> nodes{};
  EXAWARP_CHECK(after.size() <= nodes.size(), after.size());
  std::size_t count = 0;
  for (const Node& node : after) {
    if (node && program_.stream_of(*node) != fields.stream) nodes[count++] = *node;
  }
  if (fields.kind == schema::NodeKind::COMPUTE && !awaited_.empty()) {
    for (const std::uint32_t node : awaited_) {
      const auto known = nodes.begin() + count;
      if (std::find(nodes.begin(), known, node) != known) continue;  // said twice
      if (program_.stream_of(node) == fields.stream) continue;
      nodes.at(count++) = node;
    }
    awaited_.clear();
  }
  return program_.add_node(fields, std::span(nodes.data(), count));
}

std::uint8_t ProgramWriter::stream(StreamRole role) {
  std::optional<std::uint8_t>& index = streams_[role];
  if (!index) {
    index = program_.add_stream(kStreamNames[role], role == kCompute
                                                        ? schema::StreamKind::COMPUTE
                                                        : schema::StreamKind::COMMUNICATION);
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
  for (const auto& [known, index] : names_) {
    if (known == text) return index;
  }
  return names_.emplace_back(text, workload_.name(text)).second;
}

}  // namespace exawarp::model
