// A rule names devices, links or switches one by one, or draws a share of them; names are checked
// for their form here, and against the topology when there is one.
#include "io/study/faults_config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <sstream>

#include "io/study/keys.h"
#include "io/study/quantities.h"
#include "io/study/schema_sections.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

using core::Dimension;
using model::Distribution;
using model::LinkFaultSpec;

constexpr std::uint32_t kFaultySwitchesMax = 1u << 28;
constexpr RealRange kFactor{.min = 1 / model::kSlowdownMax, .max = model::kSlowdownMax};

std::int64_t read_factor(const YamlSection& rule) {
  return std::max<std::int64_t>(1, std::llround(rule.real("factor", kFactor) * 1e6));
}

template <class Rule>
void check_period(const YamlSection& section, Rule& rule) {
  constexpr core::Time kLatest{std::int64_t{1} << 61};  // sums with it fit
  if (rule.from > kLatest) section.fail("from", "is later than 26 days");
  if (rule.until > kLatest && rule.until != core::Time::max()) {
    section.fail("until", "is later than 26 days");
  }
  if (rule.until <= rule.from) {
    section.fail("until", "is not after from, so that nothing happens");
  }
}

// Adds up what the rules of one kind name. Each id takes memory, so there is an end to them.
void count_named(const YamlSection& rule, const char* key, std::size_t named, std::size_t& sum) {
  constexpr std::size_t kMost = std::size_t{1} << 24;
  sum += named;
  if (sum > kMost) {
    rule.fail(key, "names, with the rules before it, more than 16,777,216 " + std::string(key));
  }
}

// Whether `rule` draws a share instead of having `names`.
bool is_drawn(const YamlSection& rule, const char* names) {
  const bool drawn = rule.has("share");
  if (rule.has(names) == drawn) {
    rule.fail(names, drawn ? "stands beside share; expected one of them"
                           : "is missing; expected it, or a share");
  }
  return drawn;
}

model::FaultDraw read_draw(const YamlSection& rule, bool of_links) {
  model::FaultDraw draw;
  draw.share = rule.real("share", {.min = 0, .max = 1});
  if (of_links) draw.kind = rule.text("kind", "");
  draw.seed = static_cast<std::uint64_t>(rule.integer("seed", {}, 1));
  return draw;
}

std::vector<ValueShape> id_lists() { return {ValueShape::list_of(ValueShape::text())}; }

// What rules of all kinds have; `share` and `seed` are read with the names that they replace.
template <class Rule>
std::vector<typename Keys<Rule>::Key> rule_keys(typename Keys<Rule>::Key names, bool slows) {
  using K = Keys<Rule>;
  std::vector<typename K::Key> all{
      std::move(names),
      K::custom("share", {ValueShape::real({.min = 0, .max = 1})},
                "instead of names: so many of all, drawn")
          .otherwise("by name"),
      K::custom("seed", {ValueShape::integer({})}, "of the draw").otherwise("`1`")};
  if (slows) {
    all.push_back(K::custom("factor", {ValueShape::real(kFactor)}, "how many times longer it takes",
                            [](const YamlSection& section, Rule& rule, const KeySchema&) {
                              rule.factor_ppm = read_factor(section);
                            })
                      .required());
  }
  all.push_back(K::quantity("from", &Rule::from, {Dimension::time, 0}, "starts"));
  all.push_back(
      K::quantity("until", &Rule::until, {Dimension::time, 0}, "ends").otherwise("the end"));
  all.push_back(K::then(check_period<Rule>));
  return all;
}

void read_slow_set(const YamlSection& rule, model::Slowdown& slow, const KeySchema& key) {
  if (is_drawn(rule, "devices")) {
    slow.drawn = read_draw(rule, false);
    return;
  }
  slow.devices = read_devices(rule, key.name);
  if (!std::ranges::is_sorted(slow.devices)) std::ranges::sort(slow.devices);  // may be millions
}

const Keys<model::Slowdown>& slow_devices_keys() {
  using K = Keys<model::Slowdown>;
  static const K keys("faults.slow_devices", "Devices that compute slower.",
                      rule_keys<model::Slowdown>(
                          K::custom("devices", id_lists(), "as `[7, 16-23]`", read_slow_set), true),
                      {{.keys = {"devices", "share"}}});
  return keys;
}

