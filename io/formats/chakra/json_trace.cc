// Of the first form, finds where each object ends before it is parsed, so that one node at a time
// is in memory; protobuf's own JSON reader does the rest. The second form is parsed as a whole.
#include "io/formats/chakra/json_trace.h"

#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/json_util.h>

#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/error.h"
#include "core/mapped_file.h"
#include "core/output_file.h"
#include "io/formats/chakra/attributes.h"
#include "io/formats/chakra/record.h"
#include "io/study/suggest.h"
#include "io/study/text_file.h"

namespace exawarp::io {
namespace {

using core::InputError;
using Json = nlohmann::json;

// The end of the JSON object that starts at `at`; npos where it has none.
std::size_t end_of_object(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  bool quoted = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c == '\\') {
        ++at;
      } else if (c == '"') {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

void parse_message(std::string_view text, const std::string& place, std::size_t at,
                   google::protobuf::Message& message) {
  const google::protobuf::LogSilencer silencer;
  message.Clear();
  const auto status = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(text.data(), text.size()), &message);
  if (status.ok()) return;
  throw InputError(place,
                   fmt::format("byte {}: is no Chakra {}: {}", at, message.GetDescriptor()->name(),
                               in_quotes(status.message().as_string())));
}

// One entry of the feeder's list.
class FeederNode {
 public:
  FeederNode(const Json& entry, const std::string& place) : entry_(entry), place_(place) {}

  void convert(chakra::Node& out) const {
    out.Clear();
    if (!entry_.is_object()) throw InputError(place_, "is no JSON object");
    out.set_id(number("Id", true));
    if (entry_.contains("Name")) out.set_name(text("Name"));
    const std::uint64_t type = number("NodeType", true);
    if (type > chakra::COMM_COLL_NODE) refuse("NodeType", "expected 0 to 7");
    out.set_type(static_cast<chakra::NodeType>(type));
    out.set_duration_micros(number("runtime", false));
    for (const std::uint64_t id : numbers("ctrlDeps")) out.add_ctrl_deps(id);
    for (const std::uint64_t id : numbers("data_deps")) out.add_data_deps(id);
    for (const auto& [key, value] : entry_.items()) {
      if (!is_field(key)) add_attribute(key, value, out);
    }
  }

