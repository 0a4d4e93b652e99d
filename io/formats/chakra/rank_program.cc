// Reads a trace once, node by node, into a program without rank numbers, then settles which
// dependencies count and renumbers tags.
#include "io/formats/chakra/rank_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <queue>
#include <set>

#include "core/check.h"
#include "core/error.h"
#include "io/formats/chakra/attributes.h"
#include "model/workload/names.h"

namespace exawarp::io {
namespace {

using core::InputError;
namespace schema = model::schema;

constexpr std::uint64_t kHostPs = 1'000;  // a host operation without a duration: 1 ns

schema::CollectiveType collective_type(std::uint64_t type, const NodeAttributes& attributes) {
  constexpr schema::CollectiveType types[] = {
      schema::CollectiveType::ALL_REDUCE, schema::CollectiveType::REDUCE,
      schema::CollectiveType::ALL_GATHER, schema::CollectiveType::GATHER,
      schema::CollectiveType::SCATTER,    schema::CollectiveType::BROADCAST,
      schema::CollectiveType::ALL_TO_ALL, schema::CollectiveType::REDUCE_SCATTER,
      schema::CollectiveType::REDUCE_SCATTER, schema::CollectiveType::BARRIER};
  if (type >= std::size(types)) attributes.refuse(fmt::format("comm_type {} is not known", type));
  return types[type];
}

// Product, or a refusal where it leaves the range of a size.
std::uint64_t scaled(std::uint64_t value, std::uint64_t factor, const NodeAttributes& attributes) {
  if (factor != 0 && value > (std::uint64_t{1} << 62) / factor) {
    attributes.refuse(fmt::format("{} times {} is out of range", value, factor));
  }
  return value * factor;
}

constexpr std::uint64_t kElementBytesMax = 64;  // as --element-bytes

std::vector<std::uint64_t> counting_of(const ChakraImportOptions& options) {
  return {options.element_bytes, options.macs ? 1u : 0u,
          static_cast<std::uint64_t>(options.comm_size),
          static_cast<std::uint64_t>(options.control), options.recorded_collectives ? 1u : 0u};
}

// Takes over what a trace says of how it counts. An option that says something else is refused.
void settle_counting(const std::vector<std::uint64_t>& stated, const std::string& path,
                     ChakraImportOptions& options) {
  constexpr const char* kOptions[] = {"--element-bytes", "--macs", "--comm-size", "--ctrl-deps",
                                      "--recorded-collectives"};
  constexpr std::uint64_t kMost[] = {kElementBytesMax, 1, 1, 2, 1};
  const std::vector<std::uint64_t> given = counting_of(options), standard = counting_of({});
  bool sound = stated.size() == given.size();
  for (std::size_t i = 0; sound && i < stated.size(); ++i) sound = stated[i] <= kMost[i];
  if (!sound || stated[0] == 0) {
    throw InputError(path, fmt::format("attribute {} of the metadata is not as exported",
                                       kCountingAttribute));
  }
  for (std::size_t i = 0; i < stated.size(); ++i) {
    if (given[i] == standard[i] || given[i] == stated[i]) continue;
    throw InputError(path, fmt::format("{}: the trace says that it counts otherwise ({} {}, not "
                                       "{}); expected none, or the same", kOptions[i],
                                       kCountingAttribute, stated[i], given[i]));
  }
  options.element_bytes = stated[0];
  options.macs = stated[1] != 0;
  options.comm_size = static_cast<ChakraImportOptions::CommSize>(stated[2]);
  options.control = static_cast<ChakraImportOptions::ControlDependencies>(stated[3]);
  options.recorded_collectives = stated[4] != 0;
}

class RankReader {
 public:
  RankReader(const std::string& path, std::uint32_t rank, std::uint32_t ranks,
             RankProgram& out)
      : path_(path), rank_(rank), ranks_(ranks), options_(out.counting), out_(out) {}

