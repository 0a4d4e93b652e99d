// The tables of mappings that are read by hand (schema_sections.h). What is said of a key here has
// to be what its reader does; tests/e2e/schema_test.py holds the two against each other.
#include "io/study/schema_sections.h"

#include <memory>

#include "io/study/keys.h"
#include "io/study/packet_config.h"
#include "io/study/workload_spec.h"
#include "model/collective/choice.h"
#include "model/compute/slowdown.h"
#include "model/job/placement.h"
#include "model/network/background.h"
#include "model/network/faults/link_faults.h"
#include "model/network/packet/packet_options.h"
#include "model/network/packet/port_counters.h"
#include "model/workload/names.h"

namespace exawarp::io {
namespace {

using core::Dimension;
using K = Keys<NoSpec>;

constexpr std::int64_t kDevicesMax = 1 << 24;

// ---- shapes

template <class E>
ValueShape choice_of() {
  return ValueShape::choice(core::names_in(names_of(E{})));
}

ValueShape time() { return ValueShape::quantity(Dimension::time); }
ValueShape size(std::int64_t min = 0) { return ValueShape::quantity(Dimension::size, min); }
ValueShape bandwidth() { return ValueShape::quantity(Dimension::bandwidth, 1); }
ValueShape count(std::int64_t min, std::int64_t max) { return ValueShape::integer({min, max}); }
ValueShape share() { return ValueShape::real({.min = 0, .max = 1}); }
ValueShape share_above_0() { return ValueShape::real({.min = 0, .max = 1, .min_excluded = true}); }
// [7, 16-23]
std::vector<ValueShape> ids() { return {ValueShape::list_of(ValueShape::text())}; }

K::Key key(std::string name, ValueShape shape, std::string fallback, std::string meaning) {
  K::Key out = K::custom(std::move(name), {std::move(shape)}, std::move(meaning));
  out.schema.fallback = std::move(fallback);
  return out;
}
K::Key required(std::string name, ValueShape shape, std::string meaning) {
  return key(std::move(name), std::move(shape), "", std::move(meaning)).required();
}
K::Key otherwise(std::string name, ValueShape shape, std::string words, std::string meaning) {
  return key(std::move(name), std::move(shape), "", std::move(meaning)).otherwise(std::move(words));
}

std::vector<K::Key> joined(std::vector<K::Key> a, std::vector<K::Key> b) {
  for (K::Key& key : b) a.push_back(std::move(key));
  return a;
}

K::Key seed(std::string fallback = "1") {
  return key("seed", ValueShape::integer({}), std::move(fallback), "of what is drawn");
}

std::vector<K::Key> period() {
  return {key("from", time(), "0 ps", "starts"), otherwise("until", time(), "the end", "ends")};
}

std::vector<K::Key> drawn(const std::string& names, const std::string& meaning) {
  return {K::custom(names, ids(), meaning),
          otherwise("share", share(), "by name", "instead of names: so many of all, drawn"),
          seed()};
}

K::Key factor() {
  return required("factor",
                  ValueShape::real({.min = 1 / model::kSlowdownMax, .max = model::kSlowdownMax}),
                  "how many times longer it takes");
}

// ---- faults

const SectionSchema& slow_devices_schema() {
  static const K keys("faults.slow_devices", "Devices that compute slower.",
                      joined(joined(drawn("devices", "as `[7, 16-23]`"), {factor()}), period()),
                      {{.keys = {"devices", "share"}}});
  return keys.schema();
}

std::vector<K::Key> link_rule_keys(bool of_links, bool fails) {
  std::vector<K::Key> all =
      drawn(of_links ? "links" : "switches",
            of_links ? "as `[\"s0 s4\", \"d3:1\"]`: all between two vertices, or the one at a port"
                     : "as `[s3, 8-9]`");
  if (of_links) {
    all.push_back(otherwise("kind", ValueShape::text(), "any", "of the links that are drawn"));
  }
  if (!fails) all.push_back(factor());
  return joined(std::move(all), period());
}

ValueShape rules(const K& keys) { return ValueShape::list_of(ValueShape::mapping(keys.schema())); }

std::vector<K::Key> link_faults() {
  static const K slow_links("faults.slow_links", "Links that carry less.",
                            link_rule_keys(true, false), {{.keys = {"links", "share"}}});
  static const K slow_switches("faults.slow_switches", "Switches whose links carry less.",
                               link_rule_keys(false, false), {{.keys = {"switches", "share"}}});
  static const K failed_links("faults.failed_links", "Links that are down.",
                              link_rule_keys(true, true), {{.keys = {"links", "share"}}});
  static const K failed_switches("faults.failed_switches", "Switches that are down.",
                                 link_rule_keys(false, true), {{.keys = {"switches", "share"}}});
  return {otherwise("slow_links", rules(slow_links), "none", "carry less"),
          otherwise("slow_switches", rules(slow_switches), "none", "their links carry less"),
          otherwise("failed_links", rules(failed_links), "none", "down"),
          otherwise("failed_switches", rules(failed_switches), "none", "down")};
}

}  // namespace

const SectionSchema& faults_schema() {
  static const K keys(
      "faults", "docs/guide/faults.md says what they do.",
      joined({otherwise("slow_devices",
                        ValueShape::list_of(ValueShape::mapping(slow_devices_schema())), "none",
                        "compute slower")},
             link_faults()));
  return keys.schema();
}

const SectionSchema& link_faults_schema() {
  static const K keys("link_faults", "Of links and switches alone: docs/guide/faults.md.",
                      link_faults());
  return keys.schema();
}

const SectionSchema& jitter_schema() {
  static const K keys(
      "jitter", "",
      {key("distribution", choice_of<model::Distribution>(), "normal", "of compute times"),
       required("deviation", ValueShape::real({.min = 0, .max = 2}),
                "relative; at most 0.25 (`normal`), 0.5 (`uniform`), 2 (`lognormal`), 1 "
                "(`exponential`)")});
  return keys.schema();
}

const SectionSchema& latency_jitter_schema() {
  static const K keys(
      "latency_jitter", "Added to each message's latency.",
      {required("mean", ValueShape::quantity(Dimension::time, 1), "of what is added"),
       key("distribution", choice_of<model::Distribution>(), "exponential", "of what is added"),
       otherwise("deviation", ValueShape::real({.min = 0, .max = 2}), "1 (`exponential`) or 0.25",
                 "relative; bounded as `jitter.deviation` is")});
  return keys.schema();
}

const SectionSchema& counters_schema() {
  static const K keys(
      "counters", "Counters of ports over time: docs/guide/faults.md.",
      {key("bucket", ValueShape::quantity(Dimension::time, 1'000),
           quantity_text(model::PortCountersOptions{}.bucket.ps, Dimension::time),
           "width at first"),
       key("buckets", count(2, 1 << 16), std::to_string(model::PortCountersOptions{}.buckets_max),
           "at most; a power of two")});
  return keys.schema();
}

// ---- jobs

namespace {

const SectionSchema& placement_schema() {
  static const K keys(
      "job_placement", "docs/guide/jobs.md explains them.",
      {otherwise("kind", choice_of<model::PlacementKind>(), "`linear`; `list` with `devices`",
                 "which devices run the ranks"),
       otherwise("first", count(0, kDevicesMax - 1), "the first that are free",
                 "`linear`: device of rank 0"),
       K::custom("devices", ids(), "`list`: by rank, as `[0-7, 16-23]`"),
       key("order", choice_of<model::NodeOrder>(), "ascending", "`nodes`: of the nodes"),
       key("ranks", ValueShape::choice({"block", "round_robin"}), "block",
           "`nodes`: how ranks go to them"),
       otherwise("seed", ValueShape::integer({}), "the study's", "of random orders")});
  return keys.schema();
}

const SectionSchema& sizes_schema() {
  const std::vector<std::string> kDrawn{"uniform", "pareto"};
  static const K keys("background.size", "",
                      {required("kind", choice_of<model::SizeKind>(), "distribution of sizes"),
                       required("bytes", size(1), "of each message").only_if("kind", {"fixed"}),
                       required("min", size(1), "the smallest").only_if("kind", kDrawn),
                       required("max", size(1), "the largest").only_if("kind", kDrawn),
                       key("alpha", ValueShape::real({.min = 0.1, .max = 10}), "1.2", "of the tail")
                           .only_if("kind", {"pareto"})});
  return keys.schema();
}

}  // namespace

std::vector<ValueShape> placement_shapes() {
  return {ValueShape::choice({"linear", "random", "nodes"}),
          ValueShape::mapping(placement_schema())};
}

const SectionSchema& job_schema() {
  static const K keys("jobs", "docs/guide/jobs.md explains them.",
                      {required("name", ValueShape::text(), "of the job; each has its own"),
                       required("workload", ValueShape::mapping(workload_keys().schema()),
                                "a specification, or a `.xwg` file"),
                       K::note("source"), K::note("description"),
                       K::custom("placement", placement_shapes(), "which devices run its ranks")
                           .otherwise("`linear`"),
                       key("start", time(), "0 ps", "when it starts; at most a day")});
  return keys.schema();
}

const SectionSchema& background_schema() {
  static const K keys(
      "background", "A generator of traffic beside the jobs: docs/guide/jobs.md.",
      {K::note("source"), K::note("description"),
       required("pattern", choice_of<model::BackgroundPattern>(), "who sends to whom"),
       K::custom("size",
                 {ValueShape::choice({"web_search"}), size(1), ValueShape::mapping(sizes_schema())},
                 "of a message")
           .otherwise("64 KiB"),
       K::custom("devices", ids(), "that take part, as `[7, 16-23]`").otherwise("`fraction`"),
       key("fraction", share_above_0(), "1", "of all devices, at random"),
       K::custom("targets", ids(), "of `incast` and `hotspot`").otherwise("the first"),
       key("hot_share", share(), "0.5", "of the messages to a target")
           .only_if("pattern", {"hotspot"}),
       K::custom("rate", {bandwidth()}, "of each device").otherwise("`load`"),
       K::custom("load", {share_above_0()}, "share of a device's line"),
       key("gaps", ValueShape::choice({"random", "even"}), "random", "between messages"),
       key("from", time(), "0 ps", "starts"), otherwise("until", time(), "the end", "ends"),
       otherwise("seed", ValueShape::integer({}), "by the study's", "of what is drawn")},
      {{.keys = {"rate", "load"}}, {.keys = {"devices", "fraction"}, .required = false}});
  return keys.schema();
}

// ---- collectives

namespace {

ValueShape algorithm() {
  return ValueShape::choice({model::kAlgorithmNames.begin(), model::kAlgorithmNames.end()});
}

const SectionSchema& step_schema() {
  static const K keys(
      "collectives.step", "Added to each message's latency.",
      {key("node", time(), "0 ps", "inside a node"), key("scale_out", time(), "0 ps", "beyond")});
  return keys.schema();
}

const SectionSchema& rule_schema() {
  const ValueShape members = count(1, kDevicesMax);
  static const K keys(
      "collectives.rule", "The first that fits decides which algorithm a collective runs by.",
      {K::note("source"), K::note("description"),
       otherwise("type", choice_of<model::schema::CollectiveType>(), "all it can run",
                 "of the collective"),
       otherwise("min_bytes", size(), "any", "of a device's buffer or input, inclusive"),
       otherwise("max_bytes", size(), "any", "of a device's buffer or input, inclusive"),
       otherwise("min_group", members, "any", "members, inclusive"),
       otherwise("max_group", members, "any", "members, inclusive"),
       required("algorithm", algorithm(), "docs/reference/collectives.md says what each does"),
       key("channels", count(1, model::kLanesMax), "1", "lanes that run side by side"),
       otherwise("chunk", size(1), "none", "largest message wanted; longer ones take more lanes"),
       key("both_ways", ValueShape::flag(), "false", "every second lane of a ring runs backwards"),
       key("hierarchical", ValueShape::flag(), "false", "dimension by dimension"),
       otherwise("across", algorithm(), "`algorithm`", "hierarchical: along the last dimension"),
       key("start", time(), "0 ps", "before a member's first message"),
       otherwise("step", ValueShape::mapping(step_schema()), "none",
                 "added to each message's latency"),
       key("payload", ValueShape::real({.min = 0.01, .max = 1}), "1",
           "share of an interface's bytes that is data")});
  return keys.schema();
}

}  // namespace

const SectionSchema& collectives_schema() {
  static const K keys("collectives", "docs/reference/collectives.md explains them.",
                      {K::note("name"), K::note("source"), K::note("description"),
                       required("rules", ValueShape::list_of(ValueShape::mapping(rule_schema())),
                                "the first that fits is taken")});
  return keys.schema();
}

}  // namespace exawarp::io
