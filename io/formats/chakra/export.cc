// Devices of one program have almost the same trace: it is encoded once, with holes where numbers
// differ, and then written for each device as copies of bytes.
#include "io/formats/chakra/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include "core/error.h"
#include "core/output_file.h"
#include "io/formats/chakra/attributes.h"
#include "io/formats/chakra/converter.h"
#include "io/formats/chakra/json_trace.h"
#include "io/formats/chakra/reader.h"
#include "io/formats/chakra/record.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

using core::DeviceId;
namespace schema = model::schema;

// Calls `visit` with each of the program's nodes as Chakra's, and the node's index.
template <class Visit>
void for_each_node(const model::Program& program, const Converter& converter, Visit visit) {
  chakra::Node node;
  for (std::uint32_t i = 0; i < program.node_count(); ++i) {
    converter.convert(program, i, node);
    visit(i, node);
  }
  for (std::uint32_t i = 0; i < program.node_count(); ++i) {
    if (!is_permutation(program.node(i)) || program.node(i).getRoot() == 0) continue;
    converter.convert_arrival(program, i, node);
    visit(i, node);
  }
}

// The trace of a program: bytes that all of its devices share, and between them what each device
// fills in. A device then costs copies of bytes: 0.04 s of user time where encoding every node of
// every device took 0.55 s (tests/e2e/trace_scale.py's first case: 1,024 ranks of 604 nodes, 105 MB
// with the same bytes; a loaded 2-core VM).
class TraceTemplate {
 public:
  TraceTemplate(const model::WorkloadGraph& graph, std::uint32_t program, Converter& converter)
      : program_(graph.program(program)), converter_(converter) {
    append_record(converter.metadata(program), shared_);
    for_each_node(program_, converter,
                  [this](std::uint32_t i, chakra::Node& node) { add(i, node); });
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
      return partner_in(reader, node.type(), a.name()).has_value();
    };
    if (std::ranges::none_of(node.attr(), has_partner)) return append_record(node, shared_);
    google::protobuf::RepeatedPtrField<chakra::Attribute> attributes;
    attributes.Swap(node.mutable_attr());
    Record record{.at = shared_.size(), .bytes = 0,
                  .first_filled = static_cast<std::uint32_t>(filled_.size()), .filled = 0};
    node.AppendToString(&shared_);
    for (const chakra::Attribute& attribute : attributes) {
      if (const auto partner = partner_in(reader, node.type(), attribute.name())) {
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
    Key key{attribute.SerializeAsString(), partner, 0, 0};
    if (partner == Partner::peer) {
      std::get<2>(key) = node.getPeerAxis();
      std::get<3>(key) = node.getPeer();
    } else if (partner != Partner::self) {
      std::get<2>(key) = node.getGroup();
      std::get<3>(key) = partner == Partner::communicator ? 0 : node.getRoot();
    }
    const auto [at, is_new] = keys_.try_emplace(key, static_cast<std::uint32_t>(blanks_.size()));
    if (is_new) blanks_.push_back({attribute, partner, index, {}});
    return at->second;
  }

  // Then the axis and offset of a peer, or the group and shift of a permutation.
  using Key = std::tuple<std::string, Partner, std::uint32_t, std::int64_t>;
  const model::Program& program_;
  Converter& converter_;
  std::string shared_;
  std::vector<Record> records_;
  std::vector<Filled> filled_;
  std::vector<Blank> blanks_;
  std::map<Key, std::uint32_t> keys_;
};

// Before thousands of traces are made for it.
void check_folder(const std::string& prefix) {
  const std::filesystem::path folder = std::filesystem::path(prefix).parent_path();
  std::error_code ignored;
  if (folder.empty() || std::filesystem::is_directory(folder, ignored)) return;
  throw core::InputError(prefix, fmt::format("there is no folder {}; expected one to write the "
                                             "traces into", in_quotes(folder.string())));
}

void add_communicators(Converter& converter, const std::string& prefix,
                       core::OutputFiles& files) {
  const std::string json = converter.communicators_json();
  if (!json.empty()) files.add(prefix + ".comm_groups.json", json);
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
  check_folder(prefix);
  Converter converter(graph);
  std::vector<std::unique_ptr<TraceTemplate>> templates(graph.program_count());
  std::string bytes;
  core::OutputFiles files;
  for (std::uint32_t device = 0; device < graph.device_count(); ++device) {
    const std::uint32_t program = graph.program_of(DeviceId{device});
    std::unique_ptr<TraceTemplate>& trace = templates[program];
    if (trace == nullptr) {
      trace = std::make_unique<TraceTemplate>(graph, program, converter);
    }
    bytes.clear();
    trace->append(DeviceId{device}, bytes);
    files.add(trace_path(prefix, device), bytes);
  }
  add_communicators(converter, prefix, files);
  files.commit();
}

void export_json(const model::WorkloadGraph& graph, const std::string& prefix) {
  check_folder(prefix);
  Converter converter(graph);
  core::OutputFiles files;
  for (std::uint32_t device = 0; device < graph.device_count(); ++device) {
    const std::uint32_t index = graph.program_of(DeviceId{device});
    const model::Program& program = graph.program(index);
    std::string text = to_json_line(converter.metadata(index), graph.place());
    for_each_node(program, converter, [&](std::uint32_t i, chakra::Node& node) {
      for (chakra::Attribute& a : *node.mutable_attr()) {
        const auto partner = partner_in(program.node(i), node.type(), a.name());
        if (partner) set_number(a, converter.value(*partner, program.node(i), DeviceId{device}));
      }
      text += to_json_line(node, graph.place());
    });
    files.add(fmt::format("{}.{}.json", prefix, device), text);
  }
  add_communicators(converter, prefix, files);
  files.commit();
}

}  // namespace exawarp::io