  void metadata(const chakra::GlobalMetadata& metadata) {
    for (const chakra::Attribute& a : metadata.attr()) {
      const auto& values = a.uint64_list().values();
      if (a.name() == kSizesAttribute) {
        out_.size_tables.emplace_back(values.begin(), values.end());
      } else if (a.name() == kCountingAttribute) {
        settle_counting({values.begin(), values.end()}, path_, out_.counting);
      } else if (a.name() == kTrainingAttribute) {
        if (values.size() == kTrainingFields) out_.training.assign(values.begin(), values.end());
      } else if (a.name() == kMemoryAttribute) {
        const bool whole = values.size() >= kMemoryFields && values.size() % 2 == 0;
        if (whole) out_.memory.assign(values.begin(), values.end());
      } else if (a.name() == kProgramAttribute) {
        out_.number = a.uint32_val();
      } else if (a.name() == kStreamsAttribute) {
        add_streams(a);
      } else if (a.name() == kAxesAttribute) {
        out_.axes.assign(a.string_list().values().begin(), a.string_list().values().end());
      } else if (a.name() == kGroupsAttribute) {
        out_.groups.assign(a.string_list().values().begin(), a.string_list().values().end());
      }
    }
  }

  void node(const chakra::Node& node) {
    const NodeAttributes attributes(node, path_);
    if (const auto sent = attributes.integer(kArrivalAttribute)) {
      arrivals_[node.id()] = *sent;
      return;
    }
    RankNode& out = out_.nodes.emplace_back();
    out.id = node.id();
    out.name = node.name();
    out.data.assign(node.data_deps().begin(), node.data_deps().end());
    out.control.assign(node.ctrl_deps().begin(), node.ctrl_deps().end());
    convert(node, attributes, out);
    read_our_fields(node, attributes, out);
    out.record = record_of(node, out.fields.kind);
    if (node.type() == chakra::METADATA_NODE) {
      for (CommunicatorList& group : groups_of_metadata(node, path_)) {
        out_.defined.push_back(std::move(group));
      }
    }
  }

  // Dependencies on the receive of a permutation are on the permutation.
  void settle_arrivals() {
    if (arrivals_.empty()) return;
    for (RankNode& node : out_.nodes) {
      for (auto* list : {&node.data, &node.control}) {
        for (std::uint64_t& id : *list) {
          const auto found = arrivals_.find(id);
          if (found != arrivals_.end()) id = found->second;
        }
      }
    }
  }

 private:
  void add_streams(const chakra::Attribute& attribute) {
    for (const std::string& text : attribute.string_list().values()) {
      const std::size_t colon = text.find(':');
      const auto kind = core::value_of<schema::StreamKind>(text.substr(0, colon));
      out_.streams.push_back({text.substr(colon + 1), kind.value_or(schema::StreamKind::COMPUTE)});
    }
  }

  void convert(const chakra::Node& node, const NodeAttributes& attributes, RankNode& out) {
    if (attributes.integer(kPermutationAttribute)) return convert_permutation(attributes, out);
    model::NodeFields& fields = out.fields;
    const bool host = attributes.integer("is_cpu_op").value_or(0) != 0;
    const std::uint64_t us = node.duration_micros();
    if (us > std::numeric_limits<std::int64_t>::max() / kPsPerUs) {
      attributes.refuse(fmt::format("duration of {} us is out of range", us));
    }
    if (us > 0) fields.duration_ps = us * kPsPerUs;
    if (const auto ns = attributes.integer(kDurationAttribute, std::uint64_t{1} << 52)) {
      fields.duration_ps = *ns * 1'000;
    }
    const std::uint64_t bytes =
        scaled(attributes.integer("tensor_size").value_or(0), options_.element_bytes, attributes);
    switch (node.type()) {
      case chakra::COMP_NODE: return convert_compute(host, bytes, attributes, fields);
      case chakra::MEM_LOAD_NODE:
        fields.kind = schema::NodeKind::MEMORY;
        fields.bytes_read = bytes;
        return;
      case chakra::MEM_STORE_NODE:
        fields.kind = schema::NodeKind::MEMORY;
        fields.bytes_written = bytes;
        return;
      case chakra::COMM_SEND_NODE:
      case chakra::COMM_RECV_NODE: return convert_message(node, attributes, fields);
      case chakra::COMM_COLL_NODE:
        if (host && !attributes.integer("comm_type")) {  // the framework's launch of it
          return convert_compute(host, 0, attributes, fields);
        }
        if (options_.recorded_collectives) return replay(fields);
        return convert_collective(attributes, out);
      default: fields.kind = schema::NodeKind::MARKER;
    }
  }

