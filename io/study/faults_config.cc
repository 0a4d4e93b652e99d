#include "io/study/faults_config.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "io/study/quantities.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

using core::Dimension;
using model::Distribution;
using model::LinkFaultSpec;

constexpr std::uint32_t kSwitchesMax = 1u << 28;
constexpr RealRange kFactor{.min = 1 / model::kSlowdownMax, .max = model::kSlowdownMax};

std::int64_t read_factor(const YamlSection& rule) {
  return std::max<std::int64_t>(1, std::llround(rule.real("factor", kFactor) * 1e6));
}

void read_period(const YamlSection& rule, core::Time& from, core::Time& until) {
  constexpr core::Time kLatest{std::int64_t{1} << 61};  // sums with it fit
  from = core::Time{rule.quantity("from", Dimension::time, 0, 0)};
  until = core::Time{rule.quantity("until", Dimension::time, 0, until.ps)};
  if (from > kLatest) rule.fail("from", "is later than 26 days");
  if (until > kLatest && until != core::Time::max()) rule.fail("until", "is later than 26 days");
  if (until <= from) rule.fail("until", "is not after from, so that nothing happens");
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

model::Slowdown read_slowdown(const YamlSection& rule) {
  model::Slowdown slow;
  if (is_drawn(rule, "devices")) {
    slow.drawn = read_draw(rule, false);
  } else {
    slow.devices = read_devices(rule, "devices");
    if (!std::ranges::is_sorted(slow.devices)) std::ranges::sort(slow.devices);  // may be millions
  }
  slow.factor_ppm = read_factor(rule);
  read_period(rule, slow.from, slow.until);
  return slow;
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

// One rule of `key`, by names or by a share.
LinkFaultSpec read_rule(const YamlSection& rule, bool of_links, bool fails) {
  LinkFaultSpec out;
  out.place = rule.where("");
  const char* const names = of_links ? "links" : "switches";
  if (is_drawn(rule, names)) {
    (of_links ? out.drawn_links : out.drawn_switches) = read_draw(rule, of_links);
  } else if (of_links) {
    for (const std::string& text : rule.texts("links")) {
      out.links.push_back(read_link_name(rule, text));
    }
  } else {
    for (const std::string& text : rule.texts("switches")) {
      add_ids(rule, "switches", {.text = text, .prefix = 's', .ids_max = kSwitchesMax},
              out.switches);
    }
  }
  out.factor_ppm = fails ? 0 : read_factor(rule);
  read_period(rule, out.from, out.until);
  return out;
}

}  // namespace

std::vector<model::Slowdown> read_slow_devices(const YamlSection& faults) {
  std::vector<model::Slowdown> slow;
  if (!faults.has("slow_devices")) return slow;
  std::size_t named = 0;
  for (const YamlSection& rule : faults.sections("slow_devices")) {
    slow.push_back(read_slowdown(rule));
    count_named(rule, "devices", slow.back().devices.size(), named);
  }
  return slow;
}

std::vector<LinkFaultSpec> read_link_faults(const YamlSection& faults) {
  struct Key {
    const char* name;
    bool of_links, fails;
  };
  std::vector<LinkFaultSpec> out;
  std::size_t named = 0;
  for (const Key& key : {Key{"slow_links", true, false}, Key{"slow_switches", false, false},
                         Key{"failed_links", true, true}, Key{"failed_switches", false, true}}) {
    if (!faults.has(key.name)) continue;
    for (const YamlSection& rule : faults.sections(key.name)) {
      out.push_back(read_rule(rule, key.of_links, key.fails));
      count_named(rule, "switches", out.back().switches.size(), named);
    }
  }
  return out;
}

// ---- what varies

model::VariationSpec read_jitter(const YamlSection& compute) {
  if (!compute.has("jitter")) return {};
  constexpr double kMost = model::deviation_max(Distribution::normal);
  if (compute.has_text("jitter")) return compute.real("jitter", {.min = 0, .max = kMost});
  const YamlSection section = compute.section("jitter");
  const auto of =
      section.choice<Distribution>("distribution", names_of(Distribution{}), Distribution::normal);
  return {section.real("deviation", {.min = 0, .max = model::deviation_max(of)}), of};
}

model::LatencyJitterSpec read_latency_jitter(const YamlSection& section) {
  model::LatencyJitterSpec out;
  out.mean = read_latency(section, "mean", 1);
  const auto of = section.choice<Distribution>("distribution", names_of(Distribution{}),
                                               Distribution::exponential);
  const double usual = of == Distribution::exponential ? 1.0 : 0.25;
  out.variation = {section.real("deviation", {.min = 0, .max = model::deviation_max(of)}, usual),
                   of};
  return out;
}

}  // namespace exawarp::io