// ---- links and switches

// "d12" or "s3"; what is behind it stays in `text`.
bool take_vertex(std::string_view& text, model::VertexName& out) {
  if (text.size() < 2 || (text.front() != 'd' && text.front() != 's')) return false;
  out.is_device = text.front() == 'd';
  const char* const end = text.data() + text.size();
  const auto at = std::from_chars(text.data() + 1, end, out.index);
  if (at.ec != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(at.ptr - text.data()));
  return true;
}

// "s0 s4" or "s0:3".
model::LinkName read_link_name(const YamlSection& rule, const std::string& whole) {
  model::LinkName out;
  std::string_view text = whole;
  bool sound = take_vertex(text, out.at) && !text.empty();
  if (sound && text.front() == ':') {
    std::uint32_t port = 0;
    const char* const end = text.data() + text.size();
    const auto at = std::from_chars(text.data() + 1, end, port);
    sound = at.ec == std::errc{} && at.ptr == end;
    out.port = port;
  } else if (sound) {
    const std::size_t next = text.find_first_not_of(' ');
    sound = next != 0 && next != std::string_view::npos;
    if (sound) text.remove_prefix(next);
    sound = sound && take_vertex(text, out.to) && text.empty();
  }
  if (!sound) {
    rule.fail("links", in_quotes(whole) +
                           " is no link; expected e.g. \"s0 s4\" (all between two "
                           "vertices), \"d3 s0\" or \"s0:2\" (at a port)");
  }
  return out;
}

using LinkRules = Keys<LinkFaultSpec>;

void read_links(const YamlSection& rule, LinkFaultSpec& out, const KeySchema&) {
  out.place = rule.where("");
  if (is_drawn(rule, "links")) {
    out.drawn_links = read_draw(rule, true);
    return;
  }
  for (const std::string& text : rule.texts("links")) {
    out.links.push_back(read_link_name(rule, text));
  }
}

void read_switches(const YamlSection& rule, LinkFaultSpec& out, const KeySchema&) {
  out.place = rule.where("");
  if (is_drawn(rule, "switches")) {
    out.drawn_switches = read_draw(rule, false);
    return;
  }
  for (const std::string& text : rule.texts("switches")) {
    add_ids(rule, "switches", {.text = text, .prefix = 's', .ids_max = kFaultySwitchesMax},
            out.switches);
  }
}

std::vector<LinkRules::Key> link_keys(bool slows) {
  std::vector<LinkRules::Key> all = rule_keys<LinkFaultSpec>(
      LinkRules::custom(
          "links", id_lists(),
          "as `[\"s0 s4\", \"d3:1\"]`: all between two vertices, or the one at a port", read_links),
      slows);
  all.push_back(LinkRules::custom("kind", {ValueShape::text()}, "of the links that are drawn")
                    .otherwise("any"));
  return all;
}

std::vector<LinkRules::Key> switch_keys(bool slows) {
  return rule_keys<LinkFaultSpec>(
      LinkRules::custom("switches", id_lists(), "as `[s3, 8-9]`", read_switches), slows);
}

struct LinkRuleKind {
  const char* name;
  const char* meaning;
  const LinkRules& keys;
};

// In the order in which they are read.
std::span<const LinkRuleKind> link_rule_kinds() {
  static const LinkRules slow_links("faults.slow_links", "Links that carry less.", link_keys(true),
                                    {{.keys = {"links", "share"}}});
  static const LinkRules slow_switches("faults.slow_switches", "Switches whose links carry less.",
                                       switch_keys(true), {{.keys = {"switches", "share"}}});
  static const LinkRules failed_links("faults.failed_links", "Links that are down.",
                                      link_keys(false), {{.keys = {"links", "share"}}});
  static const LinkRules failed_switches("faults.failed_switches", "Switches that are down.",
                                         switch_keys(false), {{.keys = {"switches", "share"}}});
  static const std::array kAll{
      LinkRuleKind{"slow_links", "carry less", slow_links},
      LinkRuleKind{"slow_switches", "their links carry less", slow_switches},
      LinkRuleKind{"failed_links", "down", failed_links},
      LinkRuleKind{"failed_switches", "down", failed_switches}};
  return kAll;
}

