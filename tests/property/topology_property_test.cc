// What holds for every topology, checked by looking only at its links.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "model/topology/cut.h"
#include "tests/support/topologies.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::DeviceId;
using core::Time;

class TopologyProperty : public testing::TestWithParam<TopologyCase> {
 protected:
  void SetUp() override { topology_ = GetParam().make(); }
  [[nodiscard]] const Topology& t() const { return *topology_; }
  [[nodiscard]] std::uint32_t vertices() const { return t().devices() + t().switches(); }

 private:
  std::unique_ptr<Topology> topology_;
};

// Minimal ports as a list.
std::vector<std::uint32_t> listed(const PortChoices& choices) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < choices.size(); ++i) out.push_back(choices[i]);
  return out;
}

TEST_P(TopologyProperty, EachLinkLeadsBackToItsPort) {
  std::uint64_t ends = 0;
  for (std::uint32_t v = 0; v < vertices(); ++v) {
    for (std::uint32_t p = 0; p < t().ports({v}); ++p, ++ends) {
      const Link link = t().link({v}, p);
      ASSERT_LT(link.peer.value, vertices()) << v << ":" << p;
      ASSERT_NE(link.peer.value, v) << "port " << p;
      ASSERT_LT(link.peer_port, t().ports(link.peer)) << v << ":" << p;
      ASSERT_LT(link.kind, t().link_kinds().size());
      const Link back = t().link(link.peer, link.peer_port);
      EXPECT_EQ(back.peer.value, v) << "port " << p;
      EXPECT_EQ(back.peer_port, p) << v;
      EXPECT_EQ(back.kind, link.kind);
    }
  }
  EXPECT_EQ(t().counts().links, ends / 2);
  EXPECT_EQ(t().counts().switches, t().switches());
}

// From every vertex that some route to `to` passes: each minimal port is one step nearer, and the
// set is that of all shortest paths.
TEST_P(TopologyProperty, MinimalPortsAreThoseOfTheShortestPaths) {
  for (std::uint32_t to = 0; to < t().devices(); ++to) {
    const std::vector<std::uint64_t> length = tests::lengths_to(t(), {to}, GetParam());
    std::vector<bool> seen(vertices(), false);
    std::vector<VertexId> stack;
    for (std::uint32_t d = 0; d < t().devices(); ++d) stack.push_back({d});
    while (!stack.empty()) {
      const VertexId at = stack.back();
      stack.pop_back();
      if (seen[at.value]) continue;
      seen[at.value] = true;
      const std::vector<std::uint32_t> ports = listed(t().minimal(at, {to}));
      EXPECT_EQ(ports.empty(), at.value == to);
      EXPECT_TRUE(std::ranges::is_sorted(ports, std::less_equal{}));
      for (const std::uint32_t p : ports) stack.push_back(t().link(at, p).peer);
      if (!GetParam().finds_all_shortest) continue;
      std::vector<std::uint32_t> expected;
      for (std::uint32_t p = 0; p < t().ports(at); ++p) {
        const Link link = t().link(at, p);
        const bool passes = GetParam().devices_forward || !t().is_device(link.peer) ||
                            link.peer.value == to;
        const auto& weights = GetParam().weight_of_kind;
        const std::uint64_t weight = weights.empty() ? 1 : weights[link.kind];
        if (passes && length[link.peer.value] + weight == length[at.value]) expected.push_back(p);
      }
      ASSERT_EQ(ports, expected) << at.value << " to " << to;
    }
  }
}

