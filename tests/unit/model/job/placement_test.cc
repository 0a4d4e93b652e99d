// Which devices a job gets, kind by kind, and what is refused.
#include "model/job/placement.h"

#include <gtest/gtest.h>

#include <functional>

#include "core/error.h"

namespace exawarp::tests {
namespace {

using namespace model;

constexpr ClusterShape kShape{.devices = 32, .node_devices = 4, .leaf_devices = 8};

std::vector<std::uint32_t> devices_of(const Allocation& allocation, std::uint32_t job,
                                      std::uint32_t ranks) {
  std::vector<std::uint32_t> devices;
  for (std::uint32_t r = 0; r < ranks; ++r) devices.push_back(allocation.device_of(job, r).value);
  return devices;
}

std::string refusal(const std::vector<PlacementRequest>& requests) {
  try {
    const Allocation allocation(kShape, requests);
  } catch (const core::InputError& error) {
    return error.what();
  }
  return "accepted";
}

PlacementRequest job(const std::string& name, std::uint32_t ranks, PlacementSpec how = {}) {
  return {.place = "s.yaml:3: key \"jobs\"", .job = name, .ranks = ranks, .placement = how};
}
PlacementSpec list(std::vector<std::uint32_t> devices) {
  return {.kind = PlacementKind::list, .devices = std::move(devices)};
}

using Devices = std::vector<std::uint32_t>;

TEST(Placement, OneLinearJobHasItsRanksOnTheDevicesOfTheSameNumber) {
  const Allocation allocation(kShape, std::vector{job("a", 32)});
  EXPECT_TRUE(allocation.is_identity(0));
  EXPECT_EQ(allocation.ranks_in_node(0), 4u);
  EXPECT_EQ(allocation.idle_devices(), 0u);
}

TEST(Placement, LinearJobsTakeTheLowestFreeDevicesInTurn) {
  const Allocation allocation(kShape,
                              std::vector{job("a", 3), job("b", 4), job("c", 2, list({4, 1}))});
  EXPECT_EQ(devices_of(allocation, 0, 3), (Devices{0, 2, 3}));
  EXPECT_EQ(devices_of(allocation, 1, 4), (Devices{5, 6, 7, 8}));
  EXPECT_EQ(devices_of(allocation, 2, 2), (Devices{4, 1}));
  EXPECT_EQ(allocation.ranks_in_node(1), 1u);
}

TEST(Placement, ALinearJobMayBeginAtADevice) {
  const Allocation allocation(kShape, std::vector{job("a", 8, {.first = 6}), job("b", 8)});
  EXPECT_EQ(allocation.device_of(0, 0).value, 6u);
  EXPECT_EQ(allocation.ranks_in_node(0), 2u);
  EXPECT_EQ(devices_of(allocation, 1, 8), (Devices{0, 1, 2, 3, 4, 5, 14, 15}));
}

TEST(Placement, NodesAreTakenWholeAndWhatIsLeftOfTheLastStaysIdle) {
  const PlacementSpec nodes{.kind = PlacementKind::nodes};
  const Allocation allocation(kShape, std::vector{job("a", 6, nodes), job("b", 4, nodes)});
  EXPECT_EQ(devices_of(allocation, 0, 6), (Devices{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(devices_of(allocation, 1, 4), (Devices{8, 9, 10, 11}));
  EXPECT_FALSE(allocation.seat_of({6}).has_value());
}

TEST(Placement, RoundRobinDealsRanksOutOverTheNodes) {
  const Allocation allocation(
      kShape, std::vector{job("a", 6, {.kind = PlacementKind::nodes, .round_robin = true})});
  EXPECT_EQ(devices_of(allocation, 0, 6), (Devices{0, 4, 1, 5, 2, 6}));
  EXPECT_EQ(allocation.ranks_in_node(0), 1u);
}

TEST(Placement, NodesCanComeFromEachLeafInTurn) {
  const Allocation allocation(
      kShape,
      std::vector{job("a", 20, {.kind = PlacementKind::nodes, .order = NodeOrder::leaves})});
  EXPECT_EQ(devices_of(allocation, 0, 20),
            (Devices{0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27, 4, 5, 6, 7}));
  EXPECT_EQ(allocation.ranks_in_node(0), 4u);
}

TEST(Placement, RandomJobsOfOneSeedDrawFromOneOrder) {
  const PlacementSpec random{.kind = PlacementKind::random, .seed = 7};
  const Allocation one(kShape, std::vector{job("a", 20, random)});
  const Allocation two(kShape, std::vector{job("a", 12, random), job("b", 8, random)});
  const Devices all = devices_of(one, 0, 20);
  EXPECT_EQ(devices_of(two, 0, 12), Devices(all.begin(), all.begin() + 12));
  EXPECT_EQ(devices_of(two, 1, 8), Devices(all.begin() + 12, all.end()));
  EXPECT_EQ(one.ranks_in_node(0), 1u);
}

TEST(Placement, RefusesWhatDoesNotFit) {
  EXPECT_EQ(refusal({job("a", 20), job("b", 16)}),
            "s.yaml:3: key \"jobs\": job \"b\": needs 16 devices; 12 of 32 are free");
  EXPECT_EQ(refusal({job("a", 4, {.first = 30})}),
            "s.yaml:3: key \"jobs\": job \"a\": no such device: 32; expected 0 to 31");
  EXPECT_EQ(refusal({job("a", 2, list({3, 77}))}),
            "s.yaml:3: key \"jobs\": job \"a\": no such device: 77; expected 0 to 31");
  EXPECT_EQ(refusal({job("a", 1, {.first = 1}), job("b", 29, {.kind = PlacementKind::nodes})}),
            "s.yaml:3: key \"jobs\": job \"b\": needs 8 whole nodes of 4 devices; 7 are free");
}

TEST(Placement, RefusesOverlapsAndUnsoundLists) {
  EXPECT_EQ(refusal({job("a", 8, {.first = 4}), job("b", 2, list({20, 11}))}),
            "s.yaml:3: key \"jobs\": job \"b\": device 11 is taken by job \"a\"; expected "
            "placements that do not overlap");
  EXPECT_EQ(refusal({job("a", 3, list({5, 6, 5}))}),
            "s.yaml:3: key \"jobs\": job \"a\": device 5 occurs twice; expected each once");
  EXPECT_EQ(refusal({job("a", 3, list({5, 6}))}),
            "s.yaml:3: key \"jobs\": job \"a\": 2 devices for a workload of 3; expected one each");
}

TEST(Placement, RefusesLeavesWhereTheFabricHasNone) {
  try {
    const Allocation allocation(
        {.devices = 8, .node_devices = 4, .leaf_devices = 0},
        std::vector{job("a", 4, {.kind = PlacementKind::nodes, .order = NodeOrder::leaves})});
    FAIL();
  } catch (const core::InputError& error) {
    EXPECT_NE(std::string(error.what()).find("no leaf switches"), std::string::npos);
  }
}

TEST(Placement, AClusterIsAsLargeAsItsJobsNeed) {
  EXPECT_EQ(devices_needed(std::vector{job("a", 6), job("b", 3)}, 4), 9u);
  EXPECT_EQ(
      devices_needed(std::vector{job("a", 6), job("b", 3, {.kind = PlacementKind::nodes})}, 4),
      12u);
  EXPECT_EQ(devices_needed(std::vector{job("a", 2, list({3, 40}))}, 4), 41u);
  EXPECT_EQ(devices_needed(std::vector{job("a", 2, {.first = 9})}, 4), 11u);
}

}  // namespace
}  // namespace exawarp::tests
