#include "io/chakra/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "io/chakra/attributes.h"

namespace exawarp::io {
namespace {

using core::DeviceId;
using core::InputError;
namespace schema = model::schema;

constexpr std::uint64_t kPsPerUs = 1'000'000;

void append_record(const google::protobuf::MessageLite& message, std::string& out) {
  for (std::uint64_t length = message.ByteSizeLong();;) {
    if (length < 0x80) {
      out.push_back(static_cast<char>(length));
      break;
    }
    out.push_back(static_cast<char>((length & 0x7f) | 0x80));
    length >>= 7;
  }
  message.AppendToString(&out);
}

chakra::Attribute& add(chakra::Node& node, const char* name) {
  chakra::Attribute& attribute = *node.add_attr();
  attribute.set_name(name);
  return attribute;
}

// Numbers the communicators: an imported list keeps its number, others follow.
class Communicators {
 public:
  explicit Communicators(const model::WorkloadGraph& graph) : graph_(graph) {
    for (std::uint32_t g = 0; g < graph.group_count(); ++g) {
      for (const std::uint32_t id : graph.group(g).communicators) next_ = std::max(next_, id + 1);
    }
  }
  // 0: all devices, in order.
  std::uint32_t number(std::uint32_t group, DeviceId device) {
    const model::Membership in = graph_.membership(group, device);
    const std::uint32_t first = graph_.member(group, device, 0).value;
    const auto [at, is_new] = numbers_.try_emplace({group, first}, 0);
    if (!is_new) return at->second;
    if (in.size == graph_.device_count() && is_identity(group, device)) return 0;
    at->second = stated(group, device);
    if (at->second == 0) at->second = next_++;
    std::vector<std::uint32_t>& ranks = lists_[at->second];
    for (std::uint32_t i = 0; i < in.size; ++i) {
      ranks.push_back(graph_.member(group, device, i).value);
    }
    return at->second;
  }
  // Also the communicators that no node uses.
  void add_stated() {
    for (std::uint32_t g = 0; g < graph_.group_count(); ++g) {
      const model::GroupTable& table = graph_.group(g);
      for (std::size_t i = 0; i < table.communicators.size(); ++i) {
        lists_[table.communicators[i]].assign(table.members.begin() + table.list_first[i],
                                              table.members.begin() + table.list_first[i + 1]);
      }
    }
  }
  [[nodiscard]] const std::map<std::uint32_t, std::vector<std::uint32_t>>& lists() const {
    return lists_;
  }

