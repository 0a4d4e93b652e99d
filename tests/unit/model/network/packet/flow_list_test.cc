#include "model/network/packet/flow_list.h"

#include <gtest/gtest.h>

#include "model/network/packet/traffic_pattern.h"

namespace exawarp::tests {
namespace {

using core::Time;
using model::FlowList;
using model::ListedFlow;
using model::TrafficPattern;
using model::TrafficPlan;

const std::vector<ListedFlow> kFlows{{.source = 3, .destination = 0, .bytes = 7, .start = Time{5}},
                                     {.source = 1, .destination = 2, .bytes = 4, .start = Time{9}},
                                     {.source = 3, .destination = 2, .bytes = 1, .start = Time{5}},
                                     {.source = 3, .destination = 1, .bytes = 2, .start = Time{0}}};

TEST(FlowListOrder, IsByStartAndThenAsListed) {
  const FlowList list(kFlows);
  std::vector<std::uint32_t> destinations;
  for (const ListedFlow& flow : list.of({3})) destinations.push_back(flow.destination);
  EXPECT_EQ(destinations, (std::vector<std::uint32_t>{1, 0, 2}));
  EXPECT_EQ(list.of({1}).size(), 1u);
  EXPECT_TRUE(list.of({0}).empty());
  EXPECT_TRUE(list.of({4}).empty());
}

TEST(FlowListOrder, IsWhatAPlanSendsBy) {
  const TrafficPlan plan({.pattern = TrafficPattern::flows,
                          .flows = std::make_shared<const FlowList>(kFlows)},
                         4);
  EXPECT_EQ(plan.messages_of({3}), 3u);
  EXPECT_EQ(plan.messages_of({2}), 0u);
  EXPECT_EQ(plan.destination({3}, 1).value, 0u);
  EXPECT_EQ(plan.bytes({3}, 1), 7);
  EXPECT_EQ(plan.start({3}, 1), Time{5});
  EXPECT_TRUE(plan.bytes_of({3}) == 10);
  EXPECT_EQ(plan.longest(), 7);
  EXPECT_FALSE(plan.is_open());
}

}  // namespace
}  // namespace exawarp::tests
