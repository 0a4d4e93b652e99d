#include "io/study/system_config.h"

#include <fmt/format.h>

#include <optional>

#include "io/study/quantities.h"
#include "io/study/topology_config.h"

namespace exawarp::io {
namespace {

constexpr std::int64_t kNodeDevicesMax = 1 << 16;
constexpr std::int64_t kPlanesMax = 64;
constexpr std::int64_t kSwitchesMax = 1 << 20;

model::NodeFabric read_node(const YamlSection& section) {
  skip_documentation(section);
  return {
      .name = section.name(),
      .devices = read_count(section, "devices", 1, kNodeDevicesMax),
      .planes = read_count(section, "planes", 1, kPlanesMax, 1),
      .bandwidth_bytes_per_s = achieved_bandwidth(section),
      .latency = read_latency(section, "latency", 1),
  };
}

model::ScaleOutFabric read_scale_out(const YamlSection& section) {
  skip_documentation(section);
  return {
      .name = section.name(),
      .bandwidth_bytes_per_s = achieved_bandwidth(section),
      .endpoint_latency = read_latency(section, "endpoint_latency", 1),
      .switch_latency = read_latency(section, "switch_latency", 0),
      .link_latency = read_latency(section, "link_latency", 0),
      .devices_per_leaf = read_count(section, "devices_per_leaf", 1, kSwitchesMax),
      .leaves_per_pod = read_count(section, "leaves_per_pod", 1, kSwitchesMax),
      .spines_per_pod = read_count(section, "spines_per_pod", 1, kSwitchesMax),
      .cores = read_count(section, "cores", 0, kSwitchesMax, 0),
  };
}

}  // namespace

model::Fabric read_fabric(const YamlSection& section) {
  skip_documentation(section);
  section.skip("name");
  model::Fabric out;
  if (section.has("topology")) {
    if (section.has("scale_out")) {
      section.fail("scale_out", "is a network beside \"topology\"; expected one of them");
    }
    std::optional<model::NodeFabric> node;
    if (section.has("node")) node = read_node(section.section("node"));
    out.node = node.value_or(model::NodeFabric{.name = "", .devices = 1, .latency = {}});
    out.topology = read_topology(section.section("topology"), node);
    return out;
  }
  out.node = read_node(section.section("node"));
  out.scale_out = read_scale_out(section.section("scale_out"));
  if (out.scale_out.devices_per_leaf % out.node.devices != 0) {
    section.fail("scale_out.devices_per_leaf",
                 fmt::format("{} is no multiple of node.devices {}; expected whole nodes below a "
                             "leaf switch",
                             out.scale_out.devices_per_leaf, out.node.devices));
  }
  return out;
}

SystemConfig read_system(const YamlSection& section) {
  skip_documentation(section);
  return {.name = section.name(),
          .accelerator = read_accelerator(section.section("accelerator")),
          .fabric = read_fabric(section.section("fabric"))};
}

}  // namespace exawarp::io
