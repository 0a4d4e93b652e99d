// Reads the hardware: rates by data type, memory, efficiencies by kind of operation, the node's
// fabric and what is beyond it.
#include "io/study/system_config.h"

#include <fmt/format.h>

#include <utility>

#include "io/study/faults_config.h"
#include "io/study/link_keys.h"
#include "io/study/schema_sections.h"
#include "io/study/topology_config.h"

namespace exawarp::io {
namespace {

const Keys<model::NodesSpec>& node_keys() {
  using S = model::NodesSpec;
  using K = Keys<S>;
  static const K keys(
      "fabric.node", "Devices behind one non-blocking switch.",
      {K::note("source"), K::note("description"), K::file_name(&S::name),
       K::integer("devices", &S::devices, {1, 1 << 16}, "of a node").required(),
       K::integer("planes", &S::planes, {1, 64}, "parallel switches, which share the bandwidth"),
       bandwidth_key<S>(&S::bandwidth_bytes_per_s),
       peak_bandwidth_key<S>(&S::bandwidth_bytes_per_s),
       K::latency("latency", &S::latency, 1, "end to end, one message").required()});
  return keys;
}

struct ScaleOut {
  std::string name{};
  model::ClosSpec tree{};
};

const Keys<ScaleOut>& scale_out_keys() {
  using S = ScaleOut;
  using C = model::ClosSpec;
  using K = Keys<S>;
  constexpr IntegerRange kWidth{1, 1 << 20};
  const auto at = [](auto member) { return [member](S& s) -> auto& { return s.tree.*member; }; };
  const auto bandwidth = [](S& s) -> auto& { return s.tree.host.bandwidth_bytes_per_s; };
  const auto endpoint = [](S& s) -> auto& { return s.tree.latencies.endpoint; };
  const auto forwarding = [](S& s) -> auto& { return s.tree.latencies.forwarding; };
  const auto link = [](S& s) -> auto& { return s.tree.host.latency; };
  static const K keys(
      "fabric.scale_out", "A fat tree of nodes.",
      {K::note("source"), K::note("description"), K::file_name(&S::name),
       bandwidth_key<S>(bandwidth), peak_bandwidth_key<S>(bandwidth),
       K::latency("endpoint_latency", endpoint, 1, "both ends together").required(),
       K::latency("switch_latency", forwarding, 0, "of each switch passed").required(),
       K::latency("link_latency", link, 0, "of each link passed").required(),
       K::integer("devices_per_leaf", at(&C::devices_per_leaf), kWidth, "whole nodes").required(),
       K::integer("leaves_per_pod", at(&C::groups_per_pod), kWidth, "leaf switches").required(),
       K::integer("spines_per_pod", at(&C::spines_per_pod), kWidth, "spine switches").required(),
       K::integer("cores", at(&C::cores), {0, 1 << 20},
                  "switches of the top tier; 0: as many as needed")});
  return keys;
}

void check_networks(const YamlSection& section, const model::Fabric&) {
  if (!section.has("topology") || !section.has("scale_out")) return;
  section.fail("scale_out", "is a network beside \"topology\"; expected one of them");
}

void read_node(const YamlSection& section, model::Fabric& out, const KeySchema& key) {
  if (section.has("topology") && !section.has(key.name)) return;
  out.nodes = node_keys().read(section.section(key.name));
}

void read_scale_out(const YamlSection& section, model::Fabric& out, const KeySchema& key) {
  if (section.has("topology")) return;
  ScaleOut across = scale_out_keys().read(section.section(key.name));
  out = model::nodes_on_a_fat_tree(*std::move(out.nodes), std::move(across.tree), across.name);
  if (out.clos()->devices_per_leaf % out.nodes->devices != 0) {
    section.fail("scale_out.devices_per_leaf",
                 fmt::format("{} is no multiple of node.devices {}; expected whole nodes below a "
                             "leaf switch",
                             out.clos()->devices_per_leaf, out.nodes->devices));
  }
}

const Keys<model::Fabric>& fabric_keys() {
  using S = model::Fabric;
  using K = Keys<S>;
  static const K keys(
      "fabric", "The network between devices.",
      {K::note("source"), K::note("description"), K::note("name"),
       K::then(check_networks),
       K::custom("node", {ValueShape::mapping(node_keys().schema())}, "below the network",
                 read_node)
           .otherwise("none; required with `scale_out`"),
       K::custom("scale_out", {ValueShape::mapping(scale_out_keys().schema())},
                 "a fat tree of nodes", read_scale_out),
       K::custom("topology", {ValueShape::mapping(topology_schema())}, "any other network",
                 [](const YamlSection& section, S& out, const KeySchema& key) {
                   if (!section.has(key.name)) return;
                   out = read_topology(section.section(key.name), std::move(out.nodes));
                 })},
      {{.keys = {"scale_out", "topology"}}});
  return keys;
}

const Keys<SystemConfig>& system_keys() {
  using S = SystemConfig;
  using K = Keys<S>;
  static const K keys(
      "system", "What the devices are and how they are connected; as many as a study needs.",
      {K::note("source"), K::note("description"), K::file_name(&S::name),
       K::section("accelerator", &S::accelerator, accelerator_keys(), "what computes").required(),
       K::section("fabric", &S::fabric, fabric_keys(), "the network").required(),
       K::section("power", &S::power, system_power_keys(), "of what is around the devices")
           .otherwise("not counted"),
       K::custom("rank_noise",
                 {ValueShape::real(kJitterRange), ValueShape::mapping(jitter_schema())},
                 "relative deviation of a replica's compute time in a step from that of others; "
                 "all take what the slowest of them does: docs/guide/faults.md",
                 [](const YamlSection& section, S& out, const KeySchema&) {
                   out.rank_noise = read_variation(section, "rank_noise");
                 })
           .otherwise("0")});
  return keys;
}

}  // namespace

const Keys<model::SystemPower>& system_power_keys() {
  using S = model::SystemPower;
  using K = Keys<S>;
  constexpr RealRange kFigure{.min = 0, .max = 1e6};
  static const K keys(
      "system.power", "What is around the devices, whatever they do.",
      {K::note("source"), K::note("description"),
       K::quantity("node", &S::node_mw, {core::Dimension::power, 0},
                   "of a node besides its devices: host, fans, network cards"),
       K::quantity("switch", &S::switch_mw, {core::Dimension::power, 0},
                   "of a switch outside nodes"),
       K::quantity("link", &S::link_mw, {core::Dimension::power, 0},
                   "of a link outside nodes: the transceivers of both its ends"),
       K::integer("nodes_per_rack", &S::nodes_per_rack, {1, 1 << 16}, "side by side"),
       K::real("carbon_g_per_kwh", &S::carbon_g_per_kwh, kFigure, "of the grid, grams of CO2"),
       K::real("cost_per_device_hour", &S::cost_per_device_hour, kFigure, "in any currency")});
  return keys;
}

const SectionSchema& fabric_schema() { return fabric_keys().schema(); }
const SectionSchema& system_schema() { return system_keys().schema(); }

model::Fabric read_fabric(const YamlSection& section) { return fabric_keys().read(section); }

SystemConfig read_system(const YamlSection& section) { return system_keys().read(section); }

}  // namespace exawarp::io
