// Links are given as short texts, which are split into words and checked one at a time; how many
// there may be is bounded before memory is taken for them.
#include "io/study/graph_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>
#include <tuple>

#include "io/study/link_keys.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

// "d12" or "s3".
model::VertexId read_vertex(const YamlSection& section, const model::GraphSpec& graph,
                            const std::string& wire, const std::string& word) {
  const bool device = word.starts_with('d');
  std::uint32_t index = 0;
  const char* const end = word.data() + word.size();
  const bool sound = (device || word.starts_with('s')) && word.size() > 1 &&
                     std::from_chars(word.data() + 1, end, index).ptr == end;
  if (!sound) {
    section.fail("links", fmt::format("{}: {} is no vertex; expected e.g. d0 (a device) or s0 (a "
                                      "switch)",
                                      in_quotes(wire), in_quotes(word)));
  }
  if (index >= (device ? graph.devices : graph.switches)) {
    section.fail("links", fmt::format("{}: there is no {} {}; expected below {}", in_quotes(wire),
                                      device ? "device" : "switch", index,
                                      device ? graph.devices : graph.switches));
  }
  return {device ? index : graph.devices + index};
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

// The links between two vertices of one kind, in one line: "d0 s0 KIND", or "d0 s0 KIND 2" where
// there are two.
std::uint32_t read_bundle(const YamlSection& section, const std::string& wire,
                          const std::vector<std::string>& words) {
  constexpr std::uint32_t kBundleMax = 64;
  if (words.size() == 3) return 1;
  std::uint32_t count = 0;
  const char* const end = words[3].data() + words[3].size();
  const bool sound =
      std::from_chars(words[3].data(), end, count).ptr == end && count >= 1 && count <= kBundleMax;
  if (!sound) {
    section.fail("links", fmt::format("{}: {} is no number of links; expected 1 to {}",
                                      in_quotes(wire), in_quotes(words[3]), kBundleMax));
  }
  return count;
}

void read_wires(const YamlSection& section, model::GraphSpec& out, const KeySchema& key) {
  std::vector<std::string> kinds;
  for (const model::LinkKind& kind : out.kinds) kinds.push_back(kind.name);
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint8_t>> seen;
  for (const std::string& wire : section.texts(key.name)) {
    const std::vector<std::string> words = words_of(wire);
    if (words.size() != 3 && words.size() != 4) {
      section.fail("links", fmt::format("{} is no link; expected e.g. \"d0 s0 {}\"",
                                        in_quotes(wire), kinds.front()));
    }
    const auto found = std::ranges::find(kinds, words[2]);
    if (found == kinds.end()) {
      section.fail("links", fmt::format("{}: no kind {}{}", in_quotes(wire), in_quotes(words[2]),
                                        did_you_mean(words[2], kinds)));
    }
    const auto kind = static_cast<std::uint8_t>(found - kinds.begin());
    const model::VertexId a = read_vertex(section, out, wire, words[0]);
    const model::VertexId b = read_vertex(section, out, wire, words[1]);
    if (a == b) section.fail("links", in_quotes(wire) + " leads back to where it starts");
    const auto [low, high] = std::minmax(a.value, b.value);
    if (!seen.emplace(low, high, kind).second) {
      section.fail("links", fmt::format("{} is there twice; expected e.g. \"{} {} {} 2\" where "
                                        "there are two links",
                                        in_quotes(wire), words[0], words[1], words[2]));
    }
    const std::uint32_t count = read_bundle(section, wire, words);
    for (std::uint32_t i = 0; i < count; ++i) out.wires.push_back({a, b, kind});
  }
}

void read_kinds(const YamlSection& section, model::GraphSpec& out, const KeySchema& key) {
  const YamlSection kinds = section.section(key.name);
  const std::vector<std::string> names = kinds.keys();
  constexpr std::size_t kKindsMax = 200;
  if (names.empty() || names.size() > kKindsMax) {
    section.fail(key.name, fmt::format("has {} kinds; expected 1 to {}", names.size(), kKindsMax));
  }
  for (const std::string& name : names) {
    model::LinkKind& kind = out.kinds.emplace_back(link_kind_keys().read(kinds.section(name)));
    kind.name = name;
  }
}

const SectionSchema& link_kinds_schema() {
  static const SectionSchema schema{.name = "graph.link_kinds",
                                    .meaning = "Links by names of the writer's choice.",
                                    .keys = {},
                                    .others = {ValueShape::mapping(link_kind_keys().schema())}};
  return schema;
}

}  // namespace

const Keys<model::LinkKind>& link_kind_keys() {
  using S = model::LinkKind;
  using K = Keys<S>;
  static const K keys("link", "A cable of a topology.",
                      {K::note("source"), K::note("description"),
                       bandwidth_key<S>(&S::bandwidth_bytes_per_s),
                       peak_bandwidth_key<S>(&S::bandwidth_bytes_per_s),
                       K::latency("latency", &S::latency, 1, "of the link").required()});
  return keys;
}

const Keys<model::GraphSpec>& graph_keys() {
  using S = model::GraphSpec;
  using K = Keys<S>;
  constexpr std::int64_t kVerticesMax = model::Graph::kVerticesMax;
  static const K keys(
      "graph", "Any network, link by link.",
      {K::note("source"), K::note("description"), K::note("name"),
       K::integer("devices", &S::devices, {1, model::Graph::kDevicesMax}, "d0, d1, ...").required(),
       K::custom("switches", {ValueShape::integer({0, kVerticesMax})}, "s0, s1, ...",
                 [](const YamlSection& section, S& graph, const KeySchema& key) {
                   graph.switches =
                       read_count(section, key.name, 0, kVerticesMax - graph.devices, 0);
                 })
           .usually("0"),
       K::flag("devices_forward", &S::devices_forward, "devices pass messages on"),
       K::custom("link_kinds", {ValueShape::mapping(link_kinds_schema())}, "name to link",
                 read_kinds)
           .required(),
       K::custom("links", {ValueShape::list_of(ValueShape::text())},
                 "`d0 s0 KIND`, with a number behind it where there are several", read_wires)
           .required()});
  return keys;
}

}  // namespace exawarp::io