// Every choice of minimal ports arrives after the same number of links, so each is strictly nearer.
TEST_P(TopologyProperty, EveryMinimalRouteArrivesWithTheDistancesFigures) {
  std::uint32_t longest = 0;
  for (std::uint32_t to = 0; to < t().devices(); ++to) {
    std::map<std::uint32_t, std::uint32_t> links_left{{to, 0}};
    const std::function<std::uint32_t(VertexId)> left = [&](VertexId at) -> std::uint32_t {
      if (const auto known = links_left.find(at.value); known != links_left.end()) {
        return known->second;
      }
      std::set<std::uint32_t> further;
      for (const std::uint32_t p : listed(t().onward(at, {to}))) {
        further.insert(left(t().link(at, p).peer));
      }
      EXPECT_EQ(further.size(), 1u) << at.value << " to " << to;
      return links_left[at.value] = further.empty() ? 0 : *further.begin() + 1;
    };
    for (std::uint32_t from = 0; from < t().devices(); ++from) {
      if (from == to) continue;
      const Distance& distance = t().distances()[t().message_route({from}, {to}).distance];
      for (const std::uint32_t p : listed(t().minimal({from}, {to}))) {
        const VertexId next = t().link({from}, p).peer;
        EXPECT_EQ(left(next) + 1, distance.links) << from << " to " << to;
      }
      longest = std::max(longest, distance.links);
    }
  }
  EXPECT_EQ(t().counts().diameter_links, longest);
}

TEST_P(TopologyProperty, AMessagesFiguresAreTheSumsOfItsPath) {
  for (std::uint32_t a = 0; a < t().devices(); ++a) {
    for (std::uint32_t b = 0; b < t().devices(); ++b) {
      if (a == b) continue;
      const MessageRoute route = t().message_route({a}, {b});
      ASSERT_LT(route.distance, t().distances().size());
      const Distance& d = t().distances()[route.distance];
      Time latency;
      std::uint32_t links = 0;
      std::int64_t slowest = std::numeric_limits<std::int64_t>::max();
      const std::vector<std::uint32_t> first = listed(t().minimal({a}, {b}));
      EXPECT_TRUE(std::ranges::count(first, route.tx_port)) << a << " to " << b;
      std::uint32_t port = route.tx_port;
      for (VertexId at{a}; at.value != b; port = listed(t().onward(at, {b})).front()) {
        if (at.value != a) latency += t().forwarding_latency(at);
        const Link link = t().link(at, port);
        latency += t().link_kinds()[link.kind].latency;
        slowest = std::min(slowest, t().link_kinds()[link.kind].bandwidth_bytes_per_s);
        ++links;
        at = link.peer;
        if (at.value == b) break;
      }
      EXPECT_EQ(d.links, links);
      EXPECT_EQ(d.switches, links - 1);
      EXPECT_EQ(d.latency, latency) << a << " to " << b;
      EXPECT_EQ(d.bandwidth_bytes_per_s, slowest);
      const VertexId last = t().link({b}, route.rx_port).peer;
      if (t().is_device(last)) continue;  // a neighbour, whose port to `b` is a minimal one
      EXPECT_TRUE(std::ranges::any_of(listed(t().onward(last, {b})), [&](std::uint32_t p) {
        return t().link(last, p).peer.value == b;
      })) << a << " to " << b;
    }
  }
}

TEST_P(TopologyProperty, LeastLatencyIsThatOfTheNearestPairOfAtoms) {
  for (const std::uint32_t shift : {0u, 1u, 2u, 3u}) {
    Time least = Time::max(), of_all = Time::max();
    for (std::uint32_t a = 0; a < t().devices(); ++a) {
      for (std::uint32_t b = 0; b < t().devices(); ++b) {
        if (a == b) continue;
        const Time latency = t().distances()[t().message_route({a}, {b}).distance].latency;
        of_all = std::min(of_all, latency);
        if (a >> shift != b >> shift) least = std::min(least, latency);
      }
    }
    if (least == Time::max()) least = of_all;
    EXPECT_GE(t().least_latency(shift), Time{1});
    if (t().devices() == 1) continue;
    const bool may_be_below = GetParam().name.starts_with("product") ||
                              GetParam().name == "nodes_pxn_with_spine";
    if (may_be_below && shift != 0) {
      EXPECT_LE(t().least_latency(shift), least) << shift;
    } else {
      EXPECT_EQ(t().least_latency(shift), least) << shift;
    }
  }
}

