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
using model::schema::CollectiveType;

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
                                          "one of: {}", algorithms));
  }
  std::vector<std::string_view> types;
  for (const auto& able : names_of(CollectiveType{})) {
    if (!algorithms_by_dimension(able.value).empty()) types.push_back(able.name);
  }
  rule.fail("hierarchical", fmt::format("cannot run this type; expected one of: {}",
                                        fmt::join(types, ", ")));
}

// How members of one node, and of different ones, differ.
std::array<core::Time, 2> read_step(const YamlSection& section) {
  return {read_latency(section, "node", 0, 0), read_latency(section, "scale_out", 0, 0)};
}

std::uint32_t millionths(double share) {
  return static_cast<std::uint32_t>(std::lround(share * model::kPayloadWhole));
}

model::Choice read_choice(const YamlSection& rule) {
  model::Choice choice;
  choice.algorithm = rule.choice<Algorithm>("algorithm", algorithms());
  choice.channels =
      static_cast<std::uint32_t>(rule.integer("channels", {1, model::kLanesMax},
                                              model::kChannelsOfGroup));
  choice.chunk_bytes = rule.quantity("chunk", Dimension::size, 1, 0);
  choice.both_ways = rule.flag("both_ways", false);
  choice.hierarchical = rule.flag("hierarchical", false);
  if (choice.hierarchical) {
    choice.across = rule.choice<Algorithm>("across", algorithms(), choice.algorithm);
  }
  choice.start = read_latency(rule, "start", 0, 0);
  if (const auto step = rule.optional_section("step")) choice.step = read_step(*step);
  const double payload = rule.real("payload", {.min = 0.01, .max = 1}, 1.0);
  const double in_node = rule.real("node_payload", {.min = 0.01, .max = 1}, payload);
  choice.payload_ppm = {millionths(in_node), millionths(payload)};
  if (!model::can_use_lanes(choice.algorithm)) {
    for (const char* key : {"channels", "chunk", "both_ways"}) {
      if (!rule.has(key)) continue;
      rule.fail(key, fmt::format("has no meaning here; expected algorithm {}",
                                 names_where(model::can_use_lanes, " or ")));
    }
  }
  const auto goes_round = [](Algorithm a) { return model::description_of(a).goes_round; };
  if (choice.both_ways && !goes_round(choice.algorithm)) {
    rule.fail("both_ways", fmt::format("has no meaning here; expected algorithm {}",
                                       names_where(goes_round, " or ")));
  }
  return choice;
}

model::CollectiveRule read_rule(const YamlSection& section) {
  constexpr IntegerRange kMembers{1, std::int64_t{1} << 24};
  model::CollectiveRule rule;
  section.skip("source");
  section.skip("description");
  if (section.has("type")) {
    rule.type = section.choice<CollectiveType>("type", names_of(CollectiveType{}));
  }
  rule.min_bytes = section.quantity("min_bytes", Dimension::size, 0, rule.min_bytes);
  rule.max_bytes = section.quantity("max_bytes", Dimension::size, 0, rule.max_bytes);
  rule.min_group = static_cast<std::uint32_t>(section.integer("min_group", kMembers, 1));
  rule.max_group = static_cast<std::uint32_t>(
      section.integer("max_group", kMembers, rule.max_group));
  rule.choice = read_choice(section);
  if (rule.min_bytes > rule.max_bytes) {
    section.fail("max_bytes", "is below min_bytes, so that the rule fits nothing");
  }
  if (rule.min_group > rule.max_group) {
    section.fail("max_group", "is below min_group, so that the rule fits nothing");
  }
  if (rule.type && rule.choice.hierarchical &&
      !model::can_be_hierarchical(*rule.type, rule.choice)) {
    fail_hierarchical(section, *rule.type);
  }
  if (rule.type && !model::can_run(*rule.type, rule.choice.algorithm)) {
    const auto able = [&](Algorithm a) { return model::can_run(*rule.type, a); };
    section.fail("algorithm", fmt::format("cannot run this type; expected one of: {}",
                                          names_where(able, ", ")));
  }
  return rule;
}

}  // namespace

model::CollectiveRules read_collectives(const YamlSection& section) {
  section.skip("name");
  section.skip("source");
  section.skip("description");
  model::CollectiveRules rules;
  for (const YamlSection& rule : section.sections("rules")) rules.push_back(read_rule(rule));
  return rules;
}

}  // namespace exawarp::io