 private:
  static bool is_field(const std::string& key) {
    for (const char* name : {"Id", "Name", "NodeType", "runtime", "ctrlDeps", "data_deps"}) {
      if (key == name) return true;
    }
    return false;
  }
  [[noreturn]] void refuse(const char* key, const char* what) const {
    const auto at = entry_.find(key);
    throw InputError(place_,
                     fmt::format("{} {}: {}", key,
                                 at == entry_.end() ? "is missing" : in_quotes(shown(*at)), what));
  }
  static std::string shown(const Json& value) {
    return value.dump(-1, ' ', true, Json::error_handler_t::replace);
  }
  [[nodiscard]] std::uint64_t number(const char* key, bool required) const {
    const auto at = entry_.find(key);
    if (at == entry_.end() && !required) return 0;
    if (at == entry_.end() || !at->is_number_unsigned()) refuse(key, "expected a number from 0");
    return at->get<std::uint64_t>();
  }
  [[nodiscard]] std::string text(const char* key) const {
    if (!entry_[key].is_string()) refuse(key, "expected text");
    return entry_[key].get<std::string>();
  }
  [[nodiscard]] std::vector<std::uint64_t> numbers(const char* key) const {
    const auto at = entry_.find(key);
    if (at == entry_.end()) return {};
    std::vector<std::uint64_t> values;
    if (!at->is_array()) refuse(key, "expected a list of ids");
    for (const Json& value : *at) {
      if (!value.is_number_unsigned()) refuse(key, "expected a list of ids");
      values.push_back(value.get<std::uint64_t>());
    }
    return values;
  }
  static void add_attribute(const std::string& key, const Json& value, chakra::Node& out) {
    chakra::Attribute& attribute = *out.add_attr();
    attribute.set_name(key);
    if (value.is_boolean()) {
      attribute.set_bool_val(value.get<bool>());
    } else if (value.is_number_unsigned()) {
      attribute.set_uint64_val(value.get<std::uint64_t>());
    } else if (value.is_number_integer()) {
      attribute.set_int64_val(value.get<std::int64_t>());
    } else if (value.is_number()) {
      attribute.set_double_val(value.get<double>());
    } else {
      attribute.set_string_val(value.is_string() ? value.get<std::string>() : shown(value));
    }
  }
  const Json& entry_;
  const std::string& place_;
};

void read_feeder_form(const Json& document, const std::string& place, const TraceVisitor& visitor) {
  if (visitor.metadata) {
    chakra::GlobalMetadata metadata;
    for (const auto& [key, value] : document.items()) {
      if (key == "workload_graph") continue;
      chakra::Attribute& attribute = *metadata.add_attr();
      attribute.set_name(key);
      attribute.set_string_val(value.is_string() ? value.get<std::string>() : value.dump());
    }
    visitor.metadata(metadata);
  }
  const Json& list = document["workload_graph"];
  if (!list.is_array()) throw InputError(place, "workload_graph is no list");
  chakra::Node node;
  std::size_t index = 0;
  for (const Json& entry : list) {
    FeederNode(entry, fmt::format("{}: workload_graph[{}]", place, index++)).convert(node);
    visitor.node(node);
  }
}

void read_messages(std::string_view text, const std::string& place, const TraceVisitor& visitor) {
  bool first = true;
  chakra::GlobalMetadata metadata;
  chakra::Node node;
  for (std::size_t at = 0;; first = false) {
    at = text.find_first_not_of(" \t\r\n", at);
    if (at == std::string_view::npos) break;
    const std::size_t end = text[at] == '{' ? end_of_object(text, at) : std::string_view::npos;
    if (end == std::string_view::npos) {
      throw InputError(place, fmt::format("byte {}: expected a JSON object", at));
    }
    EXAWARP_CHECK(at < end && end <= text.size(), at, end);
    const std::string_view object = text.substr(at, end - at);
    if (first) {
      parse_message(object, place, at, metadata);
      if (visitor.metadata) visitor.metadata(metadata);
    } else {
      parse_message(object, place, at, node);
      visitor.node(node);
    }
    at = end;
  }
}

bool has_suffix(const std::string& name, std::string_view suffix) {
  return name.size() > suffix.size() && name.ends_with(suffix);
}

}  // namespace

void read_json_trace(std::string_view text, const std::string& place, const TraceVisitor& visitor) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || text[start] != '{') {
    throw InputError(place, "is no JSON object; expected a Chakra trace");
  }
  const std::size_t end = end_of_object(text, start);
  if (end == std::string_view::npos) throw InputError(place, "the first JSON object has no end");
  check_json_depth(text, place);
  const Json head = Json::parse(text.substr(start, end - start), nullptr, false);
  if (head.is_object() && head.contains("workload_graph")) {
    if (text.find_first_not_of(" \t\r\n", end) != std::string_view::npos) {
      throw InputError(place, fmt::format("byte {}: text after the workload_graph", end));
    }
    return read_feeder_form(head, place, visitor);
  }
  if (head.is_object() && head.contains("nodes")) {
    throw InputError(place, "is a PyTorch execution trace; expected `workload import pytorch`");
  }
  read_messages(text, place, visitor);
}

std::string to_json_line(const google::protobuf::Message& message, const std::string& place) {
  std::string line;
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  const auto status = google::protobuf::util::MessageToJsonString(message, &line, options);
  if (!status.ok()) {
    throw InputError(place, "has no JSON form: " + in_quotes(status.message().as_string()));
  }
  return line + "\n";
}

void convert_trace(const std::string& input, const std::string& output) {
  std::string out;
  if (has_suffix(input, ".et") && has_suffix(output, ".json")) {
    const auto line = [&](const google::protobuf::Message& m) { out += to_json_line(m, input); };
    read_trace(input, {.metadata = line, .node = line});
  } else if (has_suffix(input, ".json") && has_suffix(output, ".et")) {
    const auto record = [&](const google::protobuf::Message& m) { append_record(m, out); };
    const core::MappedFile file(input);
    read_json_trace(text_of(file), input, {.metadata = record, .node = record});
  } else {
    throw InputError(output, fmt::format("{} cannot become that; expected FILE.et and FILE.json, "
                                         "or the other way",
                                         in_quotes(input)));
  }
  core::write_file(output, out);
}

}  // namespace exawarp::io
