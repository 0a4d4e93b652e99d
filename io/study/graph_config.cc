// Links are given as short texts, which are split into words and checked one at a time; how many
// there may be is bounded before memory is taken for them.
#include "io/study/graph_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>
#include <tuple>

#include "io/study/quantities.h"
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

void read_wires(const YamlSection& section, const std::vector<std::string>& kinds,
                model::GraphSpec& out) {
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint8_t>> seen;
  for (const std::string& wire : section.texts("links")) {
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

}  // namespace

model::LinkKind read_link(const YamlSection& section, const std::string& name) {
  skip_documentation(section);
  return {name, achieved_bandwidth(section), read_latency(section, "latency", 1)};
}

model::GraphSpec read_graph(const YamlSection& section) {
  skip_documentation(section);
  section.skip("name");
  model::GraphSpec out;
  out.devices = read_count(section, "devices", 1, model::Graph::kDevicesMax);
  out.switches = read_count(section, "switches", 0, model::Graph::kVerticesMax - out.devices, 0);
  out.devices_forward = section.flag("devices_forward", false);
  const YamlSection kinds = section.section("link_kinds");
  const std::vector<std::string> names = kinds.keys();
  constexpr std::size_t kKindsMax = 200;
  if (names.empty() || names.size() > kKindsMax) {
    section.fail("link_kinds",
                 fmt::format("has {} kinds; expected 1 to {}", names.size(), kKindsMax));
  }
  for (const std::string& name : names) out.kinds.push_back(read_link(kinds.section(name), name));
  read_wires(section, names, out);
  return out;
}

}  // namespace exawarp::io
