// Maps a node's fields and its program's metadata to Chakra's attributes. Communicators are
// numbered here once for the whole graph, so that every rank's trace means the same group by a
// number.
#include "io/formats/chakra/converter.h"

#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/error.h"
#include "io/formats/chakra/attributes.h"
#include "io/formats/chakra/mesh.h"
#include "io/formats/chakra/utf8.h"
#include "model/workload/names.h"

namespace exawarp::io {
namespace {

using core::DeviceId;
using core::InputError;
namespace schema = model::schema;

chakra::Attribute& add(chakra::Node& node, const char* name) {
  chakra::Attribute& attribute = *node.add_attr();
  attribute.set_name(name);
  return attribute;
}

void add_list(chakra::GlobalMetadata& metadata, const char* name,
              std::initializer_list<std::uint64_t> values) {
  chakra::Attribute& attribute = *metadata.add_attr();
  attribute.set_name(name);
  for (const std::uint64_t value : values) attribute.mutable_uint64_list()->add_values(value);
}

void add_memory(const model::Program& program, chakra::GlobalMetadata& metadata) {
  if (!program.memory()) return;
  const model::ProgramMemory& memory = *program.memory();
  add_list(metadata, kMemoryAttribute, {program.parameter_count(), memory.weights,
                                        memory.gradients, memory.optimizer});
  auto& values = *metadata.mutable_attr()->rbegin()->mutable_uint64_list();
  for (const model::ProgramMemory::Point& point : memory.timeline) {
    values.add_values(point.node);
    values.add_values(point.bytes);
  }
}

// How the source of the graph counted, which its nodes still do.
void add_counting(const model::WorkloadGraph& graph, chakra::GlobalMetadata& metadata) {
  const google::protobuf::LogSilencer silencer;  // the record may be a node's
  const std::string_view record = graph.records().empty() ? "" : graph.records().front();
  chakra::GlobalMetadata kept;
  if (!kept.ParseFromArray(record.data(), static_cast<int>(record.size()))) return;
  for (const chakra::Attribute& a : kept.attr()) {
    if (a.name() == kCountingAttribute) *metadata.add_attr() = a;
  }
}

chakra::NodeType node_type(const schema::Node::Reader& node) {
  if (is_permutation(node)) {
    return node.getRoot() == 0 ? chakra::METADATA_NODE : chakra::COMM_SEND_NODE;
  }
  switch (node.getKind()) {
    case schema::NodeKind::COMPUTE: return chakra::COMP_NODE;
    case schema::NodeKind::MEMORY:
      return node.getBytesWritten() > 0 ? chakra::MEM_STORE_NODE : chakra::MEM_LOAD_NODE;
    case schema::NodeKind::COLLECTIVE: return chakra::COMM_COLL_NODE;
    case schema::NodeKind::SEND: return chakra::COMM_SEND_NODE;
    case schema::NodeKind::RECEIVE: return chakra::COMM_RECV_NODE;
    case schema::NodeKind::MARKER: break;
  }
  return chakra::METADATA_NODE;
}

// Of a collective that Chakra has: all but permutations.
std::int64_t comm_type(schema::CollectiveType type) {
  switch (type) {
    case schema::CollectiveType::ALL_REDUCE: return 0;
    case schema::CollectiveType::REDUCE: return 1;
    case schema::CollectiveType::ALL_GATHER: return 2;
    case schema::CollectiveType::GATHER: return 3;
    case schema::CollectiveType::SCATTER: return 4;
    case schema::CollectiveType::BROADCAST: return 5;
    case schema::CollectiveType::ALL_TO_ALL: return 6;
    case schema::CollectiveType::REDUCE_SCATTER: return 7;
    default: return 9;
  }
}

// What the busiest member of an all-to-all sends or receives. `table` has n or n * n entries
// (workload.capnp, Node.sizes).
std::uint64_t busiest(const std::vector<std::uint64_t>& table, std::size_t n) {
  EXAWARP_CHECK(table.size() == n || table.size() == n * n, table.size(), n);
  std::uint64_t most = 0;
  if (table.size() == n) {
    for (const std::uint64_t bytes : table) most += bytes;
    return most;
  }
  for (std::size_t member = 0; member < n; ++member) {
    std::uint64_t sent = 0, received = 0;
    for (std::size_t other = 0; other < n; ++other) {
      sent += table[member * n + other];
      received += table[other * n + member];
    }
    most = std::max({most, sent, received});
  }
  return most;
}

}  // namespace

bool is_permutation(const schema::Node::Reader& node) {
  return node.getKind() == schema::NodeKind::COLLECTIVE &&
         node.getCollective() == schema::CollectiveType::PERMUTE;
}

std::optional<Partner> partner_in(const schema::Node::Reader& node, chakra::NodeType type,
                                  const std::string& name) {
  const bool collective = node.getKind() == schema::NodeKind::COLLECTIVE;
  if (name == "pg_name" || name == "comm_group") {
    return collective ? std::optional(Partner::communicator) : std::nullopt;
  }
  if (!is_permutation(node) && !is_message(node.getKind())) return std::nullopt;
  const bool sends = type == chakra::COMM_SEND_NODE;
  if (name == "comm_src") {
    return sends ? Partner::self : collective ? Partner::previous : Partner::peer;
  }
  if (name == "comm_dst") {
    return !sends ? Partner::self : collective ? Partner::next : Partner::peer;
  }
  return std::nullopt;
}

Communicators::Communicators(const model::WorkloadGraph& graph) : graph_(graph) {
  for (std::uint32_t g = 0; g < graph.group_count(); ++g) {
    const std::vector<std::uint32_t>& ids = graph.group(g).communicators;
    stated_.insert(ids.begin(), ids.end());
  }
  if (!stated_.empty()) next_ = *stated_.rbegin() + 1;
}

// Above those that lists have; where they end with the last number there is, among them.
std::uint32_t Communicators::unused() {
  while (next_ == 0 || stated_.contains(next_)) ++next_;
  return next_++;
}

std::uint32_t Communicators::number(std::uint32_t group, DeviceId device) {
  const model::Membership in = graph_.membership(group, device);
  EXAWARP_CHECK(in.size != 0, group, device.value);  // only members ask
  const std::uint32_t first = graph_.member(group, device, 0).value;
  const auto [at, is_new] = numbers_.try_emplace({group, first}, 0);
  if (!is_new) return at->second;
  at->second = stated(group, device);
  // One family of all devices is number 0; another one is another communicator.
  const bool whole = in.size == graph_.device_count() && is_identity(group, device);
  if (at->second == 0 && whole && (!whole_group_ || *whole_group_ == group)) {
    whole_group_ = group;
    return 0;
  }
  if (at->second == 0) at->second = unused();
  std::vector<std::uint32_t>& ranks = lists_[at->second];
  for (std::uint32_t i = 0; i < in.size; ++i) {
    ranks.push_back(graph_.member(group, device, i).value);
  }
  return at->second;
}

std::string Communicators::json() {
  add_stated();
  if (lists_.empty()) return "";
  nlohmann::ordered_json groups;
  for (const auto& [id, ranks] : lists_) groups[std::to_string(id)] = ranks;
  return groups.dump() + "\n";
}

bool Communicators::is_identity(std::uint32_t group, DeviceId device) const {
  for (std::uint32_t i = 0; i < graph_.device_count(); ++i) {
    if (graph_.member(group, device, i).value != i) return false;
  }
  return true;
}

std::uint32_t Communicators::stated(std::uint32_t group, DeviceId device) const {
  const model::GroupTable& table = graph_.group(group);
  if (table.communicators.empty()) return 0;
  const auto found =
      std::ranges::lower_bound(table.places, device.value, {}, &model::GroupTable::Place::device);
  EXAWARP_CHECK(found != table.places.end() && found->device == device.value, device.value);
  EXAWARP_CHECK(found->list < table.communicators.size(), found->list);
  return table.communicators[found->list];
}

void Communicators::add_stated() {
  for (std::uint32_t g = 0; g < graph_.group_count(); ++g) {
    const model::GroupTable& table = graph_.group(g);
    EXAWARP_CHECK(table.communicators.empty() ||
                      table.communicators.size() + 1 == table.list_first.size(),
                  g, table.communicators.size());
    for (std::size_t i = 0; i < table.communicators.size(); ++i) {
      lists_[table.communicators[i]].assign(table.members.begin() + table.list_first[i],
                                            table.members.begin() + table.list_first[i + 1]);
    }
  }
}

Converter::Converter(const model::WorkloadGraph& graph)
    : graph_(graph),
      communicators_(graph),
      busiest_(graph.size_tables().size()),
      mesh_(has_mesh(graph)) {
  for (std::uint32_t p = 0; p < graph.program_count(); ++p) {
    const model::Program& program = graph.program(p);
    for (std::uint32_t i = 0; i < program.node_count(); ++i) {
      const schema::Node::Reader node = program.node(i);
      if (node.getSizes() == 0 || busiest_[node.getSizes() - 1] != 0) continue;
      const model::GroupTable& group = graph.group(node.getGroup());
      const std::uint32_t members = group.by_lists ? group.list_first[1] : group.size;
      busiest_[node.getSizes() - 1] = busiest(graph.size_tables()[node.getSizes() - 1], members);
    }
  }
  find_first_tag();
}

void Converter::find_first_tag() {
  std::uint64_t first = 0, groups = 0;  // groups: above those of permutations
  for (std::uint32_t p = 0; p < graph_.program_count(); ++p) {
    const model::Program& program = graph_.program(p);
    for (std::uint32_t i = 0; i < program.node_count(); ++i) {
      const schema::Node::Reader node = program.node(i);
      if (is_message(node.getKind())) first = std::max(first, std::uint64_t{node.getTag()} + 1);
      if (is_permutation(node)) groups = std::max(groups, std::uint64_t{node.getGroup()} + 1);
    }
  }
  constexpr std::uint64_t kTags = std::uint64_t{1} << 32;
  if (groups > kTags - first) {
    throw InputError(graph_.place(), fmt::format("messages have tags up to {}; expected {} above "
                                                 "them, for permutations", first - 1, groups));
  }
  first_tag_ = static_cast<std::uint32_t>(first);
}

chakra::GlobalMetadata Converter::metadata(std::uint32_t index) const {
  const model::Program& program = graph_.program(index);
  chakra::GlobalMetadata metadata;
  metadata.set_version("0.0.4");
  if (program.has_origins()) {
    add_counting(graph_, metadata);
    return metadata;
  }
  chakra::Attribute& streams = *metadata.add_attr();
  streams.set_name(kStreamsAttribute);
  for (std::uint32_t s = 0; s < program.stream_count(); ++s) {
    streams.mutable_string_list()->add_values(fmt::format(
        "{}:{}", core::name_of(program.stream(s).getKind()), as_utf8(program.stream_name(s))));
  }
  chakra::Attribute& number = *metadata.add_attr();
  number.set_name(kProgramAttribute);
  number.set_uint32_val(index);
  if (mesh_) add_mesh(graph_, metadata);
  const schema::Training::Reader training = graph_.training();
  if (training.getSteps() != 0) {
    add_list(metadata, kTrainingAttribute,
             {training.getTokensPerStep(),
              std::bit_cast<std::uint64_t>(training.getModelFlopsPerStep()),
              training.getParameters(), training.getSequencesPerStep(),
              training.getMicroBatches(), training.getSteps()});
  }
  add_memory(program, metadata);
  for (const std::vector<std::uint64_t>& table : graph_.size_tables()) {
    chakra::Attribute& sizes = *metadata.add_attr();
    sizes.set_name(kSizesAttribute);
    sizes.mutable_uint64_list()->mutable_values()->Assign(table.begin(), table.end());
  }
  return metadata;
}

void Converter::convert(const model::Program& program, std::uint32_t index,
                        chakra::Node& out) const {
  const schema::Node::Reader node = program.node(index);
  out.Clear();
  if (program.has_origins()) {
    const std::uint32_t number = program.origin(index).getRecord();
    const std::string_view record = graph_.records()[number];
    if (!out.ParseFromArray(record.data(), static_cast<int>(record.size()))) {
      throw InputError(graph_.place(), fmt::format("records[{}] is no Chakra node", number));
    }
  }
  out.set_id(program.has_origins() ? program.origin(index).getId() : index);
  out.set_name(as_utf8(graph_.node_name(node)));
  add_dependencies(program, index, out);
  if (!program.has_origins()) add_fields(node, out);
  if (!is_message(node.getKind())) return;
  for (chakra::Attribute& a : *out.mutable_attr()) {
    if (a.name() == "comm_tag") set_number(a, node.getTag());
  }
}

void Converter::convert_arrival(const model::Program& program, std::uint32_t index,
                                chakra::Node& out) const {
  const schema::Node::Reader node = program.node(index);
  out.Clear();
  out.set_id(std::uint64_t{program.node_count()} + index);
  out.set_name(as_utf8(graph_.node_name(node)));
  out.set_type(chakra::COMM_RECV_NODE);
  add_dependencies(program, index, out);
  add(out, "is_cpu_op").set_bool_val(false);
  add(out, "comm_size").set_int64_val(static_cast<std::int64_t>(node.getCommBytes()));
  for (const char* name : {"comm_src", "comm_dst"}) add(out, name).set_uint32_val(0);
  add(out, "comm_tag").set_uint32_val(tag(node));
  add(out, kArrivalAttribute).set_uint64_val(index);
}

std::int64_t Converter::value(Partner partner, const schema::Node::Reader& node,
                              DeviceId device) {
  switch (partner) {
    case Partner::self: return device.value;
    case Partner::peer: return graph_.peer(node, device).value;
    case Partner::next: return neighbour(node, device, true);
    case Partner::previous: return neighbour(node, device, false);
    case Partner::communicator: break;
  }
  return communicators_.number(node.getGroup(), device);
}

void Converter::add_dependencies(const model::Program& program, std::uint32_t index,
                                 chakra::Node& out) const {
  const schema::Node::Reader node = program.node(index);
  const bool imported = program.has_origins();
  std::uint32_t data = node.getDependencyCount();
  if (imported) data -= program.origin(index).getControlCount();
  for (std::uint32_t d = 0; d < data; ++d) {
    const std::uint32_t on = program.dependency(node, d);
    out.add_data_deps(imported ? program.origin(on).getId() : on);
    if (!imported && node_type(program.node(on)) == chakra::COMM_SEND_NODE &&
        is_permutation(program.node(on))) {
      out.add_data_deps(std::uint64_t{program.node_count()} + on);
    }
  }
}

void Converter::add_fields(const schema::Node::Reader& node, chakra::Node& out) const {
  out.set_type(node_type(node));
  const bool recorded = node.getDurationPs() != schema::NO_DURATION;
  if (recorded) out.set_duration_micros(node.getDurationPs() / kPsPerUs);
  add(out, "is_cpu_op").set_bool_val(false);
  switch (node.getKind()) {
    case schema::NodeKind::COMPUTE:
      add(out, "num_ops").set_uint64_val(node.getFlops());
      [[fallthrough]];
    case schema::NodeKind::MEMORY:
      add(out, "tensor_size").set_uint64_val(node.getBytesRead() + node.getBytesWritten());
      break;
    case schema::NodeKind::COLLECTIVE:
      if (!is_permutation(node)) {
        add(out, "comm_type").set_int64_val(comm_type(node.getCollective()));
      }
      add(out, "pg_name").set_string_val("");
      [[fallthrough]];
    case schema::NodeKind::SEND:
    case schema::NodeKind::RECEIVE:
      add(out, "comm_size").set_int64_val(static_cast<std::int64_t>(collective_bytes(node)));
      break;
    case schema::NodeKind::MARKER: break;
  }
  if (out.type() == chakra::COMM_SEND_NODE || out.type() == chakra::COMM_RECV_NODE) {
    for (const char* name : {"comm_src", "comm_dst"}) add(out, name).set_uint32_val(0);
    add(out, "comm_tag").set_uint32_val(is_permutation(node) ? tag(node) : 0);
  }
  add_our_fields(node, out);
}

void Converter::add_our_fields(const schema::Node::Reader& node, chakra::Node& out) const {
  if (is_permutation(node)) add(out, kPermutationAttribute).set_uint32_val(node.getRoot());
  if (node.getSizes() != 0) add(out, kSizesAttribute).set_uint32_val(node.getSizes() - 1);
  if (mesh_ && node.getKind() == schema::NodeKind::COLLECTIVE) {
    add(out, kGroupAttribute).set_uint32_val(node.getGroup());
  }
  if (mesh_ && is_message(node.getKind())) {
    add(out, kPeerAxisAttribute).set_uint32_val(node.getPeerAxis());
  }
  add(out, kStreamAttribute).set_uint32_val(node.getStream());
  add(out, kPositionAttribute).set_uint32_val(node.getPosition());
  auto& fields = *add(out, kFieldsAttribute).mutable_uint64_list();
  const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
  for (const std::uint64_t value :
       {number(node.getKind()), number(node.getOperation()), number(node.getPhase()),
        number(node.getDataType()), number(node.getPlace()), std::uint64_t{node.getMicroBatch()},
        std::uint64_t{node.getLayer()}, node.getBytesRead(), node.getBytesWritten(),
        node.getDurationPs(), std::uint64_t{node.getRoot()}}) {
    fields.add_values(value);
  }
}

std::uint64_t Converter::collective_bytes(const schema::Node::Reader& node) const {
  return node.getSizes() == 0 ? node.getCommBytes() : busiest_[node.getSizes() - 1];
}

std::uint32_t Converter::tag(const schema::Node::Reader& node) const {
  return first_tag_ + node.getGroup();
}

std::uint32_t Converter::neighbour(const schema::Node::Reader& node, DeviceId device,
                                   bool next) const {
  const model::Membership in = graph_.membership(node.getGroup(), device);
  const std::uint32_t shift = next ? node.getRoot() : in.size - node.getRoot();
  return graph_.member(node.getGroup(), device, (in.position + shift) % in.size).value;
}

}  // namespace exawarp::io