  void convert_compute(bool host, std::uint64_t bytes, const NodeAttributes& attributes,
                       model::NodeFields& fields) const {
    fields.kind = schema::NodeKind::COMPUTE;
    fields.stream = host ? kHostStream : kComputeStream;
    if (host) {
      if (fields.duration_ps == schema::NO_DURATION) fields.duration_ps = kHostPs;
      return;
    }
    fields.flops = attributes.integer("num_ops").value_or(0);
    fields.bytes_read = bytes;
    // Traces do not say the type; its size, where it is given, does.
    fields.data_type = options_.element_bytes == 4   ? schema::DataType::FP32
                       : options_.element_bytes == 8 ? schema::DataType::FP64
                                                     : schema::DataType::BF16;
    const std::string type = attributes.text("op_type").value_or("");
    if (type == "M") {
      fields.operation = schema::Operation::GEMM;
      if (options_.macs) fields.flops = scaled(fields.flops, 2, attributes);
    } else if (type == "A" || type == "E" || type == "E2") {
      fields.operation = schema::Operation::ELEMENTWISE;
    }
  }

  // A collective as what it took when the trace was recorded.
  static void replay(model::NodeFields& fields) {
    fields.kind = schema::NodeKind::COMPUTE;
    fields.stream = kCollectivesStream;
    if (fields.duration_ps == schema::NO_DURATION) fields.duration_ps = kHostPs;
  }

  void convert_message(const chakra::Node& node, const NodeAttributes& attributes,
                       model::NodeFields& fields) const {
    const bool send = node.type() == chakra::COMM_SEND_NODE;
    const char* const name = send ? "comm_dst" : "comm_src";
    const std::optional<std::uint64_t> peer = attributes.integer(name);
    if (!peer || *peer >= ranks_ || *peer == rank_) {
      attributes.refuse(peer ? fmt::format("{} {} of rank {}; expected another rank below {}",
                                           name, *peer, rank_, ranks_)
                             : fmt::format("has no {}", name));
    }
    fields.kind = send ? schema::NodeKind::SEND : schema::NodeKind::RECEIVE;
    fields.peer_axis = 0;
    fields.peer = static_cast<std::int32_t>(static_cast<std::int64_t>(*peer) - rank_);
    fields.tag = static_cast<std::uint32_t>(
        attributes.integer("comm_tag", std::numeric_limits<std::uint32_t>::max()).value_or(0));
    fields.comm_bytes = scaled(attributes.integer("comm_size").value_or(0),
                               options_.element_bytes, attributes);
  }

  void convert_collective(const NodeAttributes& attributes, RankNode& out) {
    const std::optional<std::uint64_t> type = attributes.integer("comm_type");
    if (!type) {
      attributes.refuse("has no comm_type; --recorded-collectives takes what it recorded instead");
    }
    out.fields.kind = schema::NodeKind::COLLECTIVE;
    out.fields.collective = collective_type(*type, attributes);
    out.fields.comm_bytes = scaled(attributes.integer("comm_size").value_or(0),
                                   options_.element_bytes, attributes);
    read_sizes(attributes, out.fields);
    set_communicator(attributes, out);
  }

  // The table of an all-to-all of unequal sizes, which comm_size sums up.
  void read_sizes(const NodeAttributes& attributes, model::NodeFields& fields) const {
    const auto table = attributes.integer(kSizesAttribute);
    if (!table) return;
    if (*table >= out_.size_tables.size()) {
      attributes.refuse(fmt::format("{} {}; expected less than {}, the tables of the metadata",
                                    kSizesAttribute, *table, out_.size_tables.size()));
    }
    fields.sizes = static_cast<std::uint32_t>(*table + 1);
    fields.comm_bytes = 0;
  }

  // Exports write a send and a receive, of which the send stands for both.
  void convert_permutation(const NodeAttributes& attributes, RankNode& out) {
    out.fields.kind = schema::NodeKind::COLLECTIVE;
    out.fields.collective = schema::CollectiveType::PERMUTE;
    out.fields.root =
        static_cast<std::uint32_t>(*attributes.integer(kPermutationAttribute, ranks_));
    out.fields.comm_bytes = scaled(attributes.integer("comm_size").value_or(0),
                                   options_.element_bytes, attributes);
    set_communicator(attributes, out);
  }

