// Reads the hardware: rates by data type, memory, efficiencies by kind of operation, the node's
// fabric and what is beyond it.
#include "io/study/system_config.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "io/study/quantities.h"
#include "io/study/topology_config.h"
#include "model/workload/workload.capnp.h"

namespace exawarp::io {
namespace {

using core::Dimension;
using model::schema::DataType;
using model::schema::Operation;

constexpr std::array<std::pair<const char*, DataType>, 6> kDataTypes{{
    {"bf16", DataType::BF16},
    {"fp16", DataType::FP16},
    {"fp32", DataType::FP32},
    {"fp8", DataType::FP8},
    {"int8", DataType::INT8},
    {"fp64", DataType::FP64},
}};

constexpr std::array<std::pair<const char*, Operation>, model::kOperationCount> kOperations{{
    {"other", Operation::OTHER},
    {"gemm", Operation::GEMM},
    {"attention", Operation::ATTENTION},
    {"norm", Operation::NORM},
    {"elementwise", Operation::ELEMENTWISE},
    {"embedding", Operation::EMBEDDING},
    {"softmax", Operation::SOFTMAX},
    {"optimizer", Operation::OPTIMIZER},
    {"convolution", Operation::CONVOLUTION},
}};

constexpr RealRange kShare{.min = 0, .max = 1, .min_excluded = true};

void read_matrix_rates(const YamlSection& section, model::Accelerator& out) {
  const YamlSection rates = section.section("matrix_rate");
  if (!section.has("matrix_rate")) return;  // noted as missing
  for (const auto& [name, type] : kDataTypes) {
    out.matrix_flops_per_s[static_cast<std::size_t>(type)] =
        static_cast<double>(rates.quantity(name, Dimension::rate, 1, 0));
  }
  if (out.matrix_flops_per_s[static_cast<std::size_t>(DataType::BF16)] == 0 &&
      out.matrix_flops_per_s[static_cast<std::size_t>(DataType::FP16)] == 0) {
    section.fail("matrix_rate", "gives neither bf16 nor fp16; expected e.g. bf16: " +
                                    std::string(core::examples_of(Dimension::rate)));
  }
}

// `other` is the default of the kinds that are not given.
void read_efficiencies(const YamlSection& section, model::Accelerator& out) {
  const YamlSection shares = section.section("efficiency");
  const YamlSection other = shares.section("other");
  const model::Efficiency fallback{other.real("compute", kShare), other.real("memory", kShare)};
  out.efficiency.fill(fallback);
  for (const auto& [name, operation] : kOperations) {
    const std::optional<YamlSection> given = shares.optional_section(name);
    if (!given) continue;
    out.efficiency[static_cast<std::size_t>(operation)] = {
        given->real("compute", kShare, fallback.compute),
        given->real("memory", kShare, fallback.memory)};
  }
}

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

model::Accelerator read_accelerator(const YamlSection& section) {
  skip_documentation(section);
  model::Accelerator out;
  out.name = section.name();
  read_matrix_rates(section, out);
  out.vector_flops_per_s = static_cast<double>(section.quantity("vector_rate", Dimension::rate));
  out.memory_bytes_per_s =
      static_cast<double>(section.quantity("memory_bandwidth", Dimension::bandwidth));
  out.memory_bytes = section.quantity("memory_capacity", Dimension::size);
  out.host_bytes_per_s =
      static_cast<double>(section.quantity("host_bandwidth", Dimension::bandwidth));
  out.launch_latency = read_latency(section, "launch_latency", 0);
  read_efficiencies(section, out);
  return out;
}

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
