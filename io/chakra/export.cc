#include "io/chakra/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "core/error.h"
#include "io/chakra/attributes.h"
#include "io/chakra/json_trace.h"
#include "io/chakra/reader.h"
#include "io/chakra/record.h"
#include "io/text_file.h"

namespace exawarp::io {
namespace {

using core::DeviceId;
using core::InputError;
namespace schema = model::schema;

constexpr std::uint64_t kPsPerUs = 1'000'000;

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
    at->second = stated(group, device);
    // One family of all devices is number 0; another one is another communicator.
    const bool whole = in.size == graph_.device_count() && is_identity(group, device);
    if (at->second == 0 && whole && (!whole_group_ || *whole_group_ == group)) {
      whole_group_ = group;
      return 0;
    }
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
  std::optional<std::uint32_t> whole_group_;
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

// What of a node depends on the device.
enum class Partner { sender, receiver, communicator };

std::optional<Partner> partner_in(const schema::Node::Reader& node, const std::string& attribute) {
  switch (node.getKind()) {
    case schema::NodeKind::SEND:
    case schema::NodeKind::RECEIVE:
      if (attribute == "comm_src") return Partner::sender;
      if (attribute == "comm_dst") return Partner::receiver;
      return std::nullopt;
    case schema::NodeKind::COLLECTIVE:
      if (attribute == "pg_name" || attribute == "comm_group") return Partner::communicator;
      return std::nullopt;
    default: return std::nullopt;
  }
}

// The nodes of a graph's programs as Chakra's, and what a device fills in.
class Converter {
 public:
  explicit Converter(const model::WorkloadGraph& graph) : graph_(graph), communicators_(graph) {}

  [[nodiscard]] static chakra::GlobalMetadata metadata(const model::Program& program) {
    chakra::GlobalMetadata metadata;
    metadata.set_version("0.0.4");
    if (program.has_origins()) return metadata;
    chakra::Attribute& streams = *metadata.add_attr();
    streams.set_name(kStreamsAttribute);
    for (std::uint32_t s = 0; s < program.stream_count(); ++s) {
      const bool compute = program.stream(s).getKind() == schema::StreamKind::COMPUTE;
      streams.mutable_string_list()->add_values(
          fmt::format("{}:{}", compute ? "compute" : "communication", program.stream_name(s)));
    }
    return metadata;
  }

  // All but what partner_in() tells.
  void convert(const model::Program& program, std::uint32_t index, chakra::Node& out) const {
    const schema::Node::Reader node = program.node(index);
    const bool imported = program.has_origins();
    std::uint32_t data = node.getDependencyCount();
    out.Clear();
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
    if (node.getKind() != schema::NodeKind::SEND && node.getKind() != schema::NodeKind::RECEIVE) {
      return;
    }
    for (chakra::Attribute& a : *out.mutable_attr()) {
      if (a.name() == "comm_tag") set_number(a, node.getTag());
    }
  }

  [[nodiscard]] std::int64_t value(Partner partner, const schema::Node::Reader& node,
                                   DeviceId device) {
    if (partner == Partner::communicator) return communicators_.number(node.getGroup(), device);
    const bool own = (partner == Partner::sender) == (node.getKind() == schema::NodeKind::SEND);
    return own ? device.value : graph_.peer(node, device).value;
  }

  // "" where there are only communicators of all devices.
  [[nodiscard]] std::string communicators_json() {
    communicators_.add_stated();
    if (communicators_.lists().empty()) return "";
    nlohmann::ordered_json groups;
    for (const auto& [id, ranks] : communicators_.lists()) groups[std::to_string(id)] = ranks;
    return groups.dump() + "\n";
  }

 private:
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

  const model::WorkloadGraph& graph_;
  Communicators communicators_;
};

// The trace of a program: bytes that all of its devices share, and between them what each device
// fills in. A device then costs copies of bytes: 0.04 s of user time where encoding every node of
// every device took 0.55 s (tests/e2e/trace_scale.py's first case: 1,024 ranks of 604 nodes, 105 MB
// with the same bytes; a loaded 2-core VM).
class TraceTemplate {
 public:
  TraceTemplate(const model::Program& program, Converter& converter)
      : program_(program), converter_(converter) {
    append_record(Converter::metadata(program), shared_);
    chakra::Node node;
    for (std::uint32_t i = 0; i < program.node_count(); ++i) {
      converter.convert(program, i, node);
      add(i, node);
    }
  }

  void append(DeviceId device, std::string& out) {
    for (Blank& blank : blanks_) {
      chakra::Attribute& attribute = blank.attribute;
      set_number(attribute, converter_.value(blank.partner, program_.node(blank.node), device));
      blank.encoded.clear();
      append_attribute(attribute, blank.encoded);
    }
    std::size_t done = 0;
    for (const Record& record : records_) {
      out.append(shared_, done, record.at - done);
      std::size_t bytes = record.bytes;
      for (std::uint32_t f = 0; f < record.filled; ++f) {
        bytes += blanks_[filled_[record.first_filled + f].blank].encoded.size();
      }
      append_varint(bytes, out);
      done = record.at;
      for (std::uint32_t f = 0; f < record.filled; ++f) {
        const Filled& filled = filled_[record.first_filled + f];
        out.append(shared_, done, filled.at - done);
        out.append(blanks_[filled.blank].encoded);
        done = filled.at;
      }
    }
    out.append(shared_, done);
  }