  void set_communicator(const NodeAttributes& attributes, RankNode& out) {
    const std::uint32_t id = attributes.group();
    auto found = std::ranges::find(out_.communicators, id);
    if (found == out_.communicators.end()) {
      found = out_.communicators.insert(out_.communicators.end(), id);
    }
    out.communicator = static_cast<std::uint32_t>(found - out_.communicators.begin());
  }

  // What an export of ours adds (export.cc); nothing in other traces.
  void read_our_fields(const chakra::Node& node, const NodeAttributes& attributes, RankNode& out) {
    const auto stream = attributes.integer(kStreamAttribute, model::kNoLayer);
    const auto position = attributes.integer(kPositionAttribute, 0xffffffff);
    const chakra::Attribute* const list = find_attribute(node, kFieldsAttribute);
    if (!stream || !position || list == nullptr) return;
    const auto& values = list->uint64_list().values();
    if (values.size() != 11 || *stream >= out_.streams.size()) {
      attributes.refuse(fmt::format("{} or {} is not as exported", kFieldsAttribute,
                                    kStreamAttribute));
    }
    out.has_stream = true;
    out.stream = static_cast<std::uint32_t>(*stream);
    out.position = static_cast<std::uint32_t>(*position);
    for (const char* name : {kGroupAttribute, kPeerAxisAttribute}) {
      if (const auto place = attributes.integer(name, model::kNoLayer)) {
        out.mesh_place = static_cast<std::uint32_t>(*place);
      }
    }
    model::NodeFields& f = out.fields;
    if (values[0] != static_cast<std::uint64_t>(f.kind)) {
      attributes.refuse(fmt::format("{} is not of a node of its type", kFieldsAttribute));
    }
    f.operation = static_cast<schema::Operation>(values[1]);
    f.phase = static_cast<schema::Phase>(values[2]);
    f.data_type = static_cast<schema::DataType>(values[3]);
    f.place = static_cast<schema::MemoryPlace>(values[4]);
    f.micro_batch = static_cast<std::uint16_t>(values[5]);
    f.layer = static_cast<std::uint16_t>(values[6]);
    f.bytes_read = values[7];
    f.bytes_written = values[8];
    f.duration_ps = values[9];
    f.root = static_cast<std::uint32_t>(values[10]);
    if (f.kind == schema::NodeKind::COMPUTE) {
      f.flops = attributes.integer("num_ops").value_or(0);
    }
  }

  static std::string record_of(const chakra::Node& node, schema::NodeKind kind) {
    chakra::Node rest = node;
    rest.clear_id();
    rest.clear_name();
    rest.clear_data_deps();
    const bool has_partners = kind == schema::NodeKind::COLLECTIVE || is_message(kind);
    for (chakra::Attribute& a : *rest.mutable_attr()) {
      if (!has_partners) break;
      if (std::ranges::find(kRankAttributes, a.name()) != std::end(kRankAttributes)) {
        set_number(a, 0);
      }
    }
    return rest.SerializeAsString();
  }