 private:
  [[nodiscard]] bool is_identity(std::uint32_t group, DeviceId device) const {
    for (std::uint32_t i = 0; i < graph_.device_count(); ++i) {
      if (graph_.member(group, device, i).value != i) return false;
    }
    return true;
  }
  [[nodiscard]] std::uint32_t stated(std::uint32_t group, DeviceId device) const {
    const model::GroupTable& table = graph_.group(group);
    if (table.communicators.empty()) return 0;
    const auto found = std::ranges::lower_bound(table.places, device.value, {},
                                                &model::GroupTable::Place::device);
    return table.communicators[found->list];
  }
  const model::WorkloadGraph& graph_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers_;  // (group, member 0)
  std::map<std::uint32_t, std::vector<std::uint32_t>> lists_;
  std::uint32_t next_ = 1;
};

chakra::NodeType node_type(const schema::Node::Reader& node) {
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

std::int64_t comm_type(const schema::Node::Reader& node, const std::string& place) {
  switch (node.getCollective()) {
    case schema::CollectiveType::ALL_REDUCE: return 0;
    case schema::CollectiveType::REDUCE: return 1;
    case schema::CollectiveType::ALL_GATHER: return 2;
    case schema::CollectiveType::GATHER: return 3;
    case schema::CollectiveType::SCATTER: return 4;
    case schema::CollectiveType::BROADCAST: return 5;
    case schema::CollectiveType::ALL_TO_ALL:
      if (node.getSizes() == 0) return 6;
      throw InputError(place, "an all-to-all of unequal sizes has no form in Chakra");
    case schema::CollectiveType::REDUCE_SCATTER: return 7;
    case schema::CollectiveType::BARRIER: return 9;
    default: break;
  }
  throw InputError(place, "a permutation has no form in Chakra; expected sends and receives");
}

class Exporter {
 public:
  Exporter(const model::WorkloadGraph& graph, const std::string& prefix)
      : graph_(graph), prefix_(prefix), communicators_(graph) {}

  void run() {
    for (std::uint32_t device = 0; device < graph_.device_count(); ++device) {
      write(fmt::format("{}.{}.et", prefix_, device), trace(DeviceId{device}));
    }
    communicators_.add_stated();
    if (communicators_.lists().empty()) return;
    nlohmann::ordered_json groups;
    for (const auto& [id, ranks] : communicators_.lists()) groups[std::to_string(id)] = ranks;
    write(prefix_ + ".comm_groups.json", groups.dump() + "\n");
  }

 private:
  static void write(const std::string& path, const std::string& bytes) {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.close();
    if (!out) throw core::SystemError(path + ": cannot be written");
  }

  std::string trace(DeviceId device) {
    const model::Program& program = graph_.program(graph_.program_of(device));
    chakra::GlobalMetadata metadata;
    metadata.set_version("0.0.4");
    if (!program.has_origins()) {
      chakra::Attribute& streams = *metadata.add_attr();
      streams.set_name(kStreamsAttribute);
      for (std::uint32_t s = 0; s < program.stream_count(); ++s) {
        const bool compute = program.stream(s).getKind() == schema::StreamKind::COMPUTE;
        streams.mutable_string_list()->add_values(
            fmt::format("{}:{}", compute ? "compute" : "communication", program.stream_name(s)));
      }
    }
    std::string bytes;
    append_record(metadata, bytes);
    chakra::Node out;
    for (std::uint32_t i = 0; i < program.node_count(); ++i) {
      out.Clear();
      convert(program, i, device, out);
      append_record(out, bytes);
    }
    return bytes;
  }

  void convert(const model::Program& program, std::uint32_t index, DeviceId device,
               chakra::Node& out) {
    const schema::Node::Reader node = program.node(index);
    const bool imported = program.has_origins();
    std::uint32_t data = node.getDependencyCount();
    if (imported) {
      const schema::Origin::Reader origin = program.origin(index);
      const std::string_view record = graph_.records()[origin.getRecord()];
      if (!out.ParseFromArray(record.data(), static_cast<int>(record.size()))) {
        throw InputError(graph_.place(), fmt::format("records[{}] is no Chakra node",
                                                     origin.getRecord()));
      }
      data -= origin.getControlCount();
    }
    out.set_id(imported ? program.origin(index).getId() : index);
    out.set_name(graph_.node_name(node));
    for (std::uint32_t d = 0; d < data; ++d) {
      const std::uint32_t on = program.dependency(node, d);
      out.add_data_deps(imported ? program.origin(on).getId() : on);
    }
    if (!imported) add_fields(node, out);
    set_rank_fields(node, device, out);
  }

  void add_fields(const schema::Node::Reader& node, chakra::Node& out) const {
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
        add(out, "comm_type").set_int64_val(comm_type(node, graph_.place()));
        add(out, "pg_name").set_string_val("");
        [[fallthrough]];
      case schema::NodeKind::SEND:
      case schema::NodeKind::RECEIVE:
        add(out, "comm_size").set_int64_val(static_cast<std::int64_t>(node.getCommBytes()));
        break;
      case schema::NodeKind::MARKER: break;
    }
    if (node.getKind() == schema::NodeKind::SEND || node.getKind() == schema::NodeKind::RECEIVE) {
      for (const char* name : {"comm_src", "comm_dst", "comm_tag"}) {
        add(out, name).set_uint32_val(0);
      }
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

  void set_rank_fields(const schema::Node::Reader& node, DeviceId device, chakra::Node& out) {
    const bool send = node.getKind() == schema::NodeKind::SEND;
    const bool message = send || node.getKind() == schema::NodeKind::RECEIVE;
    const std::uint32_t peer = message ? graph_.peer(node, device).value : 0;
    for (chakra::Attribute& a : *out.mutable_attr()) {
      if (message && a.name() == "comm_src") set_number(a, send ? device.value : peer);
      if (message && a.name() == "comm_dst") set_number(a, send ? peer : device.value);
      if (message && a.name() == "comm_tag") set_number(a, node.getTag());
      if (node.getKind() == schema::NodeKind::COLLECTIVE &&
          (a.name() == "pg_name" || a.name() == "comm_group")) {
        set_number(a, communicators_.number(node.getGroup(), device));
      }
    }
  }

  const model::WorkloadGraph& graph_;
  const std::string& prefix_;
  Communicators communicators_;
};

}  // namespace

void set_number(chakra::Attribute& attribute, std::int64_t value) {
  switch (attribute.value_case()) {
    case chakra::Attribute::kInt32Val:
      return attribute.set_int32_val(static_cast<std::int32_t>(value));
    case chakra::Attribute::kSint32Val:
      return attribute.set_sint32_val(static_cast<std::int32_t>(value));
    case chakra::Attribute::kSfixed32Val:
      return attribute.set_sfixed32_val(static_cast<std::int32_t>(value));
    case chakra::Attribute::kUint32Val:
      return attribute.set_uint32_val(static_cast<std::uint32_t>(value));
    case chakra::Attribute::kFixed32Val:
      return attribute.set_fixed32_val(static_cast<std::uint32_t>(value));
    case chakra::Attribute::kInt64Val: return attribute.set_int64_val(value);
    case chakra::Attribute::kSint64Val: return attribute.set_sint64_val(value);
    case chakra::Attribute::kSfixed64Val: return attribute.set_sfixed64_val(value);
    case chakra::Attribute::kUint64Val:
      return attribute.set_uint64_val(static_cast<std::uint64_t>(value));
    case chakra::Attribute::kFixed64Val:
      return attribute.set_fixed64_val(static_cast<std::uint64_t>(value));
    case chakra::Attribute::kStringVal:
      return attribute.set_string_val(value == 0 ? "" : std::to_string(value));
    default: return;
  }
}

void export_chakra(const model::WorkloadGraph& graph, const std::string& prefix) {
  Exporter(graph, prefix).run();
}

}  // namespace exawarp::io
