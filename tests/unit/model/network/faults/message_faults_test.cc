// Slow and failed links at message fidelity, against closed forms.
#include "model/network/faults/message_faults.h"

#include <gtest/gtest.h>

#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::Time;
using schema::CollectiveType;

constexpr Time kLatency{1'000'000};  // of a link
constexpr std::int64_t kPsPerByte = 1'000;
const LinkKind kGigabyteLink{"link", 1'000'000'000, kLatency};

Fabric fabric_of(FamilySpec family) {
  family.place = "test";
  return {.networks = {std::move(family)}, .place = "test"};
}
Fabric one_switch() {
  return fabric_of({.shape = SingleSwitchSpec{1, kGigabyteLink, {Time{0}, Time{0}}}, .place = {}});
}
Fabric torus_of(std::vector<std::uint32_t> dims) {
  return fabric_of(
      {.shape = TorusSpec{std::move(dims), true, kGigabyteLink, {Time{50'000}, Time{0}}},
       .place = {}});
}

LinkFaultSpec on_link(VertexName a, VertexName b, std::int64_t factor_ppm = 0) {
  return {.links = {{.at = a, .to = b}}, .factor_ppm = factor_ppm, .place = "test"};
}

struct RingRun {
  Time time;
  std::uint64_t unfinished;
};
RingRun all_reduce(const Fabric& fabric, std::uint32_t devices, std::uint64_t bytes,
                   const ClusterOptions& options) {
  const WorkloadGraph graph = tests::collectives(CollectiveType::ALL_REDUCE, devices, bytes);
  const Cluster cluster(graph, tests::round_accelerator(), fabric, options);
  const tests::ClusterRun run = tests::run_cluster(cluster);
  return {run.outcome.simulated_time(), run.outcome.unfinished()};
}

TEST(MessageFaults, ASlowLinkSlowsARingByItsTwoHopsTwice) {
  // 2 (n - 1) steps of T = 2 latencies + wire. The longest chain of them passes the slow device's
  // link four times: into it and out of it, on each of nearly two rounds.
  constexpr std::uint32_t n = 8;
  constexpr std::int64_t chunk = 1'000;
  const Time wire{chunk * kPsPerByte}, step = 2 * kLatency + wire;
  const RingRun usual = all_reduce(one_switch(), n, n * chunk, {});
  EXPECT_EQ(usual.time, 2 * (n - 1) * step);
  ClusterOptions options;
  options.link_faults = {on_link({true, 3}, {false, 0}, 2'500'000)};
  const RingRun slow = all_reduce(one_switch(), n, n * chunk, options);
  EXPECT_EQ(slow.time, usual.time + 4 * Time{wire.ps * 3 / 2});
}

TEST(MessageFaults, ALinkThatIsVerySlowSetsThePaceOfARing) {
  // Beyond T the slow interface is never idle: each of 2 (n - 1) chunks takes factor * wire there,
  // once in and once out.
  constexpr std::uint32_t n = 8;
  constexpr std::int64_t chunk = 10'000, factor = 20;
  ClusterOptions options;
  options.link_faults = {on_link({true, 3}, {false, 0}, factor * 1'000'000)};
  const Time pace{chunk * kPsPerByte * factor};
  const RingRun slow = all_reduce(one_switch(), n, n * chunk, options);
  EXPECT_GE(slow.time, 2 * (n - 1) * pace);
  EXPECT_LE(slow.time.ps, (2 * (n - 1) + 3) * pace.ps);
}

TEST(MessageFaults, AFailedLinkOfATorusCostsTwoLinksMoreEachTimeItIsWanted) {
  // The ring's hop 0 -> 1 becomes 0 -> 4 -> 5 -> 1, and 30 of the 32 hops of two rounds pass it
  // twice: two links and two devices more, each time. The longest chain leaves out two hops of one
  // link either way.
  const RingRun usual = all_reduce(torus_of({4, 4}), 16, 16'000, {});
  ClusterOptions options;
  options.link_faults = {on_link({true, 0}, {true, 1})};
  const RingRun around = all_reduce(torus_of({4, 4}), 16, 16'000, options);
  EXPECT_EQ(around.unfinished, 0u);
  EXPECT_EQ(around.time, usual.time + 2 * (2 * kLatency + 2 * Time{50'000}));
}

TEST(MessageFaults, AWayAroundThroughANodeIsAsSlowAsItsSlowestLink) {
  // 0 -> NVSwitch -> 1 -> 5 -> 4: a link into the node that carries a third of its ten times is
  // faster than the torus's, and nobody notices.
  Fabric fabric = torus_of({4, 2});
  fabric.nodes =
      NodesSpec{.devices = 4, .bandwidth_bytes_per_s = 10'000'000'000, .latency = kLatency};
  const Time wire{1'000'000'000};
  const auto wire_with = [&](const std::vector<LinkFaultSpec>& slow) {
    std::vector<LinkFaultSpec> all{on_link({true, 0}, {true, 4})};
    all.insert(all.end(), slow.begin(), slow.end());
    const MessageFaults faults(make_topology(fabric, 8), all, {}, 1);
    const auto travel = faults.travel({0}, {4}, {.ready = {}, .wire = wire, .latency = {}});
    return travel ? travel->wire : Time::max();
  };
  EXPECT_EQ(wire_with({}), wire);
  EXPECT_EQ(wire_with({on_link({true, 0}, {false, 0}, 3'000'000)}), wire);
  EXPECT_EQ(wire_with({on_link({true, 0}, {false, 0}, 20'000'000)}), 2 * wire);
  EXPECT_EQ(wire_with({on_link({true, 1}, {true, 5}, 3'000'000)}), 3 * wire);
}

TEST(MessageFaults, AFailureThatEndsHoldsTheRingUntilThen) {
  ClusterOptions options;
  options.link_faults = {on_link({true, 3}, {false, 0})};
  options.link_faults[0].until = Time{1'000'000'000};
  const RingRun held = all_reduce(one_switch(), 8, 8'000, options);
  EXPECT_EQ(held.unfinished, 0u);
  EXPECT_GT(held.time, Time{1'000'000'000});
  EXPECT_LT(held.time, Time{1'000'000'000} + 2 * 7 * (2 * kLatency + Time{1'000'000}) + Time{1});
}

TEST(MessageFaults, AFailureForEverIsADeadlockNotAHang) {
  ClusterOptions options;
  options.link_faults = {on_link({true, 3}, {false, 0})};
  options.link_faults[0].from = Time{5'000'000};
  const RingRun cut = all_reduce(one_switch(), 8, 8'000, options);
  EXPECT_EQ(cut.unfinished, 8u);
}

TEST(MessageFaults, WhatHappensLaterChangesNothingBefore) {
  ClusterOptions options;
  const RingRun usual = all_reduce(torus_of({4, 4}), 16, 16'000, {});
  options.link_faults = {on_link({true, 0}, {true, 1})};
  options.link_faults[0].from = usual.time;
  EXPECT_EQ(all_reduce(torus_of({4, 4}), 16, 16'000, options).time, usual.time);
}

}  // namespace
}  // namespace exawarp::tests