  const std::string& path_;
  std::uint32_t rank_, ranks_;
  const ChakraImportOptions& options_;
  RankProgram& out_;
  std::map<std::uint64_t, std::uint64_t> arrivals_;  // receives of permutations, and their sends
};

std::size_t index_of(const RankProgram& program, std::uint64_t id) {
  const auto found = std::ranges::lower_bound(program.nodes, id, {}, &RankNode::id);
  return found != program.nodes.end() && found->id == id
             ? static_cast<std::size_t>(found - program.nodes.begin())
             : program.nodes.size();
}

// Whether data and control dependencies together leave an order.
bool control_is_an_order(const RankProgram& program) {
  const std::size_t n = program.nodes.size();
  std::vector<std::vector<std::uint32_t>> children(n);
  std::vector<std::uint32_t> waits(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    for (const auto* list : {&program.nodes[i].data, &program.nodes[i].control}) {
      for (const std::uint64_t id : *list) {
        const std::size_t at = index_of(program, id);
        if (at == n || at == i) return false;
        children[at].push_back(i);
        ++waits[i];
      }
    }
  }
  std::vector<std::uint32_t> ready;
  for (std::uint32_t i = 0; i < n; ++i) {
    if (waits[i] == 0) ready.push_back(i);
  }
  std::size_t done = 0;
  for (; !ready.empty(); ++done) {
    const std::uint32_t node = ready.back();
    ready.pop_back();
    for (const std::uint32_t child : children[node]) {
      if (--waits[child] == 0) ready.push_back(child);
    }
  }
  return done == n;
}

// Control dependencies that are none go; dangling data dependencies are refused or go.
void settle_dependencies(RankProgram& program, const std::string& path,
                         const ChakraImportOptions& options) {
  using Control = ChakraImportOptions::ControlDependencies;
  const bool any = std::ranges::any_of(program.nodes,
                                       [](const RankNode& n) { return !n.control.empty(); });
  program.control_given = any;
  program.control_used = any && options.control != Control::ignore &&
                         (options.control == Control::use || control_is_an_order(program));
  for (RankNode& node : program.nodes) {
    if (!program.control_used) node.control.clear();
    for (auto* list : {&node.data, &node.control}) {
      const auto dangling = [&](std::uint64_t id) {
        const bool missing = index_of(program, id) == program.nodes.size();
        if (missing && !options.drop_dangling) {
          throw InputError(path, fmt::format("node {} depends on node {}, which is not in the "
                                             "file; --drop-dangling goes on without", node.id, id));
        }
        return missing;
      };
      program.dangling += std::erase_if(*list, dangling);
    }
  }
}

// Tags as their order among those of the same peer and direction: both ends derive the same.
void renumber_tags(RankProgram& program) {
  std::map<std::pair<bool, std::int32_t>, std::vector<std::uint32_t>> tags;
  const auto key = [](const RankNode& node) {
    return std::pair{node.fields.kind == schema::NodeKind::SEND, node.fields.peer};
  };
  const auto wants_tag = [](const RankNode& node) {
    return !node.has_stream && is_message(node.fields.kind);
  };
  for (const RankNode& node : program.nodes) {
    if (wants_tag(node)) tags[key(node)].push_back(node.fields.tag);
  }
  for (auto& [pair, list] : tags) {
    std::ranges::sort(list);
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  for (RankNode& node : program.nodes) {
    if (!wants_tag(node)) continue;
    const auto& list = tags[key(node)];
    EXAWARP_CHECK(std::ranges::binary_search(list, node.fields.tag), node.id, node.fields.tag);
    node.fields.tag = static_cast<std::uint32_t>(
        std::ranges::lower_bound(list, node.fields.tag) - list.begin());
  }
}

}  // namespace

std::string counting_record(const ChakraImportOptions& options) {
  const std::vector<std::uint64_t> values = counting_of(options);
  if (values == counting_of({})) return "";
  chakra::GlobalMetadata metadata;
  chakra::Attribute& counting = *metadata.add_attr();
  counting.set_name(kCountingAttribute);
  counting.mutable_uint64_list()->mutable_values()->Assign(values.begin(), values.end());
  return metadata.SerializeAsString();
}

bool counts_alike(const ChakraImportOptions& a, const ChakraImportOptions& b) {
  return counting_of(a) == counting_of(b);
}

RankProgram read_rank(const TraceSource& source, std::uint32_t rank,
                      const ChakraImportOptions& options) {
  const std::string path = source.place(rank);
  RankProgram program;
  program.counting = options;
  RankReader reader(path, rank, source.ranks, program);
  program.bytes =
      source.read(rank, {.metadata = [&](const chakra::GlobalMetadata& m) { reader.metadata(m); },
                         .node = [&](const chakra::Node& n) { reader.node(n); }});
  reader.settle_arrivals();
  std::ranges::sort(program.nodes, {}, &RankNode::id);
  for (std::size_t i = 1; i < program.nodes.size(); ++i) {
    if (program.nodes[i].id == program.nodes[i - 1].id) {
      throw InputError(path, fmt::format("node {} is there twice", program.nodes[i].id));
    }
  }
  settle_dependencies(program, path, program.counting);
  renumber_tags(program);
  return program;
}

}  // namespace exawarp::io