 private:
  // An attribute whose value a device fills in, the same for all nodes with one partner.
  struct Blank {
    chakra::Attribute attribute;
    Partner partner;
    std::uint32_t node;  // one that has it
    std::string encoded;  // for the device at hand
  };
  struct Filled {
    std::size_t at;  // into shared_
    std::uint32_t blank;
  };
  // A node with blanks: its length depends on them.
  struct Record {
    std::size_t at;     // into shared_
    std::size_t bytes;  // without the blanks
    std::uint32_t first_filled, filled;
  };

  static void append_attribute(const chakra::Attribute& attribute, std::string& out) {
    constexpr char kTag = chakra::Node::kAttrFieldNumber << 3 | 2;
    out.push_back(kTag);
    append_record(attribute, out);
  }

  void add(std::uint32_t index, chakra::Node& node) {
    const schema::Node::Reader reader = program_.node(index);
    const auto has_partner = [&](const chakra::Attribute& a) {
      return partner_in(reader, a.name()).has_value();
    };
    if (std::ranges::none_of(node.attr(), has_partner)) return append_record(node, shared_);
    google::protobuf::RepeatedPtrField<chakra::Attribute> attributes;
    attributes.Swap(node.mutable_attr());
    Record record{.at = shared_.size(), .bytes = 0,
                  .first_filled = static_cast<std::uint32_t>(filled_.size()), .filled = 0};
    node.AppendToString(&shared_);
    for (const chakra::Attribute& attribute : attributes) {
      if (const std::optional<Partner> partner = partner_in(reader, attribute.name())) {
        filled_.push_back({shared_.size(), blank(attribute, *partner, index)});
        ++record.filled;
      } else {
        append_attribute(attribute, shared_);
      }
    }
    record.bytes = shared_.size() - record.at;
    records_.push_back(record);
  }

  std::uint32_t blank(const chakra::Attribute& attribute, Partner partner, std::uint32_t index) {
    const schema::Node::Reader node = program_.node(index);
    const bool group = partner == Partner::communicator;
    const Key key{attribute.SerializeAsString(), static_cast<int>(partner),
                  node.getKind() == schema::NodeKind::SEND, group ? node.getGroup() : 0u,
                  group ? 0 : node.getPeerAxis(), group ? 0 : node.getPeer()};
    const auto [at, is_new] = keys_.try_emplace(key, static_cast<std::uint32_t>(blanks_.size()));
    if (is_new) blanks_.push_back({attribute, partner, index, {}});
    return at->second;
  }

  using Key = std::tuple<std::string, int, bool, std::uint32_t, std::uint32_t, std::int32_t>;
  const model::Program& program_;
  Converter& converter_;
  std::string shared_;
  std::vector<Record> records_;
  std::vector<Filled> filled_;
  std::vector<Blank> blanks_;
  std::map<Key, std::uint32_t> keys_;
};

void write_communicators(Converter& converter, const std::string& prefix) {
  const std::string json = converter.communicators_json();
  if (!json.empty()) write_text_file(prefix + ".comm_groups.json", json);
}

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
  Converter converter(graph);
  std::vector<std::unique_ptr<TraceTemplate>> templates(graph.program_count());
  std::string bytes;
  for (std::uint32_t device = 0; device < graph.device_count(); ++device) {
    const std::uint32_t program = graph.program_of(DeviceId{device});
    std::unique_ptr<TraceTemplate>& trace = templates[program];
    if (trace == nullptr) {
      trace = std::make_unique<TraceTemplate>(graph.program(program), converter);
    }
    bytes.clear();
    trace->append(DeviceId{device}, bytes);
    write_text_file(trace_path(prefix, device), bytes);
  }
  write_communicators(converter, prefix);
}

void export_json(const model::WorkloadGraph& graph, const std::string& prefix) {
  Converter converter(graph);
  chakra::Node node;
  for (std::uint32_t device = 0; device < graph.device_count(); ++device) {
    const model::Program& program = graph.program(graph.program_of(DeviceId{device}));
    std::string text = to_json_line(Converter::metadata(program), graph.place());
    for (std::uint32_t i = 0; i < program.node_count(); ++i) {
      converter.convert(program, i, node);
      for (chakra::Attribute& a : *node.mutable_attr()) {
        if (const std::optional<Partner> partner = partner_in(program.node(i), a.name())) {
          set_number(a, converter.value(*partner, program.node(i), DeviceId{device}));
        }
      }
      text += to_json_line(node, graph.place());
    }
    write_text_file(fmt::format("{}.{}.json", prefix, device), text);
  }
  write_communicators(converter, prefix);
}

}  // namespace exawarp::io
