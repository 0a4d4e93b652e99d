// Placements are bijections: no two ranks share a device, and the way back leads home.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/permutation.h"
#include "core/random.h"
#include "model/job/placement.h"
#include "tests/support/seeds.h"

namespace exawarp::tests {
namespace {

using namespace model;

TEST(Permutation, IsABijectionWithItsInverseForEverySize) {
  for (std::uint32_t size = 1; size <= 300; ++size) {
    const core::Permutation order(size, size * 7u);
    std::vector<bool> seen(size);
    for (std::uint32_t i = 0; i < size; ++i) {
      const std::uint32_t to = order.forward(i);
      ASSERT_LT(to, size);
      EXPECT_FALSE(seen[to]) << size;
      seen[to] = true;
      EXPECT_EQ(order.inverse(to), i) << size;
    }
  }
}

TEST(Permutation, IsABijectionAtTheLargestSizesToo) {
  for (const std::uint32_t size : {1u << 24, (1u << 24) - 1, (1u << 22) + 1, 1u << 31}) {
    const core::Permutation order(size, 42);
    for (std::uint32_t i = 0; i < 2'000; ++i) {
      const auto from = static_cast<std::uint32_t>(core::random_bits(9, i) % size);
      EXPECT_EQ(order.inverse(order.forward(from)), from) << size;
    }
  }
}

// 64 places, every number equally likely at each: chi-squared over 63 x 64 cells.
TEST(Permutation, PutsEveryNumberEverywhereEquallyOften) {
  constexpr std::uint32_t kSize = 64, kSeeds = 6'400;
  std::vector<std::uint32_t> count(kSize * kSize);
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    const core::Permutation order(kSize, seed);
    for (std::uint32_t i = 0; i < kSize; ++i) ++count[i * kSize + order.forward(i)];
  }
  constexpr double kExpected = double{kSeeds} / kSize;
  double chi_squared = 0;
  for (const std::uint32_t n : count) chi_squared += (n - kExpected) * (n - kExpected) / kExpected;
  // Mean 63 * 63 = 3969, standard deviation sqrt(2 * 3969) = 89.
  EXPECT_NEAR(chi_squared, 3'969, 6 * 89);
}

// Holds an allocation against a table of the whole cluster.
void expect_bijection(const Allocation& allocation, const std::vector<PlacementRequest>& requests,
                      const std::string& what) {
  std::vector<std::uint32_t> taken(allocation.devices());
  std::uint32_t ranks = 0;
  for (std::uint32_t j = 0; j < requests.size(); ++j) {
    for (std::uint32_t r = 0; r < requests[j].ranks; ++r, ++ranks) {
      const core::DeviceId device = allocation.device_of(j, r);
      ASSERT_LT(device.value, allocation.devices()) << what;
      EXPECT_EQ(taken[device.value]++, 0u) << what << " device " << device.value;
      const auto seat = allocation.seat_of(device);
      ASSERT_TRUE(seat.has_value()) << what;
      EXPECT_EQ(*seat, (Allocation::Seat{j, r})) << what;
    }
  }
  for (std::uint32_t d = 0; d < allocation.devices(); ++d) {
    EXPECT_EQ(allocation.seat_of({d}).has_value(), taken[d] != 0) << what << " " << d;
  }
  EXPECT_EQ(allocation.idle_devices(), allocation.devices() - ranks) << what;
}

TEST(Placement, AnyMixOfJobsGetsDevicesOfItsOwn) {
  for (const std::uint64_t seed : case_seeds(1, 400)) {
    const std::string what = "seed " + std::to_string(seed);
    std::uint64_t draw = 0;
    const auto random = [&](std::uint64_t below) {
      return static_cast<std::uint32_t>(core::random_bits(seed, draw++) % below);
    };
    const ClusterShape shape{
        .devices = 40 + random(300), .node_devices = 1 + random(8), .leaf_devices = 0};
    ClusterShape with_leaves = shape;
    with_leaves.leaf_devices = shape.node_devices * (1 + random(5));
    std::vector<PlacementRequest> requests(1 + random(7));
    for (PlacementRequest& r : requests) {
      r.job = "j";
      r.ranks = 1 + random(shape.devices / 10);
      r.placement.kind = static_cast<PlacementKind>(random(3));  // no lists
      r.placement.order = static_cast<NodeOrder>(random(3));
      r.placement.round_robin = random(2) == 1;
      r.placement.seed = random(2);
    }
    try {
      expect_bijection(Allocation(with_leaves, requests), requests, what);
    } catch (const core::InputError& full) {
      EXPECT_NE(std::string(full.what()).find("free"), std::string::npos) << what;
    }
  }
}

TEST(Placement, RanksThatAreSaidToShareANodeDo) {
  for (const std::uint64_t seed : case_seeds(1, 100)) {
    const ClusterShape shape{.devices = 128, .node_devices = 8, .leaf_devices = 32};
    std::vector<PlacementRequest> requests(3);
    for (std::uint32_t j = 0; j < 3; ++j) {
      PlacementSpec& how = requests[j].placement;
      requests[j].ranks = 24 + static_cast<std::uint32_t>(core::random_bits(seed, j) % 9);
      how.kind = static_cast<PlacementKind>(core::random_bits(seed, 10 + j) % 3);
      how.order = static_cast<NodeOrder>(core::random_bits(seed, 20 + j) % 3);
      how.round_robin = core::random_bits(seed, 30 + j) % 2 == 1;
    }
    const Allocation allocation(shape, requests);
    for (std::uint32_t j = 0; j < 3; ++j) {
      const std::uint32_t together = allocation.ranks_in_node(j);
      EXPECT_EQ(8 % together, 0u);
      for (std::uint32_t r = 0; r < requests[j].ranks; ++r) {
        EXPECT_EQ(allocation.device_of(j, r).value / 8,
                  allocation.device_of(j, r / together * together).value / 8)
            << "seed " << seed << " job " << j << " rank " << r;
      }
    }
  }
}

}  // namespace
}  // namespace exawarp::tests
