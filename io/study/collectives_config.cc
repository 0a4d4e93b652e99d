// A rule is a condition (type, sizes, members) and a choice of algorithm with its figures; rules
// are kept in the order of the file, since the first that applies wins.
#include "io/study/collectives_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "io/study/quantities.h"
#include "model/collective/algorithm.h"
#include "model/workload/names.h"

namespace exawarp::io {
namespace {

using core::Dimension;
using model::Algorithm;
using model::CollectiveRule;
using model::schema::CollectiveType;
using RuleKeys = Keys<CollectiveRule>;

std::vector<Choice<Algorithm>> algorithms() {
  std::vector<Choice<Algorithm>> all;
  for (const Algorithm a : model::listed_algorithms()) {
    all.push_back({std::string(model::name_of(a)), a});
  }
  return all;
}

template <class Able>
std::string names_where(const Able& able, std::string_view separator) {
  std::vector<std::string_view> names;
  for (const Algorithm a : model::listed_algorithms()) {
    if (able(a)) names.push_back(model::name_of(a));
  }
  return fmt::format("{}", fmt::join(names, separator));
}

// What can run `type` along every dimension; empty: `type` does not run by dimensions.
std::string algorithms_by_dimension(CollectiveType type) {
  const auto able = [type](Algorithm a) {
    return model::can_be_hierarchical(type, {.algorithm = a, .across = a});
  };
  return names_where(able, ", ");
}

[[noreturn]] void fail_hierarchical(const YamlSection& rule, CollectiveType type) {
  const std::string algorithms = algorithms_by_dimension(type);
  if (!algorithms.empty()) {
    rule.fail("hierarchical", fmt::format("cannot run this type by these algorithms; expected "
                                          "one of: {}",
                                          algorithms));
  }
  std::vector<std::string_view> types;
  for (const auto& able : names_of(CollectiveType{})) {
    if (!algorithms_by_dimension(able.value).empty()) types.push_back(able.name);
  }
  rule.fail("hierarchical",
            fmt::format("cannot run this type; expected one of: {}", fmt::join(types, ", ")));
}

// How members of one node, and of different ones, differ.
const Keys<std::array<core::Time, 2>>& step_keys() {
  using S = std::array<core::Time, 2>;
  using K = Keys<S>;
  static const K keys(
      "collectives.step", "Added to each message's latency.",
      {K::latency("node", [](S& step) -> auto& { return step[0]; }, 0, "inside a node"),
       K::latency("scale_out", [](S& step) -> auto& { return step[1]; }, 0, "beyond")});
  return keys;
}

RuleKeys::Key algorithm_key(std::string name, Algorithm model::Choice::*at, std::string meaning) {
  std::vector<std::string> names;
  for (const Choice<Algorithm>& choice : algorithms()) names.push_back(choice.name);
  return RuleKeys::custom(
      std::move(name), {ValueShape::choice(std::move(names))}, std::move(meaning),
      [at](const YamlSection& section, CollectiveRule& rule, const KeySchema& key) {
        std::optional<Algorithm> fallback;
        if (!key.required) fallback = rule.choice.algorithm;
        rule.choice.*at = section.choice<Algorithm>(key.name, algorithms(), fallback);
      });
}

constexpr RealRange kPayloadShare{.min = 0.01, .max = 1};

// Share of what an interface inside a node (0) or beyond (1) carries that is data; where the key is
// absent, that of the one beyond.
RuleKeys::Key payload_key(std::string name, std::size_t at, std::string meaning) {
  return RuleKeys::custom(
      std::move(name), {ValueShape::real(kPayloadShare)}, std::move(meaning),
      [at](const YamlSection& section, CollectiveRule& rule, const KeySchema& key) {
        auto& ppm = rule.choice.payload_ppm;
        const double usual = static_cast<double>(ppm[1]) / model::kPayloadWhole;
        ppm[at] = static_cast<std::uint32_t>(
            std::lround(section.real(key.name, kPayloadShare, usual) * model::kPayloadWhole));
      });
}

void check_lanes(const YamlSection& section, const model::Choice& choice) {
  if (!model::can_use_lanes(choice.algorithm)) {
    for (const char* key : {"channels", "chunk", "both_ways"}) {
      if (!section.has(key)) continue;
      section.fail(key, fmt::format("has no meaning here; expected algorithm {}",
                                    names_where(model::can_use_lanes, " or ")));
    }
  }
  const auto goes_round = [](Algorithm a) { return model::description_of(a).goes_round; };
  if (choice.both_ways && !goes_round(choice.algorithm)) {
    section.fail("both_ways", fmt::format("has no meaning here; expected algorithm {}",
                                          names_where(goes_round, " or ")));
  }
}

void check_rule(const YamlSection& section, const CollectiveRule& rule) {
  check_lanes(section, rule.choice);
  if (rule.min_bytes > rule.max_bytes) {
    section.fail("max_bytes", "is below min_bytes, so that the rule fits nothing");
  }
  if (rule.min_group > rule.max_group) {
    section.fail("max_group", "is below min_group, so that the rule fits nothing");
  }
  if (!rule.type) return;
  if (rule.choice.hierarchical && !model::can_be_hierarchical(*rule.type, rule.choice)) {
    fail_hierarchical(section, *rule.type);
  }
  if (!model::can_run(*rule.type, rule.choice.algorithm)) {
    const auto able = [&](Algorithm a) { return model::can_run(*rule.type, a); };
    section.fail("algorithm",
                 fmt::format("cannot run this type; expected one of: {}", names_where(able, ", ")));
  }
}

const RuleKeys& collective_rule_keys() {
  using K = RuleKeys;
  constexpr QuantityRange kBytes{Dimension::size, 0};
  constexpr IntegerRange kMembers{1, kDevicesMax};
  static const K keys(
      "collectives.rule", "The first that fits decides which algorithm a collective runs by.",
      {K::note("source"), K::note("description"),
       K::custom("type", {ValueShape::choice(core::names_in(names_of(CollectiveType{})))},
                 "of the collective",
                 [](const YamlSection& section, CollectiveRule& rule, const KeySchema& key) {
                   if (!section.has(key.name)) return;
                   rule.type = section.choice<CollectiveType>(key.name, names_of(CollectiveType{}));
                 })
           .otherwise("all it can run"),
       K::quantity("min_bytes", &CollectiveRule::min_bytes, kBytes,
                   "of a device's buffer or input, inclusive")
           .otherwise("any"),
       K::quantity("max_bytes", &CollectiveRule::max_bytes, kBytes,
                   "of a device's buffer or input, inclusive")
           .otherwise("any"),
       K::integer("min_group", &CollectiveRule::min_group, kMembers, "members, inclusive")
           .otherwise("any"),
       K::integer("max_group", &CollectiveRule::max_group, kMembers, "members, inclusive")
           .otherwise("any"),
       K::custom("across_nodes", {ValueShape::flag()},
                 "only groups that have members in several nodes, or none of those",
                 [](const YamlSection& section, CollectiveRule& rule, const KeySchema& key) {
                   if (section.has(key.name)) rule.across_nodes = section.flag(key.name);
                 })
           .otherwise("both"),
       algorithm_key("algorithm", &model::Choice::algorithm,
                     "docs/reference/collectives.md says what each does")
           .required(),
       K::integer(
           "channels", [](CollectiveRule& rule) -> auto& { return rule.choice.channels; },
           {1, model::kLanesMax}, "lanes that run side by side")
           .otherwise("as many as a ring's group has interfaces"),
       K::quantity(
           "chunk", [](CollectiveRule& rule) -> auto& { return rule.choice.chunk_bytes; },
           {Dimension::size, 1}, "largest message wanted; longer ones take more lanes")
           .otherwise("none"),
       K::flag(
           "both_ways", [](CollectiveRule& rule) -> auto& { return rule.choice.both_ways; },
           "every second lane of a ring runs backwards")
           .if_given(),
       K::flag(
           "hierarchical", [](CollectiveRule& rule) -> auto& { return rule.choice.hierarchical; },
           "dimension by dimension"),
       algorithm_key("across", &model::Choice::across, "along the last dimension")
           .otherwise("`algorithm`")
           .when([](const CollectiveRule& rule) { return rule.choice.hierarchical; },
                 "with `hierarchical`"),
       K::latency(
           "start", [](CollectiveRule& rule) -> auto& { return rule.choice.start; }, 0,
           "before a member's first message"),
       K::section(
           "step", [](CollectiveRule& rule) -> auto& { return rule.choice.step; }, step_keys(),
           "added to each message's latency")
           .otherwise("none"),
       payload_key("payload", 1, "share of an interface's bytes that is data").usually("1"),
       payload_key("node_payload", 0, "the same, of the interface inside a node")
           .otherwise("`payload`"),
       K::then(check_rule)});
  return keys;
}

using RulesKeys = Keys<model::CollectiveRules>;

RulesKeys::Key rules_key() {
  return RulesKeys::custom(
             "rules", {ValueShape::list_of(ValueShape::mapping(collective_rule_keys().schema()))},
             "the first that fits is taken",
             [](const YamlSection& section, model::CollectiveRules& rules, const KeySchema& key) {
               for (const YamlSection& rule : section.sections(key.name)) {
                 rules.push_back(collective_rule_keys().read(rule));
               }
             })
      .required();
}

const RulesKeys& first_rules_keys() {
  using K = RulesKeys;
  static const K keys("collectives.first", "Rules that others come after.",
                      {K::note("name"), K::note("source"), K::note("description"), rules_key()});
  return keys;
}

}  // namespace

const Keys<model::CollectiveRules>& collectives_keys() {
  using K = RulesKeys;
  static const K keys(
      "collectives", "docs/reference/collectives.md explains them.",
      {K::note("name"), K::note("source"), K::note("description"),
       K::section(
           "first", [](model::CollectiveRules& rules) -> auto& { return rules; },
           first_rules_keys(), "rules that are asked before these: most often another file's")
           .otherwise("none"),
       rules_key()});
  return keys;
}

}  // namespace exawarp::io
