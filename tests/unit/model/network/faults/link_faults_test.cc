// Slow and failed links over time, and the routes that remain.
#include "model/network/faults/link_faults.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/error.h"
#include "model/network/faults/live_routes.h"
#include "model/network/latency_jitter.h"
#include "model/topology/dragonfly.h"
#include "model/topology/torus.h"
#include "model/variation.h"
#include "tests/support/traffic_fixture.h"
#include "tests/unit/model/network/faults/vertex_names.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::DeviceId;
using core::Time;

LinkFaultSpec between(VertexName a, VertexName b, std::int64_t factor_ppm = 0, Time from = {},
                      Time until = Time::max()) {
  return {.links = {{.at = a, .to = b}},
          .factor_ppm = factor_ppm,
          .from = from,
          .until = until,
          .place = "test"};
}

LinkFaults faults_of(const Topology& topology, std::vector<LinkFaultSpec> specs) {
  return {topology, specs};
}

Torus torus(std::vector<std::uint32_t> dims) {
  return Torus({std::move(dims), true, round_link(), {tests::kSwitch, Time{0}}});
}

TEST(LinkFaults, AreOfBothDirectionsAndOfTheirTimeAlone) {
  const auto topology = leaf_spine(8, 4, 2);
  const LinkFaults faults =
      faults_of(*topology, {between(node(0), node(3), 0, Time{100}, Time{200})});
  EXPECT_EQ(faults.links(), 1u);
  const VertexId leaf = topology->vertex_of_switch(0), spine = topology->vertex_of_switch(3);
  for (const auto& [v, port] : {std::pair(leaf, 5u), std::pair(spine, 0u)}) {
    EXPECT_TRUE(faults.touches(v, port));
    EXPECT_FALSE(faults.down(v, port, Time{99}));
    EXPECT_TRUE(faults.down(v, port, Time{100}));
    EXPECT_TRUE(faults.down(v, port, Time{199}));
    EXPECT_FALSE(faults.down(v, port, Time{200}));
    EXPECT_EQ(faults.down_from(v, port, Time{7}), Time{100});
    EXPECT_EQ(faults.down_from(v, port, Time{200}), Time::max());
  }
  EXPECT_FALSE(faults.touches(leaf, 4));
  EXPECT_EQ(faults.next_change(Time{0}), Time{100});
  EXPECT_EQ(faults.next_change(Time{100}), Time{200});
  EXPECT_EQ(faults.next_change(Time{200}), Time::max());
}

