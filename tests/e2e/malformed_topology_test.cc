// Fabrics that make no network: each ends with exit code 2 and one line that says where and why.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

// small_study() has 8 devices; its fabric begins at line 16 with "name:" behind "fabric:".
std::string study_with(const std::string& fabric) {
  const std::string study = small_study();
  return study.substr(0, study.find("    node:")) + fabric;
}

const std::string kLink = "      link: {bandwidth: 50 GB/s, latency: 100 ns}\n";
const std::string kSwitched = kLink +
                              "      switch_latency: 300 ns\n"
                              "      endpoint_latency: 1 us\n";
const std::string kDirect = kLink + "      endpoint_latency: 1 us\n";

std::string topology(const std::string& lines, const std::string& rest) {
  return "    topology:\n" + lines + rest;
}

struct Refused {
  std::string name;
  std::string fabric;
  std::string place;  // behind "study.yaml:"
  std::string text;
};
void PrintTo(const Refused& r, std::ostream* out) { *out << r.name; }

class MalformedTopology : public testing::TestWithParam<Refused> {};

TEST_P(MalformedTopology, EndsWithOneLineThatSaysWhereAndWhy) {
  const Workspace workspace;
  workspace.write("study.yaml", study_with(GetParam().fabric));
  workspace.write("workload.yaml", small_workload());
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"topology", "show", "study.yaml"},
        std::vector<std::string>{"run", "study.yaml"}}) {
    const Ran ran = workspace.run(command);
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
    EXPECT_TRUE(ran.err.starts_with("study.yaml:")) << ran.err;
    EXPECT_NE(ran.err.find("key \"system.fabric" + GetParam().place + "\": "), std::string::npos)
        << ran.err;
    EXPECT_NE(ran.err.find(GetParam().text), std::string::npos) << ran.err;
    EXPECT_FALSE(workspace.has("results"));
  }
}

std::vector<Refused> of_networks() {
  return {
      {"UnknownKind", topology("      kind: tours\n      dims: [2, 4]\n", kDirect),
       ".topology.kind", "did you mean \"torus\"?"},
      {"NoKind", "    topology: {}\n", ".topology.kind", "expected one of: single_switch, ring"},
      {"UnknownKey", topology("      kind: ring\n      dims: [8]\n", kDirect), ".topology.dims",
       "unknown key"},
      {"TorusOfOtherDevices", topology("      kind: torus\n      dims: [3, 3]\n", kDirect),
       ".topology", "3 x 3 makes 9 devices; expected the 8 there are to connect"},
      {"TorusOfNoDimension", topology("      kind: torus\n      dims: []\n", kDirect),
       ".topology.dims", "has 0 dimensions; expected 1 to 8"},
      {"TorusOfSizeZero", topology("      kind: torus\n      dims: [0, 8]\n", kDirect),
       ".topology.dims", "\"0\" is not possible; expected whole numbers from 1"},
      {"DimensionsNoList", topology("      kind: torus\n      dims: 8\n", kDirect),
       ".topology.dims", "expected a list, e.g. [4, 4]"},
      {"ZeroBandwidth",
       topology("      kind: ring\n      link: {bandwidth: 0 GB/s, latency: 1 us}\n"
                "      endpoint_latency: 1 us\n",
                ""),
       ".topology.link.bandwidth", "out of range"},
      {"ZeroLinkLatency",
       topology("      kind: ring\n      link: {bandwidth: 1 GB/s, latency: 0 ns}\n"
                "      endpoint_latency: 1 us\n",
                ""),
       ".topology.link.latency", "out of range"},
      {"NegativeLinkLatency",
       topology("      kind: ring\n      link: {bandwidth: 1 GB/s, latency: -1 ns}\n"
                "      endpoint_latency: 1 us\n",
                ""),
       ".topology.link.latency", "-1 ns"},
      {"NegativeSwitchLatency",
       topology("      kind: single_switch\n",
                kLink + "      switch_latency: -300 ns\n      endpoint_latency: 1 us\n"),
       ".topology.switch_latency", "-300 ns"},
      {"UnknownCrossRail",
       "    node: {name: n, devices: 4, bandwidth: 1 GB/s, latency: 1 us}\n" +
           topology("      kind: rail_optimised\n      devices_per_leaf: 2\n      spines: 1\n"
                    "      cross_rail: spines\n",
                    kSwitched),
       ".topology.cross_rail", "did you mean \"spine\"?"},
      {"RailsOfUnevenNodes",
       "    node: {name: n, devices: 3, bandwidth: 1 GB/s, latency: 1 us}\n" +
           topology("      kind: rail_optimised\n      devices_per_leaf: 2\n      spines: 1\n",
                    kSwitched),
       ".topology", "8 devices on 3 rails: the last node lacks some; expected whole nodes"},
      {"HyperXOfOtherDevices",
       topology("      kind: hyperx\n      dims: [3]\n      devices_per_switch: 2\n", kSwitched),
       ".topology", "3 switches x 2 hosts makes 6 devices; expected the 8"},
      {"MissingFile", "    topology: ../nowhere/torus.yaml\n", ".topology", "nowhere/torus.yaml"},
      {"NoLink", topology("      kind: ring\n      endpoint_latency: 1 us\n", ""), ".topology.link",
       "missing"},
      {"AbovePeak",
       topology("      kind: ring\n      link: {bandwidth: 2 GB/s, peak_bandwidth: 1 GB/s, "
                "latency: 1 us}\n      endpoint_latency: 1 us\n",
                ""),
       ".topology.link.bandwidth", "is above peak_bandwidth"},
  };
}

