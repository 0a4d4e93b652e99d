// The fabrics of configs/ make networks of as many devices as they are meant for.
#include "io/study/topology_config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "io/report/topology_svg.h"
#include "io/study/system_config.h"

namespace exawarp::tests {
namespace {

using namespace io;

const std::string kFabrics = std::string(EXAWARP_SOURCE_DIR) + "/configs/fabrics/";

std::unique_ptr<model::Topology> network(const std::string& file, std::uint32_t devices) {
  YamlDocument document(kFabrics + file);
  const model::Fabric fabric = read_fabric(document.root());
  document.finish();
  return model::make_topology(fabric, devices);
}

TEST(Presets, EveryFabricMakesANetwork) {
  const std::map<std::string, std::uint32_t> others{{"dragonfly_384_example.yaml", 384},
                                                    {"graph_8_example.yaml", 8},
                                                    {"gb200_nvl72_roce400.yaml", 144}};
  std::size_t fabrics = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFabrics)) {
    const std::string file = entry.path().filename().string();
    const auto other = others.find(file);
    const std::uint32_t devices = other == others.end() ? 64 : other->second;
    EXPECT_EQ(network(file, devices)->devices(), devices) << file;
    ++fabrics;
  }
  EXPECT_GE(fabrics, 19u);
}

TEST(Presets, RailOptimisedLeavesHoldOneRailEach) {
  const auto net = network("rail_optimised_h100.yaml", 512);
  EXPECT_EQ(net->counts().switches, 64u + 16 + 32);
  EXPECT_EQ(net->counts().diameter_links, 4u);
}

TEST(Presets, DualPlaneCrossesNvlinkBetweenRails) {
  const auto net = network("dual_plane_hpn.yaml", 64);
  EXPECT_EQ(net->ports({0}), 1u + 2);
  EXPECT_EQ(net->minimal({0}, {9})[0], 0u);   // rank 0 to rank 1 of the next node
  EXPECT_EQ(net->minimal({0}, {8}).size(), 2u);
}

TEST(Svg, DrawsLargeNetworksAsTiers) {
  const std::string svg = svg_of(*network("h100_hgx_roce400.yaml", 32'768));
  EXPECT_NE(svg.find("32,768 devices"), std::string::npos);
  EXPECT_NE(svg.find("4,096 switches"), std::string::npos);  // NVSwitches
  EXPECT_NE(svg.find("32,768 spine-core links"), std::string::npos);
  EXPECT_EQ(svg.find("<circle cx"), std::string::npos);
}

}  // namespace
}  // namespace exawarp::tests
