// Ways over whatever links are left, on every family: all that can be reached is, each port leads
// one link nearer, and packets that go up, then down never wait for each other in a circle, not
// even those that set out before and behind a failure.
#include <gtest/gtest.h>

#include <tuple>

#include "core/random.h"
#include "model/network/faults/escape_routes.h"
#include "tests/support/topologies.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::Time;

class EscapeRoutesProperty : public testing::TestWithParam<TopologyCase> {};

constexpr Time kBefore{0}, kDuring{15}, kLater{30};

// One link in eight fails: for ever, for a while, or for ever later.
std::vector<LinkFaultSpec> failures_of(const Topology& t, std::uint64_t seed) {
  std::vector<LinkFaultSpec> out;
  for (std::uint32_t v = 0; v < t.devices() + t.switches(); ++v) {
    for (std::uint32_t p = 0; p < t.ports({v}); ++p) {
      const std::uint64_t draw = core::random_bits(core::stream_of(seed, v), p);
      if (draw % 16 != 0) continue;
      const bool is_device = t.is_device({v});
      LinkFaultSpec down{.place = "test"};
      down.links = {{.at = {is_device, is_device ? v : v - t.devices()}, .port = p}};
      if (draw >> 8 & 1) down.from = Time{10};
      if (draw >> 9 & 1) down.until = Time{20};
      out.push_back(down);
    }
  }
  return out;
}

// Follows all ways to `to` from everywhere, and notes which channel a packet waits in for which.
void follow(const Topology& t, const EscapeRoutes& ways, VertexId to, Time now,
            tests::Waits& waits) {
  using State = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;  // at, in port, channel
  constexpr std::uint64_t kStarts = ~std::uint64_t{0};
  std::set<State> todo, seen;
  for (std::uint32_t v = 0; v < t.devices() + t.switches(); ++v) todo.insert({v, 0, kStarts});
  while (!todo.empty()) {
    const State state = *todo.begin();
    todo.erase(todo.begin());
    if (!seen.insert(state).second) continue;
    const auto [v, in_port, held] = state;
    const bool only_down = held != kStarts && ways.came_down({v}, in_port);
    const PortChoices choices = ways.ports({v}, only_down, to, now);
    const bool lost = choices.empty() && v != to.value;
    ASSERT_FALSE(lost && (held != kStarts || ways.exists({v}, to, now))) << v << " to " << to.value;
    for (std::uint32_t i = 0; i < choices.size(); ++i) {
      const Link link = t.link({v}, choices[i]);
      const std::uint64_t channel = std::uint64_t{v} << 32 | choices[i];
      if (held != kStarts) waits[held].insert(channel);
      todo.insert({link.peer.value, link.peer_port, channel});
    }
  }
}

TEST_P(EscapeRoutesProperty, ReachAllThatCanBeReachedAndNeverWaitInACircle) {
  const auto t = GetParam().make();
  const std::uint32_t step = t->devices() / 16 + 1;  // of large ones, some destinations
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<LinkFaultSpec> failures = failures_of(*t, seed);
    if (failures.empty()) continue;  // nothing is put in order then
    const LinkFaults faults(*t, failures);
    const bool joined = tests::devices_are_connected(*t, faults);
    const EscapeRoutes any(*t, faults, EscapeRoutes::Kind::any);
    const EscapeRoutes ordered(*t, faults, EscapeRoutes::Kind::up_then_down);
    tests::Waits waits;
    for (std::uint32_t to = 0; to < t->devices(); to += step) {
      for (const Time now : {kBefore, kDuring, kLater, Time::max()}) {
        follow(*t, ordered, {to}, now, waits);
        tests::Waits unused;
        follow(*t, any, {to}, now, unused);
        for (std::uint32_t from = 0; from < t->devices(); ++from) {
          const bool way = ordered.exists({from}, {to}, now);
          EXPECT_TRUE(way || !joined) << from << " to " << to;
          EXPECT_LE(way, any.exists({from}, {to}, now)) << from << " to " << to;
        }
      }
    }
    EXPECT_FALSE(tests::has_cycle(waits));
  }
}

INSTANTIATE_TEST_SUITE_P(All, EscapeRoutesProperty, testing::ValuesIn(tests::topology_cases()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace exawarp::tests
