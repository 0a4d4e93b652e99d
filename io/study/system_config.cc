// Reads the hardware: rates by data type, memory, efficiencies by kind of operation, the node's
// fabric and what is beyond it.
#include "io/study/system_config.h"

#include <fmt/format.h>

#include <optional>

#include "io/study/faults_config.h"
#include "io/study/quantities.h"
#include "io/study/topology_config.h"

namespace exawarp::io {
namespace {

constexpr std::int64_t kNodeDevicesMax = 1 << 16;
constexpr std::int64_t kPlanesMax = 64;
constexpr std::int64_t kSwitchesMax = 1 << 20;

model::NodesSpec read_node(const YamlSection& section) {
  skip_documentation(section);
  return {
      .name = section.name(),
      .devices = read_count(section, "devices", 1, kNodeDevicesMax),
      .planes = read_count(section, "planes", 1, kPlanesMax, 1),
      .bandwidth_bytes_per_s = achieved_bandwidth(section),
      .latency = read_latency(section, "latency", 1),
  };
}

model::Fabric read_scale_out(const YamlSection& section, model::NodesSpec nodes) {
  skip_documentation(section);
  const std::string name = section.name();
  model::ClosSpec tree;
  tree.host.bandwidth_bytes_per_s = achieved_bandwidth(section);
  tree.latencies.endpoint = read_latency(section, "endpoint_latency", 1);
  tree.latencies.forwarding = read_latency(section, "switch_latency", 0);
  tree.host.latency = read_latency(section, "link_latency", 0);
  tree.devices_per_leaf = read_count(section, "devices_per_leaf", 1, kSwitchesMax);
  tree.groups_per_pod = read_count(section, "leaves_per_pod", 1, kSwitchesMax);
  tree.spines_per_pod = read_count(section, "spines_per_pod", 1, kSwitchesMax);
  tree.cores = read_count(section, "cores", 0, kSwitchesMax, 0);
  return model::nodes_on_a_fat_tree(std::move(nodes), std::move(tree), name);
}

}  // namespace

model::Fabric read_fabric(const YamlSection& section) {
  skip_documentation(section);
  section.skip("name");
  if (section.has("topology")) {
    if (section.has("scale_out")) {
      section.fail("scale_out", "is a network beside \"topology\"; expected one of them");
    }
    std::optional<model::NodesSpec> nodes;
    if (section.has("node")) nodes = read_node(section.section("node"));
    return read_topology(section.section("topology"), std::move(nodes));
  }
  model::NodesSpec nodes = read_node(section.section("node"));
  model::Fabric out = read_scale_out(section.section("scale_out"), std::move(nodes));
  if (out.clos()->devices_per_leaf % out.nodes->devices != 0) {
    section.fail("scale_out.devices_per_leaf",
                 fmt::format("{} is no multiple of node.devices {}; expected whole nodes below a "
                             "leaf switch",
                             out.clos()->devices_per_leaf, out.nodes->devices));
  }
  return out;
}

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

SystemConfig read_system(const YamlSection& section) {
  skip_documentation(section);
  SystemConfig out{.name = section.name(),
                   .accelerator = read_accelerator(section.section("accelerator")),
                   .fabric = read_fabric(section.section("fabric")),
                   .power = {},
                   .rank_noise = read_variation(section, "rank_noise")};
  if (section.has("power")) out.power = system_power_keys().read(section.section("power"));
  return out;
}

}  // namespace exawarp::io
