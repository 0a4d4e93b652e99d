// The keys of systems and fabrics, which io/study/system_config.cc, topology_config.cc and
// graph_config.cc read: what is said of a key here has to be what they do, and
// tests/e2e/schema_test.py holds the two against each other. docs/reference/topologies.md explains
// the families.
#include <algorithm>

#include "io/study/keys.h"
#include "io/study/schema_sections.h"
#include "io/study/system_config.h"
#include "io/study/topology_config.h"
#include "model/topology/fabric.h"

namespace exawarp::io {
namespace {

using core::Dimension;

// Keys that are read by hand: shape, default and meaning, without a member that they go to.
using HandReadKeys = Keys<NoSpec>;

ValueShape count(std::int64_t min, std::int64_t max) { return ValueShape::integer({min, max}); }

HandReadKeys::Key key(std::string name, ValueShape shape, std::string fallback,
                      std::string meaning) {
  return HandReadKeys::custom(std::move(name), {std::move(shape)}, std::move(meaning))
      .usually(std::move(fallback));
}

HandReadKeys::Key required(std::string name, ValueShape shape, std::string meaning) {
  return key(std::move(name), std::move(shape), "", std::move(meaning)).required();
}

ValueShape latency(std::int64_t min_ps = 0) {
  return ValueShape::quantity(Dimension::time, min_ps);
}
ValueShape bandwidth() { return ValueShape::quantity(Dimension::bandwidth, 1); }

HandReadKeys::Key name() { return HandReadKeys::note("name"); }
HandReadKeys::Key achieved() {
  return required("bandwidth", bandwidth(), "what transfers achieve");
}
HandReadKeys::Key peak() {
  return key("peak_bandwidth", bandwidth(), "", "line rate, which bounds `bandwidth`")
      .otherwise("`bandwidth`");
}

const SectionSchema& node_schema() {
  static const HandReadKeys keys(
      "fabric.node", "Devices behind one non-blocking switch.",
      {HandReadKeys::note("source"), HandReadKeys::note("description"), name(),
       required("devices", count(1, 1 << 16), "of a node"),
       key("planes", count(1, 64), "1", "parallel switches, which share the bandwidth"), achieved(),
       peak(), required("latency", latency(1), "end to end, one message")});
  return keys.schema();
}

const SectionSchema& scale_out_schema() {
  const ValueShape width = count(1, 1 << 20);
  static const HandReadKeys keys(
      "fabric.scale_out", "A fat tree of nodes.",
      {HandReadKeys::note("source"), HandReadKeys::note("description"), name(), achieved(), peak(),
       required("endpoint_latency", latency(1), "both ends together"),
       required("switch_latency", latency(), "of each switch passed"),
       required("link_latency", latency(), "of each link passed"),
       required("devices_per_leaf", width, "whole nodes"),
       required("leaves_per_pod", width, "leaf switches"),
       required("spines_per_pod", width, "spine switches"),
       key("cores", count(0, 1 << 20), "0", "switches of the top tier; 0: as many as needed")});
  return keys.schema();
}

const SectionSchema& link_schema() {
  static const HandReadKeys keys(
      "link", "A cable of a topology.",
      {HandReadKeys::note("source"), HandReadKeys::note("description"), achieved(), peak(),
       required("latency", latency(1), "of the link")});
  return keys.schema();
}

ValueShape link() { return ValueShape::mapping(link_schema()); }

const SectionSchema& link_kinds_schema() {
  static const HandReadKeys keys("graph.link_kinds", "Links by names of the writer's choice.", {},
                                 {}, {link()});
  return keys.schema();
}

const SectionSchema& graph_schema() {
  static const HandReadKeys keys(
      "graph", "Any network, link by link.",
      {HandReadKeys::note("source"), HandReadKeys::note("description"), name(),
       required("devices", count(1, model::Graph::kDevicesMax), "d0, d1, ..."),
       key("switches", count(0, model::Graph::kVerticesMax), "0", "s0, s1, ..."),
       key("devices_forward", ValueShape::flag(), "false", "devices pass messages on"),
       required("link_kinds", ValueShape::mapping(link_kinds_schema()), "name to link"),
       required("links", ValueShape::list_of(ValueShape::text()),
                "`d0 s0 KIND`, with a number behind it where there are several")});
  return keys.schema();
}

using Kinds = std::vector<std::string>;
const Kinds kRails{"rail_optimised", "rail_only"};
const Kinds kClos{"leaf_spine", "fat_tree", "rail_optimised", "rail_only"};
const Kinds kSwitched{"single_switch", "leaf_spine", "fat_tree", "rail_optimised",
                      "rail_only",     "dragonfly",  "hyperx",   "graph"};
const Kinds kDirect{"ring", "fully_connected", "torus", "mesh"};
const Kinds kSized{"torus", "mesh", "hyperx"};

HandReadKeys::Key of(const Kinds& kinds, HandReadKeys::Key key) {
  return std::move(key).only_if("kind", kinds);
}

std::vector<HandReadKeys::Key> shared_keys(const Kinds& all) {
  Kinds linked, ends;
  for (const std::string& kind : all) {
    if (kind != "product" && kind != "graph") linked.push_back(kind);
    if (kind != "product") ends.push_back(kind);
  }
  Kinds forwarding = kDirect;
  if (std::ranges::find(all, "product") != all.end()) forwarding.push_back("product");
  return {HandReadKeys::note("source"),
          HandReadKeys::note("description"),
          HandReadKeys::note("name"),
          required("kind", ValueShape::choice(all), "the family of networks"),
          of(linked, required("link", link(), "of a device")),
          of(ends, required("endpoint_latency", latency(), "both ends together")),
          of(kSwitched, required("switch_latency", latency(), "of each switch passed")),
          of(forwarding, key("forwarding_latency", latency(), "0 ps",
                             "of each device that passes a message on"))};
}

std::vector<HandReadKeys::Key> clos_keys() {
  const ValueShape width = count(1, kWidthMax);
  return {
      of(kClos, key("devices_per_leaf", width, "", "below a leaf switch").otherwise("by `radix`")),
      of({"leaf_spine", "rail_optimised", "rail_only"},
         key("spines", count(0, kWidthMax), "", "spine switches, of `rail_only` those of a rail")
             .otherwise("by `oversubscription` or `radix`")),
      of({"fat_tree"}, key("spines_per_pod", count(0, kWidthMax), "", "spine switches")
                           .otherwise("by `oversubscription` or `radix`")),
      of(kClos, key("oversubscription", width, "", "devices below a leaf to its up-links")
                    .otherwise("by the widths")),
      of(kClos, key("radix", count(2, kWidthMax), "", "ports of a switch, in place of the widths")
                    .otherwise("by the widths")),
      of(kClos, key("leaf_link", link(), "", "of a leaf and a spine").otherwise("`link`")),
      of(kClos, key("leaf_bundle", count(1, 64), "1", "links between a leaf and a spine")),
      of(kClos, key("leaves_per_device", count(1, 8), "1", "2: dual top-of-rack")),
      of({"fat_tree"}, key("leaves_per_pod", width, "", "leaf switches").otherwise("by `radix`")),
      of({"fat_tree"},
         key("core_link", link(), "", "of a spine and a core").otherwise("`leaf_link`")),
      of({"fat_tree"}, key("spine_bundle", count(1, 64), "1", "links between spine and core")),
      of({"fat_tree"},
         key("cores", count(0, kDevicesMax), "0", "core switches; 0: as many as needed")),
      of({"rail_optimised"}, key("cross_rail", ValueShape::choice({"spine", "nvlink"}), "spine",
                                 "way between devices of different rails")),
      of({"single_switch", "leaf_spine", "fat_tree", "rail_optimised", "rail_only"},
         key("planes", width, "1", "parallel networks; 8 at most but for `single_switch`"))};
}

std::vector<HandReadKeys::Key> other_keys() {
  const ValueShape width = count(1, kWidthMax);
  const Kinds dragonfly{"dragonfly"}, hyperx{"hyperx"};
  return {of(kSized, required("dims", ValueShape::list_of(count(1, kDevicesMax)),
                              "along each dimension; of `torus` and `mesh`: their product is the "
                              "number of devices")),
          of(dragonfly, required("devices_per_router", width, "below a router")),
          of(dragonfly, required("routers_per_group", width, "all linked to each other")),
          of(dragonfly, required("global_links_per_router", width, "to other groups")),
          of(dragonfly, required("groups", count(1, kDevicesMax), "of the network")),
          of(dragonfly,
             key("arrangement", ValueShape::choice(core::names_in(names_of(model::GlobalLinks{}))),
                 "absolute", "of the global links")),
          of(dragonfly, key("local_link", link(), "", "inside a group").otherwise("`link`")),
          of(dragonfly, key("global_link", link(), "", "of groups").otherwise("`local_link`")),
          of(hyperx, key("width", ValueShape::list_of(count(1, 64)), "",
                         "links between two switches, along each dimension")
                         .otherwise("1 each")),
          of(hyperx, required("devices_per_switch", width, "below a switch")),
          of(hyperx, key("switch_link", link(), "", "of two switches").otherwise("`link`")),
          of({"graph"}, required("graph", ValueShape::mapping(graph_schema()), "its links"))};
}

std::vector<HandReadKeys::Key> joined(std::vector<std::vector<HandReadKeys::Key>> parts) {
  std::vector<HandReadKeys::Key> out;
  for (std::vector<HandReadKeys::Key>& part : parts) {
    for (HandReadKeys::Key& key : part) out.push_back(std::move(key));
  }
  return out;
}

const SectionSchema& dimension_schema() {
  Kinds kinds;
  for (const std::string& kind : topology_kinds()) {
    if (kind != "product" && kind != "graph" && kind != "rail_only") kinds.push_back(kind);
  }
  static const HandReadKeys keys("topology.dimension",
                                 "A network along one dimension of a product.",
                                 joined({shared_keys(kinds),
                                         {required("devices", count(1, kDevicesMax), "along it")},
                                         clos_keys(),
                                         other_keys()}));
  return keys.schema();
}

const SectionSchema& dimensions_schema() {
  static const HandReadKeys keys("topology.dimensions", "Networks by names of the writer's choice.",
                                 {}, {}, {ValueShape::mapping(dimension_schema())});
  return keys.schema();
}

const SectionSchema& topology_schema() {
  static const HandReadKeys keys(
      "topology", "docs/reference/topologies.md says what the families are.",
      joined({shared_keys(topology_kinds()),
              clos_keys(),
              other_keys(),
              {of({"product"}, required("dimensions", ValueShape::mapping(dimensions_schema()),
                                        "name to network, the first fastest"))}}));
  return keys.schema();
}

}  // namespace

const SectionSchema& fabric_schema() {
  static const HandReadKeys keys(
      "fabric", "The network between devices.",
      {HandReadKeys::note("source"), HandReadKeys::note("description"), name(),
       HandReadKeys::custom("node", {ValueShape::mapping(node_schema())}, "below the network")
           .otherwise("none; required with `scale_out`"),
       HandReadKeys::custom("scale_out", {ValueShape::mapping(scale_out_schema())},
                            "a fat tree of nodes"),
       HandReadKeys::custom("topology", {ValueShape::mapping(topology_schema())},
                            "any other network")},
      {{.keys = {"scale_out", "topology"}}});
  return keys.schema();
}

const SectionSchema& system_schema() {
  static const HandReadKeys keys(
      "system", "What the devices are and how they are connected; as many as a study needs.",
      {HandReadKeys::note("source"), HandReadKeys::note("description"), name(),
       required("accelerator", ValueShape::mapping(accelerator_keys().schema()), "what computes"),
       required("fabric", ValueShape::mapping(fabric_schema()), "the network"),
       HandReadKeys::custom("power", {ValueShape::mapping(system_power_keys().schema())},
                            "of what is around the devices")
           .otherwise("not counted"),
       HandReadKeys::custom("rank_noise",
                            {ValueShape::real(kJitterRange), ValueShape::mapping(jitter_schema())},
                            "relative deviation of a replica's compute time in a step from that of "
                            "others; all take what the slowest of them does: docs/guide/faults.md")
           .otherwise("0")});
  return keys.schema();
}

}  // namespace exawarp::io
