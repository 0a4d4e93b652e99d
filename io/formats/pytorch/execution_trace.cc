// Each node of the JSON list becomes a Chakra node with the tensors that it reads and writes;
// process groups and transfers, which PyTorch hides in arguments of calls, are found by the calls'
// names.
#include "io/formats/pytorch/execution_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "io/study/text_file.h"

namespace exawarp::io::pytorch {
namespace {

using core::InputError;
using Json = nlohmann::json;

constexpr std::uint64_t kBytesMax = 1ull << 40;

std::string dumped(const Json& value) {
  return value.dump(-1, ' ', true, Json::error_handler_t::replace);
}

// The first that the text of `name` contains, the longer names first.
std::optional<Transfer> transfer_called(std::string name) {
  std::erase_if(name, [](char c) { return c == '_' || c == '-'; });
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  struct Entry {
    const char* name;
    Transfer::Kind kind;
    std::uint32_t type;
  };
  using Kind = Transfer::Kind;
  constexpr Entry kEntries[] = {
      {"allreduce", Kind::collective, 0}, {"reducescatter", Kind::collective, 7},
      {"allgather", Kind::collective, 2}, {"alltoall", Kind::collective, 6},
      {"broadcast", Kind::collective, 5}, {"barrier", Kind::collective, 9},
      {"gather", Kind::collective, 3},    {"scatter", Kind::collective, 4},
      {"reduce", Kind::collective, 1},    {"send", Kind::send, 0},
      {"recv", Kind::receive, 0}};
  for (const Entry& entry : kEntries) {
    if (name.find(entry.name) == std::string::npos) continue;
    return Transfer{.kind = entry.kind, .comm_type = entry.type};
  }
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(const std::string& place) : place_(place) {}

  ExecutionTrace run(const Json& document) {
    ExecutionTrace trace;
    for (const auto& [key, value] : document.items()) {
      if (key == "nodes") continue;
      chakra::Attribute& attribute = *trace.metadata.add_attr();
      attribute.set_name(key);
      attribute.set_string_val(value.is_string() ? value.get<std::string>() : dumped(value));
    }
    const Json& nodes = document["nodes"];
    if (!nodes.is_array()) throw InputError(place_, "nodes is no list");
    std::size_t index = 0;
    for (const Json& entry : nodes) {
      where_ = fmt::format("{}: nodes[{}]", place_, index++);
      trace.nodes.push_back(read(entry));
    }
    std::ranges::stable_sort(trace.nodes, {}, [](const HostNode& n) { return n.node.id(); });
    name_groups(trace);
    return trace;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { throw InputError(where_, what); }

  std::uint64_t number(const Json& object, const char* key, const char* other = nullptr) const {
    auto at = object.find(key);
    if (at == object.end() && other != nullptr) at = object.find(other);
    if (at == object.end() || !at->is_number_unsigned()) {
      refuse(fmt::format("{}: expected a number from 0", key));
    }
    return at->get<std::uint64_t>();
  }

  HostNode read(const Json& entry) {
    if (!entry.is_object()) refuse("is no JSON object");
    HostNode out;
    out.node.set_id(number(entry, "id"));
    if (!entry.contains("name") || !entry["name"].is_string()) refuse("name: expected text");
    out.node.set_name(entry["name"].get<std::string>());
    out.parent = number(entry, "ctrl_deps", "parent");
    if (entry.contains("attrs")) {
      if (!entry["attrs"].is_array()) refuse("attrs: expected a list");
      for (const Json& attribute : entry["attrs"]) add_attribute(attribute, out);
    }
    const Json inputs = entry.value("inputs", Json::object());
    const Json outputs = entry.value("outputs", Json::object());
    std::uint64_t bytes = 0, ignored = 0;
    find_tensors(tensors_of(inputs), 0, out.reads, bytes);
    find_tensors(tensors_of(outputs), 0, out.writes, ignored);
    keep(inputs, *out.node.mutable_inputs());
    keep(outputs, *out.node.mutable_outputs());
    if (out.node.name().find("process_group:init") != std::string::npos) {
      out.node.set_type(chakra::METADATA_NODE);
      read_groups(inputs, out.node);
    } else {
      out.node.set_type(chakra::COMP_NODE);
    }
    if (out.node.name() == "record_param_comms") read_transfer(inputs, bytes, out);
    return out;
  }

  void add_attribute(const Json& in, HostNode& out) const {
    if (!in.is_object() || !in.contains("name") || !in["name"].is_string() ||
        !in.contains("value")) {
      refuse("attrs: expected entries with name, type and value");
    }
    const std::string name = in["name"].get<std::string>();
    const Json& value = in["value"];
    chakra::Attribute& attribute = *out.node.add_attr();
    attribute.set_name(name);
    if (value.is_number_unsigned()) {
      attribute.set_uint64_val(value.get<std::uint64_t>());
    } else if (value.is_number_integer()) {
      attribute.set_int64_val(value.get<std::int64_t>());
    } else if (value.is_boolean()) {
      attribute.set_bool_val(value.get<bool>());
    } else {
      attribute.set_string_val(value.is_string() ? value.get<std::string>() : dumped(value));
    }
    if (!value.is_number_unsigned()) return;
    if (name == "rf_id") out.record_function = value.get<std::uint64_t>();
    if (name == "tid") out.thread = value.get<std::uint64_t>();
  }

  static const Json& tensors_of(const Json& io) {
    static const Json kNone = Json::array();
    if (io.is_array()) return io;  // older traces have the values alone
    if (!io.is_object()) return kNone;
    const auto at = io.find("values");
    return at != io.end() && at->is_array() ? *at : kNone;
  }

  // Tensors are [tensor, storage, offset, elements, bytes an element, device], in lists as deep as
  // the arguments are.
  void find_tensors(const Json& value, int depth, std::vector<std::uint64_t>& storages,
                    std::uint64_t& bytes) const {
    constexpr int kDepthMax = 8;
    if (!value.is_array() || depth > kDepthMax) return;
    const bool tensor = value.size() == 6 && value[5].is_string() &&
                        std::all_of(value.begin(), value.begin() + 5,
                                    [](const Json& v) { return v.is_number_unsigned(); });
    if (!tensor) {
      for (const Json& part : value) find_tensors(part, depth + 1, storages, bytes);
      return;
    }
    storages.push_back(value[1].get<std::uint64_t>());
    const auto elements = value[3].get<std::uint64_t>(), each = value[4].get<std::uint64_t>();
    if (each != 0 && (elements > kBytesMax / each || bytes > kBytesMax - elements * each)) {
      refuse("its tensors are too large");
    }
    bytes += elements * each;
  }

  static void keep(const Json& io, chakra::IOInfo& out) {
    if (!io.is_object()) return;
    if (io.contains("values")) out.set_values(dumped(io["values"]));
    if (io.contains("shapes")) out.set_shapes(dumped(io["shapes"]));
    if (io.contains("types")) out.set_types(dumped(io["types"]));
  }

  // "[{"pg_name": "0", "backend_id": 1, "ranks": []}]", as text, is the first input.
  void read_groups(const Json& inputs, chakra::Node& out) {
    const Json& values = tensors_of(inputs);
    if (values.empty() || !values[0].is_string()) return;
    const std::string text = values[0].get<std::string>();
    check_json_depth(text, where_);
    const Json groups = Json::parse(text, nullptr, false);
    if (!groups.is_array()) refuse("the process groups are no list");
    for (const Json& group : groups) {
      if (!group.is_object() || !group.contains("backend_id") || !group.contains("pg_name")) {
        continue;
      }
      if (group["pg_name"].is_string()) {
        group_of_backend_[dumped(group["backend_id"])] = group["pg_name"].get<std::string>();
      }
    }
    out.mutable_inputs()->set_values("['" + text + "']");  // what Chakra's readers expect
  }

  static std::string attribute(const chakra::Node& node, const char* name) {
    for (const chakra::Attribute& a : node.attr()) {
      if (a.name() == name) return a.string_val();
    }
    return "";
  }

  // Older traces have the collective's name and the group's backend among the inputs, newer ones
  // in attributes too.
  static void read_transfer(const Json& inputs, std::uint64_t bytes, HostNode& out) {
    const Json& values = tensors_of(inputs);
    std::string name = attribute(out.node, "comm_name");
    for (const Json& value : values) {
      if (name.empty() && value.is_string()) name = value.get<std::string>();
    }
    out.waits = name == "wait";
    out.transfer = transfer_called(name);
    if (!out.transfer) return;
    out.transfer->bytes = bytes;
    out.transfer->group = attribute(out.node, "pg_name");
    if (out.transfer->group.empty() && values.size() > 2) {
      out.transfer->group = kBackend + dumped(values[2]);
    }
    if (values.size() > 3 && values[3].is_number_unsigned()) {
      out.transfer->peer = values[3].get<std::uint64_t>();
    }
  }

  // Groups may be told after they are used, so backends get their names last.
  void name_groups(ExecutionTrace& trace) const {
    for (HostNode& node : trace.nodes) {
      if (!node.transfer || !node.transfer->group.starts_with(kBackend)) continue;
      const auto at = group_of_backend_.find(node.transfer->group.substr(1));
      node.transfer->group = at == group_of_backend_.end() ? "" : at->second;
    }
  }

  static constexpr char kBackend = '@';
  const std::string& place_;
  std::string where_;
  std::map<std::string, std::string> group_of_backend_;
};

}  // namespace

ExecutionTrace read_execution_trace(std::string_view text, const std::string& place) {
  check_json_depth(text, place);
  const Json document = Json::parse(text, nullptr, false);
  if (!document.is_object() || !document.contains("nodes")) {
    throw InputError(place, "is no JSON object with nodes; expected a PyTorch execution trace");
  }
  return Reader(place).run(document);
}

}  // namespace exawarp::io::pytorch
