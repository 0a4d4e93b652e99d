// Who sends to whom.
#include <gtest/gtest.h>

#include <set>

#include "core/error.h"
#include "model/network/packet/traffic_pattern.h"

namespace exawarp::tests {
namespace {

using namespace model;

TEST(TrafficPattern, APermutationIsOneCycleThroughAllDevices) {
  for (const std::uint32_t n : {2u, 3u, 17u, 64u, 1000u}) {
    for (const std::uint64_t seed : {1u, 2u}) {
      const TrafficPlan plan({.pattern = TrafficPattern::permutation, .seed = seed}, n);
      core::DeviceId at{0};
      std::set<std::uint32_t> seen;
      for (std::uint32_t i = 0; i < n; ++i) {
        at = plan.destination(at, 0);
        seen.insert(at.value);
      }
      EXPECT_EQ(at.value, 0u) << n;
      EXPECT_EQ(seen.size(), n);
    }
  }
}

TEST(TrafficPattern, AllToAllReachesAllOthersOnce) {
  const TrafficPlan plan({.pattern = TrafficPattern::all_to_all}, 5);
  std::set<std::uint32_t> seen;
  for (std::uint32_t k = 0; k < plan.messages_of({3}); ++k) {
    seen.insert(plan.destination({3}, k).value);
  }
  EXPECT_EQ(seen, (std::set<std::uint32_t>{0, 1, 2, 4}));
}

TEST(TrafficPattern, UniformTrafficNeverGoesToItselfAndSpreadsEvenly) {
  const TrafficPlan plan({.pattern = TrafficPattern::uniform, .messages = 9'000}, 10);
  std::array<std::uint32_t, 10> count{};
  for (std::uint32_t k = 0; k < 9'000; ++k) ++count[plan.destination({4}, k).value];
  EXPECT_EQ(count[4], 0u);
  for (std::uint32_t d = 0; d < 10; ++d) {
    if (d != 4) {
      EXPECT_NEAR(count[d], 1'000, 6 * 30) << d;  // six standard deviations
    }
  }
}

TEST(TrafficPattern, AHotspotGetsItsShare) {
  const TrafficPlan plan(
      {.pattern = TrafficPattern::hotspot, .messages = 10'000, .hot_share = 0.25}, 101);
  std::uint32_t hot = 0;
  for (std::uint32_t k = 0; k < 10'000; ++k) hot += plan.destination({7}, k).value == 0 ? 1 : 0;
  EXPECT_NEAR(hot, 2'500 + 75, 6 * 44);
}

TEST(TrafficPattern, NonsenseIsRefusedInOneLine) {
  const auto text = [](const TrafficOptions& o, std::uint32_t devices) -> std::string {
    try {
      TrafficPlan plan(o, devices);
    } catch (const core::InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(text({}, 1), "traffic: devices: \"1\"; expected at least 2");
  EXPECT_EQ(text({.pattern = TrafficPattern::shift, .shift = 8}, 4),
            "traffic: shift: \"8\" leads from each of 4 devices to itself");
  EXPECT_EQ(text({.pattern = TrafficPattern::pairs, .senders = 3}, 4),
            "traffic: senders: \"3\"; this pattern has 2 at most on 4 devices");
  EXPECT_EQ(text({.pattern = TrafficPattern::uniform, .load = 1.5}, 4),
            "traffic: load: \"1.5\"; expected above 0 to 1");
  EXPECT_EQ(text({.start_spread = core::Time{86'401 * core::kPicosecondsPerSecond}}, 4),
            "traffic: start_spread: expected at most a day");
}

}  // namespace
}  // namespace exawarp::tests
