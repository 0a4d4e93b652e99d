// The tables of mappings that are read by hand (schema_sections.h). What is said of a key here has
// to be what its reader does; tests/e2e/schema_test.py holds the two against each other.
#include "io/study/schema_sections.h"

#include "io/study/hand_read_keys.h"
#include "model/collective/algorithm.h"
#include "model/job/placement.h"
#include "model/network/packet/port_counters.h"
#include "model/workload/names.h"

namespace exawarp::io {
namespace {

using core::Dimension;

// ---- shapes

template <class E>
ValueShape choice_of() {
  return ValueShape::choice(core::names_in(names_of(E{})));
}

ValueShape time() { return ValueShape::quantity(Dimension::time); }
ValueShape size(std::int64_t min = 0) { return ValueShape::quantity(Dimension::size, min); }
// [7, 16-23]
std::vector<ValueShape> ids() { return {ValueShape::list_of(ValueShape::text())}; }

HandReadKeys::Key otherwise(std::string name, ValueShape shape, std::string words,
                            std::string meaning) {
  return key(std::move(name), std::move(shape), "", std::move(meaning)).otherwise(std::move(words));
}

}  // namespace

const SectionSchema& counters_schema() {
  static const HandReadKeys keys(
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
  static const HandReadKeys keys(
      "job_placement", "docs/guide/jobs.md explains them.",
      {otherwise("kind", choice_of<model::PlacementKind>(), "`linear`; `list` with `devices`",
                 "which devices run the ranks"),
       otherwise("first", count(0, kDevicesMax - 1), "the first that are free",
                 "`linear`: device of rank 0"),
       HandReadKeys::custom("devices", ids(), "`list`: by rank, as `[0-7, 16-23]`"),
       key("order", choice_of<model::NodeOrder>(), "ascending", "`nodes`: of the nodes"),
       key("ranks", ValueShape::choice({"block", "round_robin"}), "block",
           "`nodes`: how ranks go to them"),
       otherwise("seed", ValueShape::integer({}), "the study's", "of random orders")});
  return keys.schema();
}

}  // namespace

std::vector<ValueShape> placement_shapes() {
  return {ValueShape::choice({"linear", "random", "nodes"}),
          ValueShape::mapping(placement_schema())};
}

// ---- collectives

namespace {

ValueShape algorithm() {
  std::vector<std::string> names;
  for (const model::Algorithm a : model::listed_algorithms()) names.emplace_back(model::name_of(a));
  return ValueShape::choice(std::move(names));
}

const SectionSchema& step_schema() {
  static const HandReadKeys keys(
      "collectives.step", "Added to each message's latency.",
      {key("node", time(), "0 ps", "inside a node"), key("scale_out", time(), "0 ps", "beyond")});
  return keys.schema();
}

const SectionSchema& rule_schema() {
  const ValueShape members = count(1, kDevicesMax);
  static const HandReadKeys keys(
      "collectives.rule", "The first that fits decides which algorithm a collective runs by.",
      {HandReadKeys::note("source"), HandReadKeys::note("description"),
       otherwise("type", choice_of<model::schema::CollectiveType>(), "all it can run",
                 "of the collective"),
       otherwise("min_bytes", size(), "any", "of a device's buffer or input, inclusive"),
       otherwise("max_bytes", size(), "any", "of a device's buffer or input, inclusive"),
       otherwise("min_group", members, "any", "members, inclusive"),
       otherwise("max_group", members, "any", "members, inclusive"),
       required("algorithm", algorithm(), "docs/reference/collectives.md says what each does"),
       otherwise("channels", count(1, model::kLanesMax), "as many as a ring's group has interfaces",
                 "lanes that run side by side"),
       otherwise("chunk", size(1), "none", "largest message wanted; longer ones take more lanes"),
       key("both_ways", ValueShape::flag(), "false", "every second lane of a ring runs backwards"),
       key("hierarchical", ValueShape::flag(), "false", "dimension by dimension"),
       otherwise("across", algorithm(), "`algorithm`", "hierarchical: along the last dimension"),
       key("start", time(), "0 ps", "before a member's first message"),
       otherwise("step", ValueShape::mapping(step_schema()), "none",
                 "added to each message's latency"),
       key("payload", ValueShape::real({.min = 0.01, .max = 1}), "1",
           "share of an interface's bytes that is data"),
       otherwise("node_payload", ValueShape::real({.min = 0.01, .max = 1}), "`payload`",
                 "the same, of the interface inside a node")});
  return keys.schema();
}

}  // namespace

const SectionSchema& collectives_schema() {
  static const HandReadKeys keys(
      "collectives", "docs/reference/collectives.md explains them.",
      {HandReadKeys::note("name"), HandReadKeys::note("source"), HandReadKeys::note("description"),
       required("rules", ValueShape::list_of(ValueShape::mapping(rule_schema())),
                "the first that fits is taken")});
  return keys.schema();
}

}  // namespace exawarp::io