TEST(LinkFaults, SlowATransferByTheFactorAndHoldItWhileTheLinkIsDown) {
  const auto topology = leaf_spine(8, 4, 2);
  const LinkFaults faults =
      faults_of(*topology, {between(device(1), node(0), 3'000'000, Time{0}, Time{1'000}),
                            between(device(1), node(0), 2'000'000, Time{600}),
                            between(device(1), node(0), 0, Time{1'200}, Time{1'300})});
  // 600 / 3 = 200 by 600, 400 / 6 = 66 by 1,000, 200 / 2 = 100 by 1,200, the rest from 1,300 on.
  EXPECT_EQ(faults.end_of({1}, 0, Time{0}, Time{200}), Time{600});
  EXPECT_EQ(faults.end_of({1}, 0, Time{0}, Time{266}), Time{996});
  EXPECT_EQ(faults.end_of({1}, 0, Time{0}, Time{376}), Time{1'300 + 2 * 10});
  EXPECT_EQ(faults.end_if_up({1}, 0, Time{0}, Time{376}), Time{1'200 + 2 * 10});
  EXPECT_EQ(faults.end_of({1}, 0, Time{1'250}, Time{0}), Time{1'300});
}

TEST(LinkFaults, ASwitchIsAllItsLinks) {
  const auto topology = leaf_spine(16, 4, 3);
  LinkFaultSpec spec{.switches = {5}, .place = "test"};
  const LinkFaults faults = faults_of(*topology, {spec});
  EXPECT_EQ(faults.links(), 4u);
  for (std::uint32_t leaf = 0; leaf < 4; ++leaf) {
    EXPECT_TRUE(faults.down(topology->vertex_of_switch(leaf), 4 + 1, Time{0}));
  }
}

TEST(LinkFaults, AShareIsDrawnBySeedAndKind) {
  ClosSpec shape{.devices_per_leaf = 4, .spines_per_pod = 4};
  shape.host = shape.leaf_spine = round_link();
  shape.leaf_spine.name = "leaf-spine";
  const auto topology = std::make_unique<Clos>(shape, 64);
  const auto drawn = [&](std::uint64_t seed) {
    const LinkFaultSpec spec{.drawn_links = FaultDraw{0.25, "leaf-spine", seed}, .place = "test"};
    const LinkFaults faults = faults_of(*topology, {spec});
    std::set<std::pair<std::uint32_t, std::uint32_t>> out;
    for (std::uint32_t leaf = 0; leaf < 16; ++leaf) {
      const VertexId v = topology->vertex_of_switch(leaf);
      for (std::uint32_t p = 0; p < topology->ports(v); ++p) {
        if (faults.touches(v, p)) out.emplace(leaf, p);
        EXPECT_TRUE(p >= 4 || !faults.touches(v, p));
      }
    }
    EXPECT_EQ(faults.links(), out.size());
    return out;
  };
  EXPECT_EQ(drawn(7).size(), 16u);  // of 64
  EXPECT_EQ(drawn(7), drawn(7));
  EXPECT_NE(drawn(7), drawn(8));
}

TEST(LiveRoutes, AvoidWhatIsDownBehindTheNextVertex) {
  // Leaf 3's link to spine 1 is down: leaf 0 must not take spine 1 for devices below leaf 3, and
  // may for others.
  const auto topology = leaf_spine(16, 4, 3);
  const LinkFaults faults = faults_of(*topology, {between(node(3), node(4 + 1))});
  const LiveRoutes routes(*topology, faults, EscapeRoutes::Kind::up_then_down);
  const VertexId leaf = topology->vertex_of_switch(0);
  EXPECT_EQ(routes.ports(leaf, {4}, Way::begins, Time{0}).size(), 3u);
  const PortChoices live = routes.ports(leaf, {12}, Way::begins, Time{0});
  ASSERT_EQ(live.size(), 2u);
  EXPECT_EQ(live[0], 4u);
  EXPECT_EQ(live[1], 6u);
}

TEST(LiveRoutes, TakeAWaypointWhereNoMinimalWayIsWhole) {
  const Torus t = torus({4, 4});
  const LinkFaults faults = faults_of(t, {between(device(0), device(1), 0, Time{10})});
  const LiveRoutes routes(t, faults, EscapeRoutes::Kind::up_then_down);
  EXPECT_EQ(routes.ports({0}, {1}, Way::begins, Time{9}).size(), 1u);
  EXPECT_TRUE(routes.ports({0}, {1}, Way::begins, Time{10}).empty());
  // One link aside, one along, one back: through device 4 above or 12 below.
  const auto over = routes.detour({0}, {0}, {1}, Time{10});
  ASSERT_TRUE(over.has_value());
  EXPECT_EQ(over->value, 4u);
}

TEST(LiveRoutes, GoTheLongWayRoundARing) {
  for (const std::uint32_t n : {5u, 8u, 33u}) {
    const Torus ring = torus({n});
    const LinkFaults faults = faults_of(ring, {between(device(0), device(1))});
    const LiveRoutes routes(ring, faults, EscapeRoutes::Kind::up_then_down);
    EXPECT_TRUE(routes.connected({0}, {1}, Time{0})) << n;
    const LinkFaults cut =
        faults_of(ring, {between(device(0), device(1)), between(device(2), device(3))});
    const LiveRoutes in_two(ring, cut, EscapeRoutes::Kind::up_then_down);
    EXPECT_FALSE(in_two.connected({0}, {1}, Time{0})) << n;
    EXPECT_TRUE(in_two.connected({1}, {2}, Time{0})) << n;
    EXPECT_EQ(in_two.connected_from({0}, {1}, Time{0}), Time::max());
  }
}

TEST(LiveRoutes, EveryPairOfADragonflySurvivesOneGlobalAndOneLocalLink) {
  const Dragonfly t({.devices_per_router = 1,
                     .routers = 4,
                     .global_links = 1,
                     .groups = 5,
                     .arrangement = GlobalLinks::absolute,
                     .host = round_link(),
                     .local = round_link(),
                     .global = round_link(),
                     .latencies = {tests::kSwitch, Time{0}}});
  LinkFaultSpec global{.place = "test"};
  global.links = {{.at = node(0), .port = 4}};  // behind its device and three routers
  const LinkFaults faults = faults_of(t, {global, between(node(9), node(10))});
  const LiveRoutes routes(t, faults, EscapeRoutes::Kind::up_then_down);
  for (std::uint32_t a = 0; a < t.devices(); ++a) {
    for (std::uint32_t b = 0; b < t.devices(); ++b) {
      EXPECT_TRUE(a == b || routes.connected({a}, {b}, Time{0})) << a << " " << b;
    }
  }
}

TEST(LatencyJitter, HasItsMeanAndNeverLetsAMessageOvertake) {
  const LatencyJitter jitter({.mean = Time{1'000}}, 3);
  double sum = 0;
  std::int64_t last = 0;
  constexpr std::int64_t kSteps = 100'000;
  for (std::int64_t i = 0; i < kSteps; ++i) {
    const std::int64_t at = i * 137;
    const std::int64_t late = jitter.extra(1, 2, Time{at}).ps;
    EXPECT_GE(late, 0);
    EXPECT_GE(at + late, last);
    last = at + late;
    sum += static_cast<double>(late);
  }
  // The mean of the draws is 1,000; waiting for those before adds to it, by less than a slot.
  EXPECT_GT(sum / kSteps, 990);
  EXPECT_LT(sum / kSteps, 2'000);
  EXPECT_NE(jitter.extra(1, 2, Time{5'000}), jitter.extra(2, 1, Time{5'000}));
}

class VariationOf : public testing::TestWithParam<VariationSpec> {};

TEST_P(VariationOf, HasMeanOneAndItsDeviation) {
  const Variation variation(GetParam());
  constexpr std::int64_t kBase = 1'000'000'000;
  constexpr int kDraws = 200'000;
  double sum = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double f = static_cast<double>(variation.scaled(
                         kBase, core::random_bits(5, static_cast<std::uint64_t>(i)))) /
                     static_cast<double>(kBase);
    EXPECT_GT(f, 0);
    sum += f;
    squares += f * f;
  }
  const double mean = sum / kDraws, sigma = GetParam().deviation;
  EXPECT_NEAR(mean, 1, 5 * sigma / std::sqrt(kDraws));
  EXPECT_NEAR(std::sqrt(squares / kDraws - mean * mean), sigma, 0.03 * sigma);
}

INSTANTIATE_TEST_SUITE_P(All, VariationOf,
                         testing::Values(VariationSpec{0.2, Distribution::normal},
                                         VariationSpec{0.5, Distribution::uniform},
                                         VariationSpec{0.1, Distribution::lognormal},
                                         VariationSpec{0.8, Distribution::lognormal},
                                         VariationSpec{0.5, Distribution::exponential}));

}  // namespace
}  // namespace exawarp::tests