TEST_P(TopologyProperty, BisectionIsTheCapacityOfTheStatedCut) {
  const TopologyCase& c = GetParam();
  if (!c.first_half) return;
  const auto half = [&](DeviceId d) { return c.first_half(d.value); };
  const WideRate least = least_cut(t(), half);
  const WideRate stated = t().counts().bisection_bytes_per_s;
  if (c.cut_is_least) {
    EXPECT_EQ(stated, least);
    return;
  }
  // Switches belong with their devices: with the first one that a minimal route reaches.
  std::vector<bool> first(vertices());
  for (std::uint32_t v = 0; v < vertices(); ++v) {
    first[v] = t().is_device({v}) ? c.first_half(v) : c.first_half(t().link({v}, 0).peer.value);
  }
  WideRate counted = 0;
  for (std::uint32_t v = 0; v < vertices(); ++v) {
    for (std::uint32_t p = 0; first[v] && p < t().ports({v}); ++p) {
      const Link link = t().link({v}, p);
      if (!first[link.peer.value]) counted += t().link_kinds()[link.kind].bandwidth_bytes_per_s;
    }
  }
  const bool one_switch = t().switches() == 1;
  EXPECT_EQ(stated, one_switch ? least : counted);
}

// ---- deadlock freedom

// Channels (vertex, port, virtual channel) and which a packet in one may wait for.
class ChannelGraph {
 public:
  explicit ChannelGraph(const Topology& topology) : t_(topology) {}

  // All routes of one leg from states (vertex, port it came in by, channel); returns where it ends.
  struct State {
    VertexId at;
    std::uint32_t in_port, vc;
    std::uint64_t held;  // the channel that the packet is in; kNone: it starts here
    friend auto operator<=>(const State&, const State&) = default;
  };
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  std::set<State> follow(std::set<State> states, VertexId to) {
    std::set<State> ended, seen;
    while (!states.empty()) {
      const State s = *states.begin();
      states.erase(states.begin());
      if (!seen.insert(s).second) continue;
      if (s.at == to) {
        ended.insert(s);
        continue;
      }
      const bool begins = s.held == kNone;
      std::vector<std::uint32_t> ports =
          listed(begins ? t_.minimal(s.at, to) : t_.onward(s.at, to));
      if (!t_.every_port_is_safe()) ports.resize(1);
      for (const std::uint32_t port : ports) states.insert(step(s, port));
    }
    return ended;
  }

  [[nodiscard]] const tests::Waits& waits() const { return waits_; }

 private:
  State step(const State& s, std::uint32_t port) {
    const std::uint32_t vc = t_.next_channel(s.at, s.in_port, port, s.vc);
    EXPECT_LT(vc, t_.virtual_channels());
    const std::uint64_t channel =
        (std::uint64_t{s.at.value} << 32 | port << 8 | vc);
    if (s.held != kNone) waits_[s.held].insert(channel);
    const Link link = t_.link(s.at, port);
    return {link.peer, link.peer_port, vc, channel};
  }

  const Topology& t_;
  tests::Waits waits_;
};

TEST_P(TopologyProperty, ChannelsWaitForEachOtherWithoutACycle) {
  ChannelGraph channels(t());
  for (std::uint32_t a = 0; a < t().devices(); ++a) {
    for (std::uint32_t b = 0; b < t().devices(); ++b) {
      if (a == b) continue;
      const ChannelGraph::State start{{a}, t().ports({a}), 0, ChannelGraph::kNone};
      channels.follow({start}, {b});
      const std::uint32_t count = t().waypoints({a}, {b});
      for (std::uint32_t w = 0; w < count; ++w) {
        const VertexId waypoint = t().waypoint({a}, {b}, w);
        EXPECT_NE(waypoint.value, b);
        EXPECT_NE(waypoint.value, a);
        channels.follow(channels.follow({start}, waypoint), {b});
      }
    }
  }
  EXPECT_FALSE(tests::has_cycle(channels.waits()));
}

INSTANTIATE_TEST_SUITE_P(All, TopologyProperty, testing::ValuesIn(tests::topology_cases()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace exawarp::tests
