// Trains: how few events they are, what cuts them, and where there are none. That they change no
// result is for tests/property/trains_property_test.cc.
#include <gtest/gtest.h>

#include "model/topology/torus.h"
#include "tests/support/traffic_fixture.h"

namespace exawarp::tests {
namespace {

using core::Time;
using model::PacketOptions;
using model::TrafficModel;
using model::TrafficOptions;
using model::TrafficPattern;

constexpr std::int64_t kPackets = 1'000;

PacketOptions with_trains(bool cut_through = true) {
  PacketOptions o = tests::plain_packets();
  o.cut_through = cut_through;
  o.trains = true;
  return o;
}

TEST(PacketTrains, AMessageAloneIsTwoEventsAHopAndOneWake) {
  for (const std::uint32_t switches : {1u, 4u}) {
    const auto topology = tests::chain(switches, 1, 1);
    const TrafficModel traffic(
        *topology, with_trains(),
        {.pattern = TrafficPattern::pairs, .message_bytes = kPackets * 1'000}, 0);
    const tests::TrafficRun run = tests::run_traffic(traffic);
    EXPECT_EQ(run.flows[0].took,
              (switches + 1) * kHop + switches * kSwitch + line_time(kPackets * 1'000));
    EXPECT_EQ(run.totals.packet_hops, switches * kPackets);
    // A switch: the train, the last packet. The receiver: header and last packet. The sender: 9
    // packets at once, then a wake for the last ones.
    EXPECT_EQ(run.statistics.committed_events(), 2 * switches + 2 + 1);
  }
}

// Five messages of a device and of one length begin at once and take turns.
TEST(PacketTrains, OfOneLineTakeFewEventsUntilTheyEnd) {
  const auto topology = tests::chain(4, 1, 1);
  const TrafficOptions all_at_once{.pattern = TrafficPattern::pairs,
                                   .message_bytes = kPackets * 1'000,
                                   .messages = 5,
                                   .concurrent = 5};
  const TrafficModel traffic(*topology, with_trains(), all_at_once, 0);
  const tests::TrafficRun run = tests::run_traffic(traffic);
  PacketOptions single = with_trains();
  single.trains = false;
  const tests::TrafficRun expected =
      tests::run_traffic(TrafficModel(*topology, single, all_at_once, 0));
  EXPECT_EQ(run.flows, expected.flows);
  EXPECT_EQ(run.totals.packet_hops, 5 * 4 * kPackets);
  EXPECT_LT(run.statistics.committed_events(), 300);
  EXPECT_GT(expected.statistics.committed_events(), 5 * 4 * kPackets);
}

// Two messages share the line behind the first switch: behind the queue that they build, ever more
// packets are decided at once.
TEST(PacketTrains, ThatMeetNeedFewEventsWhereTheyQueue) {
  const auto topology = tests::chain(2, 2, 2);
  const TrafficModel traffic(
      *topology, with_trains(false),
      {.pattern = TrafficPattern::pairs, .message_bytes = kPackets * 1'000, .senders = 2}, 0);
  PacketOptions single = with_trains(false);
  single.trains = false;
  const TrafficModel packets(*topology, single, traffic.plan().options(), 0);
  const tests::TrafficRun run = tests::run_traffic(traffic), expected = tests::run_traffic(packets);
  EXPECT_EQ(run.flows, expected.flows);
  EXPECT_EQ(run.totals.deepest_queue, expected.totals.deepest_queue);
  EXPECT_LT(run.statistics.committed_events(), 200);
  EXPECT_GT(expected.statistics.committed_events(), 6 * kPackets);
}

TEST(PacketTrains, AreLeftToNetworksWhereTheyAreExact) {
  const auto clos = tests::leaf_spine(8, 4, 2);
  const auto has_trains = [&](PacketOptions o) {
    return model::PacketNetwork(*clos, o, 0).trains();
  };
  EXPECT_TRUE(has_trains(with_trains()));
  EXPECT_FALSE(has_trains(tests::plain_packets()));
  for (const char* routing : {"spray", "adaptive", "valiant", "ugal"}) {
    PacketOptions o = with_trains();
    o.routing.policy = routing;
    EXPECT_FALSE(has_trains(o)) << routing;
  }
  for (PacketOptions o : {tests::packets_with_credits(), tests::packets_with_pauses()}) {
    o.trains = true;
    EXPECT_FALSE(has_trains(o));
  }
  PacketOptions drops = with_trains();
  drops.buffer_bytes = 20'000;
  drops.recovery = model::Recovery::go_back_n;
  EXPECT_FALSE(has_trains(drops));
  PacketOptions marks = with_trains();
  marks.ecn = {.kmin_bytes = 3'000, .kmax_bytes = 9'000};
  EXPECT_FALSE(has_trains(marks));
  PacketOptions window = with_trains();
  window.transport = "window";
  EXPECT_FALSE(has_trains(window));
  PacketOptions late = with_trains();
  late.latency_jitter.mean = Time{40'000};
  EXPECT_FALSE(has_trains(late));
  PacketOptions slow = with_trains();
  slow.link_faults = {{.factor_ppm = 2'000'000, .place = "test"}};
  slow.link_faults[0].drawn_links = model::FaultDraw{0.5, "", 7};
  EXPECT_FALSE(has_trains(slow));
}

TEST(PacketTrains, AreLeftOutWhereDevicesForwardOrLinksAreParallel) {
  model::TorusSpec torus{.dims = {4, 4},
                         .wraps = true,
                         .link = tests::round_link(),
                         .latencies = {tests::kSwitch, Time{0}}};
  EXPECT_FALSE(model::PacketNetwork(model::Torus(torus), with_trains(), 0).trains());
  model::ClosSpec bundles{.devices_per_leaf = 4, .spines_per_pod = 2};
  bundles.host = bundles.leaf_spine = bundles.spine_core = tests::round_link();
  bundles.latencies = {.forwarding = tests::kSwitch, .endpoint = Time{0}};
  bundles.leaf_bundle = 2;
  EXPECT_FALSE(model::PacketNetwork(model::Clos(bundles, 8), with_trains(), 0).trains());
  bundles.leaf_bundle = 1;
  bundles.latencies.forwarding = Time{0};
  EXPECT_FALSE(model::PacketNetwork(model::Clos(bundles, 8), with_trains(), 0).trains());
}

}  // namespace
}  // namespace exawarp::tests
