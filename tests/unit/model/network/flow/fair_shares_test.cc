// Max-min fair shares: against closed solutions, against filling by single units, and by what
// defines them.
#include "model/network/flow/fair_shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "core/random.h"
#include "tests/support/seeds.h"

namespace exawarp::tests {
namespace {

using model::FairShares;
using model::FlowHop;
using model::FlowLink;
using model::FlowLists;
using model::kNoFlowHop;
using model::kNoLink;

using Way = std::vector<std::uint32_t>;  // links
using Rates = std::vector<std::uint64_t>;

constexpr std::uint32_t kShift = 3;

struct Case {
  std::vector<std::uint64_t> capacities;
  std::vector<Way> flows;
};

// The lists of a case, in the order of its flows.
struct Listed {
  std::vector<FlowLink> links;
  std::vector<FlowHop> hops;

  explicit Listed(const Case& c) : links(c.capacities.size()), hops(c.flows.size() << kShift) {
    for (std::uint32_t f = 0; f < c.flows.size(); ++f) {
      for (std::uint32_t h = 0; h < c.flows[f].size(); ++h) {
        const std::uint32_t place = (f << kShift) + h;
        FlowLink& link = links[c.flows[f][h]];
        hops[place] = {c.flows[f][h], link.first, kNoFlowHop, 0};
        if (link.first != kNoFlowHop) hops[link.first].previous = place;
        link = {place, link.flows + 1};
      }
    }
  }
  [[nodiscard]] FlowLists lists() const { return {links.data(), hops.data(), kShift}; }
};

// Part by part, as the region does.
Rates solved(const Case& c) {
  const Listed listed(c);
  FairShares shares(c.capacities);
  Rates rates(c.flows.size());
  shares.begin();
  for (std::uint32_t link = 0; link < c.capacities.size(); ++link) {
    if (listed.links[link].flows == 0 || shares.has_seen(link)) continue;
    shares.gather(listed.lists(), link);
    shares.solve(listed.lists());
    for (const std::uint32_t flow : shares.flows()) rates[flow] = shares.rate_of(flow);
  }
  return rates;
}

// Every flow gets one unit more in turn, until a link has too few left for all that still grow on
// it: its flows stay as they are.
Rates filled_by_units(const Case& c) {
  Rates rates(c.flows.size());
  std::vector<bool> grows(c.flows.size(), true);
  const auto cannot_grow = [&](std::uint32_t link) {
    std::uint64_t used = 0, growing = 0;
    for (std::size_t f = 0; f < c.flows.size(); ++f) {
      if (std::ranges::find(c.flows[f], link) == c.flows[f].end()) continue;
      used += rates[f];
      growing += grows[f];
    }
    return growing != 0 && used + growing > c.capacities[link];
  };
  while (std::ranges::find(grows, true) != grows.end()) {
    for (std::uint32_t link = 0; link < c.capacities.size(); ++link) {
      if (!cannot_grow(link)) continue;
      for (std::size_t f = 0; f < c.flows.size(); ++f) {
        if (std::ranges::find(c.flows[f], link) != c.flows[f].end()) grows[f] = false;
      }
    }
    for (std::size_t f = 0; f < c.flows.size(); ++f) rates[f] += grows[f];
  }
  return rates;
}

Case random_case(std::uint64_t seed) {
  std::uint64_t draws = 0;
  const auto below = [&](std::uint64_t n) { return core::random_bits(seed, draws++) % n; };
  Case c;
  const std::uint64_t links = 1 + below(12), flows = 1 + below(20);
  for (std::uint64_t l = 0; l < links; ++l) c.capacities.push_back(40 + below(400));
  for (std::uint64_t f = 0; f < flows; ++f) {
    Way way(links);
    std::iota(way.begin(), way.end(), 0u);
    for (std::size_t i = way.size(); i > 1; --i) std::swap(way[i - 1], way[below(i)]);
    way.resize(1 + below(std::min<std::uint64_t>(links, 4)));
    c.flows.push_back(way);
  }
  return c;
}

TEST(FairShares, ALoneFlowHasTheNarrowestLinkOfItsWay) {
  EXPECT_EQ(solved({{10, 4, 7}, {{0, 1, 2}}}), (Rates{4}));
}

TEST(FairShares, FlowsOfAnIncastShareTheLastLink) {
  for (const std::uint32_t n : {1u, 2u, 7u, 64u}) {
    Case c{.capacities = {6'400}, .flows = {}};
    for (std::uint32_t f = 0; f < n; ++f) {
      c.capacities.push_back(6'400);
      c.flows.push_back({f + 1, 0});
    }
    EXPECT_EQ(solved(c), Rates(n, 6'400 / n)) << n;
  }
}

// Bertsekas and Gallager: one flow over all links, and one over each.
TEST(FairShares, AParkingLotGivesTheLongFlowTheLeastOfAllHalves) {
  EXPECT_EQ(solved({{100, 100, 60}, {{0, 1, 2}, {0}, {1}, {2}}}), (Rates{30, 70, 70, 30}));
}

TEST(FairShares, WhatABottleneckLeavesOfAnotherLinkGoesToTheOthersThere) {
  // A: 10 units, B: 4; flows on A, on A and B, on B.
  EXPECT_EQ(solved({{10, 4}, {{0}, {0, 1}, {1}}}), (Rates{8, 2, 2}));
}

TEST(FairShares, FlowsThatCollideOnAWayUpLeaveTheirOwnLinksHalfEmpty) {
  // Two leaves, two spines; devices 0 to 3 on leaf 0: flows 0 and 1 hash to spine 0, 2 to spine 1.
  const Case c{.capacities = {8, 8, 8, 8, 8, 8, 8, 8}, .flows = {{0, 6, 3}, {1, 6, 4}, {2, 7, 5}}};
  EXPECT_EQ(solved(c), (Rates{4, 4, 8}));
}

TEST(FairShares, ASecondBottleneckIsSharedByWhomTheFirstLeft) {
  // 12 for three flows; one of them goes on over a link of 3 with another.
  EXPECT_EQ(solved({{12, 3}, {{0}, {0}, {0, 1}, {1}}}), (Rates{5, 5, 1, 1}));
}

TEST(FairShares, PartsThatShareNoLinkDoNotKnowOfEachOther) {
  const Case c{.capacities = {9, 9}, .flows = {{0}, {1}, {1}, {1}}};
  const Listed listed(c);
  FairShares shares(c.capacities);
  shares.begin();
  shares.gather(listed.lists(), 0);
  EXPECT_EQ(shares.flows().size(), 1u);
  EXPECT_TRUE(shares.has_seen(0));
  EXPECT_FALSE(shares.has_seen(1));
  shares.forget();
  EXPECT_FALSE(shares.has_seen(0));
}

TEST(FairShares, EqualFillingByUnitsInRandomCases) {
  for (const std::uint64_t seed : case_seeds(1, 300)) {
    const Case c = random_case(seed);
    EXPECT_EQ(solved(c), filled_by_units(c)) << "seed " << seed;
  }
}

TEST(FairShares, FillNoLinkTooFullAndGiveEachFlowABottleneck) {
  for (const std::uint64_t seed : case_seeds(1'001, 1'300)) {
    const Case c = random_case(seed);
    const Rates rates = solved(c);
    std::vector<std::uint64_t> used(c.capacities.size()), flows(c.capacities.size()),
        most(c.capacities.size());
    for (std::size_t f = 0; f < rates.size(); ++f) {
      for (const std::uint32_t link : c.flows[f]) {
        used[link] += rates[f];
        ++flows[link];
        most[link] = std::max(most[link], rates[f]);
      }
    }
    for (std::size_t l = 0; l < used.size(); ++l) EXPECT_LE(used[l], c.capacities[l]) << seed;
    for (std::size_t f = 0; f < rates.size(); ++f) {
      const bool has_bottleneck = std::ranges::any_of(c.flows[f], [&](std::uint32_t link) {
        return c.capacities[link] - used[link] < flows[link] && most[link] == rates[f];
      });
      EXPECT_TRUE(has_bottleneck) << "seed " << seed << " flow " << f;
    }
  }
}

TEST(FairShares, DoNotDependOnTheOrderOfFlows) {
  for (const std::uint64_t seed : case_seeds(2'001, 2'100)) {
    Case c = random_case(seed);
    const Rates rates = solved(c);
    std::ranges::reverse(c.flows);
    Rates reversed = solved(c);
    std::ranges::reverse(reversed);
    EXPECT_EQ(rates, reversed) << seed;
  }
}

}  // namespace
}  // namespace exawarp::tests
