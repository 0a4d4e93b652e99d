#include "io/study/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "io/study/study.h"
#include "model/network/packet/congestion_control.h"
#include "model/network/packet/routing_policy.h"

namespace exawarp::io {
namespace {

using nlohmann::json;

constexpr std::string_view kPacket = "network.packet.";

// "a.b" of "a.b", "a.b.c" and "a.b[0].c".
bool is_at_or_below(std::string_view key, std::string_view above) {
  return key.starts_with(above) &&
         (key.size() == above.size() || key[above.size()] == '.' || key[above.size()] == '[');
}

bool is_parameter_of_packets(std::string_view key) {
  for (const model::CongestionAlgorithm& algorithm : model::congestion_algorithms()) {
    if (is_at_or_below(key, algorithm.name)) return true;
  }
  for (const model::RoutingAlgorithm& algorithm : model::routing_algorithms()) {
    for (const model::Parameter& p : algorithm.parameters) {
      if (key == p.key) return true;
    }
  }
  return key == "routing" || is_at_or_below(key, "ecn");
}

}  // namespace

const Keys<StudyChange>& change_keys() {
  using K = Keys<StudyChange>;
  static const K keys(
      "changes", "What changes while a study is simulated: docs/guide/faults.md.",
      {K::quantity("at", &StudyChange::at, {core::Dimension::time, 1},
                   "what is decided from then on sees it")
           .required(),
       K::texts("set", &StudyChange::set, "as after `--set`: path.to.key=value").required()});
  return keys;
}

std::vector<StudyChange> read_changes(const YamlSection& root, const KeySchema& key) {
  std::vector<StudyChange> out;
  if (!root.has(key.name)) return out;
  for (const YamlSection& section : root.sections(key.name)) {
    StudyChange change = change_keys().read(section);
    if (!out.empty() && change.at <= out.back().at) {
      section.fail("at", "is not after the change before");
    }
    out.push_back(std::move(change));
  }
  return out;
}

std::string yaml_of(std::span<const StudyChange> changes) {
  json all = json::array();
  for (const StudyChange& change : changes) {
    const std::string at = quantity_text(change.at.ps, core::Dimension::time);
    all.push_back({{"at", at}, {"set", change.set}});
  }
  return all.dump();
}

bool may_change(std::string_view key) {
  if (key.starts_with(kPacket)) return is_parameter_of_packets(key.substr(kPacket.size()));
  return std::ranges::any_of(std::array{"faults", "network.latency_jitter", "compute.jitter"},
                             [key](const char* above) { return is_at_or_below(key, above); });
}

std::optional<std::string> first_difference(const Settings& a, const Settings& b,
                                            bool (*ignored)(std::string_view key)) {
  const auto lacks = [ignored](const Settings& all, const Setting& one) {
    if (ignored(one.key)) return false;
    const auto same = std::ranges::find(all, one.key, &Setting::key);
    return same == all.end() || same->value != one.value;
  };
  for (const auto& [from, to] : {std::pair(&b, &a), std::pair(&a, &b)}) {
    for (const Setting& one : *from) {
      if (lacks(*to, one)) return one.key;
    }
  }
  return {};
}

}  // namespace exawarp::io