std::vector<Keys<NoSpec>::Key> link_faults() {
  using K = Keys<NoSpec>;
  std::vector<K::Key> all;
  for (const LinkRuleKind& kind : link_rule_kinds()) {
    all.push_back(K::custom(kind.name,
                            {ValueShape::list_of(ValueShape::mapping(kind.keys.schema()))},
                            kind.meaning)
                      .otherwise("none"));
  }
  return all;
}

RealRange deviation_range(Distribution of) { return {.min = 0, .max = model::deviation_max(of)}; }

constexpr RealRange kAnyDeviation{.min = 0, .max = 2};

const Keys<model::VariationSpec>& jitter_keys() {
  using S = model::VariationSpec;
  using K = Keys<S>;
  static const K keys(
      "jitter", "",
      {K::choice("distribution", &S::distribution, "of compute times"),
       K::custom("deviation", {ValueShape::real(kAnyDeviation)},
                 "relative; at most 0.25 (`normal`), 0.5 (`uniform`), 2 (`lognormal`), 1 "
                 "(`exponential`)",
                 [](const YamlSection& section, S& out, const KeySchema& key) {
                   out.deviation = section.real(key.name, deviation_range(out.distribution));
                 })
           .required()});
  return keys;
}

}  // namespace

const Keys<model::LatencyJitterSpec>& latency_jitter_keys() {
  using S = model::LatencyJitterSpec;
  using K = Keys<S>;
  static const K keys(
      "latency_jitter", "Added to each message's latency.",
      {K::latency("mean", &S::mean, 1, "of what is added").required(),
       K::choice(
           "distribution", [](S & s) -> auto& { return s.variation.distribution; },
           "of what is added"),
       K::custom("deviation", {ValueShape::real(kAnyDeviation)},
                 "relative; bounded as `jitter.deviation` is",
                 [](const YamlSection& section, S& out, const KeySchema& key) {
                   const Distribution of = out.variation.distribution;
                   const double usual = of == Distribution::exponential ? 1.0 : 0.25;
                   out.variation.deviation = section.real(key.name, deviation_range(of), usual);
                 })
           .otherwise("1 (`exponential`) or 0.25")});
  return keys;
}

std::vector<model::Slowdown> read_slow_devices(const YamlSection& faults) {
  std::vector<model::Slowdown> slow;
  if (!faults.has("slow_devices")) return slow;
  std::size_t named = 0;
  for (const YamlSection& rule : faults.sections("slow_devices")) {
    slow.push_back(slow_devices_keys().read(rule));
    count_named(rule, "devices", slow.back().devices.size(), named);
  }
  return slow;
}

std::vector<LinkFaultSpec> read_link_faults(const YamlSection& faults) {
  std::vector<LinkFaultSpec> out;
  std::size_t named = 0;
  for (const LinkRuleKind& key : link_rule_kinds()) {
    if (!faults.has(key.name)) continue;
    for (const YamlSection& rule : faults.sections(key.name)) {
      out.push_back(key.keys.read(rule));
      count_named(rule, "switches", out.back().switches.size(), named);
    }
  }
  return out;
}

// ---- what varies

model::VariationSpec read_variation(const YamlSection& section, const char* key) {
  if (!section.has(key)) return {};
  if (section.has_text(key)) return section.real(key, kJitterRange);
  return jitter_keys().read(section.section(key));
}

model::VariationSpec read_jitter(const YamlSection& compute) {
  return read_variation(compute, "jitter");
}

// ---- schemas

const SectionSchema& jitter_schema() { return jitter_keys().schema(); }

const SectionSchema& faults_schema() {
  using K = Keys<NoSpec>;
  static const K keys("faults", "docs/guide/faults.md says what they do.", [] {
    std::vector<K::Key> all = link_faults();
    all.push_back(
        K::custom("slow_devices",
                  {ValueShape::list_of(ValueShape::mapping(slow_devices_keys().schema()))},
                  "compute slower")
            .otherwise("none"));
    return all;
  }());
  return keys.schema();
}

const SectionSchema& link_faults_schema() {
  static const Keys<NoSpec> keys(
      "link_faults", "Of links and switches alone: docs/guide/faults.md.", link_faults());
  return keys.schema();
}

}  // namespace exawarp::io
