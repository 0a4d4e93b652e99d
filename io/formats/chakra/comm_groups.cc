#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "io/formats/chakra/reader.h"
#include "io/study/suggest.h"
#include "io/study/text_file.h"

namespace exawarp::io {
namespace {

using core::InputError;
using Json = nlohmann::json;

std::uint32_t parse_id(const std::string& text, const std::string& place) {
  std::uint32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw InputError(place, fmt::format("communicator group {}: expected a decimal number",
                                        in_quotes(text)));
  }
  return id;
}

std::vector<std::uint32_t> parse_ranks(const Json& json, const std::string& place) {
  std::vector<std::uint32_t> ranks;
  if (!json.is_array()) throw InputError(place, "a group's ranks are no list");
  for (const Json& rank : json) {
    if (!rank.is_number_unsigned() ||
        rank.get<std::uint64_t>() > std::numeric_limits<std::int32_t>::max()) {
      throw InputError(place, "a group has a rank that is no rank number");
    }
    ranks.push_back(rank.get<std::uint32_t>());
  }
  return ranks;
}

}  // namespace

std::vector<CommunicatorList> read_comm_groups(const std::string& path) {
  const core::MappedFile file(path);
  const Json json = Json::parse(text_of(file), nullptr, false);
  if (!json.is_object()) throw InputError(path, "is no JSON object; expected {\"1\": [0, 1], ...}");
  std::vector<CommunicatorList> groups;
  for (const auto& [key, ranks] : json.items()) {
    groups.push_back({parse_id(key, path), parse_ranks(ranks, path)});
    if (groups.back().id == 0) throw InputError(path, "group 0 is all ranks; expected ids from 1");
  }
  return groups;
}

std::vector<CommunicatorList> groups_of_metadata(const chakra::Node& node,
                                                 const std::string& place) {
  const std::string& values = node.inputs().values();
  if (values.size() < 4) return {};
  const std::string where = fmt::format("{}: node {}", place, node.id());
  const Json json = Json::parse(values.substr(2, values.size() - 4), nullptr, false);
  if (!json.is_array()) return {};
  std::vector<CommunicatorList> groups;
  for (const Json& entry : json) {
    if (!entry.is_object() || !entry.contains("pg_name") || !entry.contains("ranks") ||
        !entry["pg_name"].is_string()) {
      throw InputError(where, "a process group without pg_name and ranks");
    }
    groups.push_back({parse_id(entry["pg_name"].get<std::string>(), where),
                      parse_ranks(entry["ranks"], where)});
  }
  return groups;
}

}  // namespace exawarp::io
