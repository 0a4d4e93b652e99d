#include "model/network/faults/escape_routes.h"

#include <gtest/gtest.h>

#include "model/network/faults/live_routes.h"
#include "model/topology/product.h"
#include "model/topology/torus.h"
#include "tests/support/traffic_fixture.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::Time;

// Switch a's link to switch b.
LinkFaultSpec down(std::uint32_t a, std::uint32_t b) {
  return {.links = {{.at = {false, a}, .to = {false, b}}}, .place = "test"};
}
LinkFaultSpec port_down(std::uint32_t device, std::uint32_t port) {
  return {.links = {{.at = {true, device}, .port = port}}, .place = "test"};
}

// Links of the way that takes first ports.
std::uint32_t length(const Topology& t, const EscapeRoutes& escape, VertexId at, VertexId to) {
  std::uint32_t links = 0;
  bool only_down = false;
  for (; at != to && links < 100; ++links) {
    const Link link = t.link(at, escape.ports(at, only_down, to, Time{0})[0]);
    at = link.peer;
    only_down = escape.came_down(at, link.peer_port);
  }
  return links;
}

TEST(EscapeRoutes, LeadThroughAThirdLeafWhereTwoHaveNoSpineInCommon) {
  const auto t = tests::leaf_spine(12, 4, 2);  // leaves 0 to 2, spines 3 and 4
  const std::vector<LinkFaultSpec> specs{down(0, 4), down(1, 3)};
  const LinkFaults faults(*t, specs);
  const LiveRoutes routes(*t, faults, EscapeRoutes::Kind::up_then_down);
  EXPECT_TRUE(routes.ports({0}, {4}, Way::begins, Time{0}).empty());
  EXPECT_FALSE(routes.detour({0}, {0}, {4}, Time{0}).has_value());
  EXPECT_TRUE(routes.connected({0}, {4}, Time{0}));
  EXPECT_EQ(length(*t, routes.escape_routes(), {0}, {4}), 6u);
  const LiveRoutes none(*t, faults, EscapeRoutes::Kind::none);
  EXPECT_FALSE(none.connected({0}, {4}, Time{0}));
}

TEST(EscapeRoutes, AreTheShortestLeftOfAGraphWhereNothingWaits) {
  // Switches 0, 1, 2 in a row, and 0 to 2 over 3 and 4.
  GraphSpec spec{.devices = 2, .switches = 5, .kinds = {tests::round_link()}};
  const auto s = [](std::uint32_t i) { return VertexId{2 + i}; };
  spec.wires = {{{0}, s(0), 0}, {{1}, s(2), 0}, {s(0), s(1), 0}, {s(1), s(2), 0},
                {s(0), s(3), 0}, {s(3), s(4), 0}, {s(4), s(2), 0}};
  spec.latencies = {.forwarding = tests::kSwitch, .endpoint = Time{0}};
  const Graph t(spec, "test");
  const std::vector<LinkFaultSpec> specs{down(0, 1)};
  const LinkFaults faults(t, specs);
  const LiveRoutes routes(t, faults, EscapeRoutes::Kind::any);
  EXPECT_TRUE(routes.connected({0}, {1}, Time{0}));
  EXPECT_EQ(length(t, routes.escape_routes(), {0}, {1}), 5u);
  // At Time::max() every link is whole.
  EXPECT_EQ(routes.escape_routes().ports(s(0), false, {1}, Time::max()).size(), 1u);
}

TEST(EscapeRoutes, GoTheOtherWayRoundADimensionOfAProduct) {
  std::vector<std::unique_ptr<Topology>> dims;
  for (int i = 0; i < 2; ++i) {
    dims.push_back(std::make_unique<Torus>(
        TorusSpec{{5}, true, tests::round_link(), {tests::kSwitch, Time{0}}}));
  }
  const Product t(std::move(dims), tests::kSwitch);
  const std::vector<LinkFaultSpec> specs{port_down(0, 0)};  // 0 to 1
  const LinkFaults faults(t, specs);
  for (const auto kind : {EscapeRoutes::Kind::any, EscapeRoutes::Kind::up_then_down}) {
    const LiveRoutes routes(t, faults, kind);
    EXPECT_TRUE(routes.connected({0}, {1}, Time{0}));
    EXPECT_GE(length(t, routes.escape_routes(), {0}, {1}), 3u);
  }
  EXPECT_EQ(length(t, EscapeRoutes(t, faults, EscapeRoutes::Kind::any), {0}, {1}), 3u);
}

TEST(EscapeRoutes, NeverPassDevicesThatDoNotForward) {
  ClosSpec spec{.devices_per_leaf = 2, .spines_per_pod = 1, .leaves_per_device = 2};
  spec.host = spec.leaf_spine = tests::round_link();
  const Clos t(spec, 4);  // leaves 0, 1 and 2, 3; spine 4
  // Device 0 keeps leaf 0, device 1 leaf 1: they meet at the spine.
  const std::vector<LinkFaultSpec> split{port_down(0, 1), port_down(1, 0)};
  const LinkFaults faults(t, split);
  const LiveRoutes routes(t, faults, EscapeRoutes::Kind::up_then_down);
  EXPECT_TRUE(routes.connected({0}, {1}, Time{0}));
  EXPECT_EQ(length(t, routes.escape_routes(), {0}, {1}), 4u);
  // Without it only devices of the other leaves would join them.
  std::vector<LinkFaultSpec> cut = split;
  cut.push_back({.switches = {4}, .place = "test"});
  const LinkFaults without(t, cut);
  EXPECT_FALSE(EscapeRoutes(t, without, EscapeRoutes::Kind::any).exists({0}, {1}, Time{0}));
}

}  // namespace
}  // namespace exawarp::tests