std::vector<Refused> of_switched_networks() {
  const std::string dragonfly =
      "      kind: dragonfly\n      devices_per_router: 1\n      routers_per_group: 2\n";
  return {
      {"OddRadix", topology("      kind: fat_tree\n      radix: 5\n", kSwitched), ".topology.radix",
       "5 is odd; expected an even number of ports"},
      {"LeavesWithoutSpines",
       topology("      kind: leaf_spine\n      devices_per_leaf: 4\n      spines: 0\n", kSwitched),
       ".topology", "2 leaves that nothing connects; expected spines"},
      {"UnevenOversubscription",
       topology("      kind: leaf_spine\n      devices_per_leaf: 4\n      oversubscription: 3\n",
                kSwitched),
       ".topology.oversubscription", "make no whole number of spines"},
      {"RailsWithoutNodes",
       topology("      kind: rail_only\n      devices_per_leaf: 4\n      spines: 1\n", kSwitched),
       ".topology.kind", "expected a \"node\" beside \"topology\""},
      {"DragonflyOfOtherDevices",
       topology(dragonfly + "      global_links_per_router: 1\n      groups: 3\n", kSwitched),
       ".topology", "makes 6 devices; expected the 8"},
      {"DragonflyUneven",
       topology(dragonfly + "      global_links_per_router: 2\n      groups: 4\n", kSwitched),
       ".topology", "4 global links of a group cannot be spread evenly over the 3 other groups"},
      {"DragonflyOutOfReach",
       topology(dragonfly + "      global_links_per_router: 1\n      groups: 4\n", kSwitched),
       ".topology", "4 groups, but 2 global links of a group reach 3 at most"},
      {"UnknownArrangement",
       topology(dragonfly + "      global_links_per_router: 3\n      groups: 4\n"
                            "      arrangement: circular\n",
                kSwitched),
       ".topology.arrangement", "expected one of: absolute, relative"},
      {"HyperXWidths",
       topology("      kind: hyperx\n      dims: [2, 2]\n      width: [1]\n"
                "      devices_per_switch: 2\n",
                kSwitched),
       ".topology.width", "has 1 numbers; expected 2"},
  };
}

std::string graph(const std::string& links) {
  return topology(
      "      kind: graph\n      switch_latency: 0 ns\n      endpoint_latency: 0 ns\n"
      "      graph:\n        devices: 8\n        switches: 1\n        link_kinds: {a: "
      "{bandwidth: 1 GB/s, latency: 1 us}}\n        links: [" +
          links + "]\n",
      "");
}

std::vector<Refused> of_other_kinds() {
  const std::string dim =
      "          link: {bandwidth: 50 GB/s, latency: 100 ns}\n"
      "          endpoint_latency: 1 us\n          kind: ring\n";
  return {
      {"TwoNetworks", topology("      kind: ring\n", kDirect) + "    scale_out: {}\n", ".scale_out",
       "is a network beside \"topology\"; expected one of them"},
      {"GraphInTwoParts", graph("d0 s0 a, d1 s0 a"), ".topology",
       "no path between devices 0 and 2; expected a connected graph"},
      {"GraphOfOtherDevices",
       topology("      kind: graph\n      switch_latency: 0 ns\n      endpoint_latency: 0 ns\n"
                "      graph:\n        devices: 2\n        link_kinds: {a: {bandwidth: 1 GB/s, "
                "latency: 1 us}}\n        links: [d0 d1 a]\n",
                ""),
       ".topology", "the graph makes 2 devices; expected the 8"},
      {"GraphUnknownVertex", graph("d0 s1 a"), ".topology.graph.links",
       "there is no switch 1; expected below 1"},
      {"GraphUnknownLinkKind", graph("d0 s0 b"), ".topology.graph.links", "no kind \"b\""},
      {"GraphLoop", graph("d3 d3 a"), ".topology.graph.links", "leads back to where it starts"},
      {"GraphLinkTwice", graph("d3 s0 a, s0 d3 a"), ".topology.graph.links",
       "\"s0 d3 a\" is there twice; expected e.g. \"s0 d3 a 2\" where there are two links"},
      {"GraphBundleOfNone", graph("d3 s0 a 0"), ".topology.graph.links",
       "\"0\" is no number of links; expected 1 to 64"},
      {"GraphNoLink", graph("d0 s0"), ".topology.graph.links", "\"d0 s0\" is no link"},
      {"ProductOfOtherDevices",
       topology("      kind: product\n      dimensions:\n        x:\n          devices: 3\n" + dim +
                    "        y:\n          devices: 3\n" + dim,
                ""),
       ".topology", "3 x 3 makes 9 devices; expected the 8"},
      {"ProductOfOne",
       topology("      kind: product\n      dimensions:\n        x:\n          devices: 8\n" + dim,
                ""),
       ".topology.dimensions", "has 1 networks; expected 2 to 8"},
      {"ProductInProduct",
       topology("      kind: product\n      dimensions:\n        x: {devices: 4, kind: product}\n"
                "        y:\n          devices: 2\n" +
                    dim,
                ""),
       ".topology.dimensions.x.kind", "is no dimension of a product"},
  };
}

INSTANTIATE_TEST_SUITE_P(Networks, MalformedTopology, testing::ValuesIn(of_networks()),
                         [](const auto& param) { return param.param.name; });
INSTANTIATE_TEST_SUITE_P(Switched, MalformedTopology, testing::ValuesIn(of_switched_networks()),
                         [](const auto& param) { return param.param.name; });
INSTANTIATE_TEST_SUITE_P(Others, MalformedTopology, testing::ValuesIn(of_other_kinds()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace exawarp::tests
