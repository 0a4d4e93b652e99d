// What packet.fast_forward skips, where it is exact, what cuts a stretch short, and where it is
// refused. Random networks are for tests/property/fast_forward_property_test.cc.
#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "model/network/packet/steady/steady_run.h"
#include "model/topology/torus.h"
#include "pdes/engine.h"
#include "pdes/transport.h"
#include "tests/support/traffic_fixture.h"

namespace exawarp::tests {
namespace {

using core::Time;
using model::ListedFlow;
using model::PacketOptions;
using model::SteadyRun;
using model::TrafficModel;
using model::TrafficOptions;
using model::TrafficPattern;

constexpr std::int64_t kPackets = 10'000;
constexpr std::int64_t kBytes = kPackets * 1'000;

PacketOptions skipping(PacketOptions o = tests::plain_packets()) {
  o.skip_error_per_million = 10'000;
  return o;
}

TrafficOptions listed(std::vector<ListedFlow> flows) {
  return {.pattern = TrafficPattern::flows,
          .flows = std::make_shared<const model::FlowList>(std::move(flows))};
}

tests::TrafficRun run(const model::Topology& topology, const PacketOptions& network,
                      const TrafficOptions& traffic, const RunCase& mode = {}) {
  const TrafficModel model(topology, network, traffic, 0);
  tests::TrafficRun out = tests::run_traffic(model, mode);
  EXPECT_EQ(out.totals.received, model.messages());
  EXPECT_EQ(out.totals.unfinished, 0u);
  return out;
}

// Bytes and packets that each port has sent.
std::vector<std::pair<std::uint64_t, std::uint64_t>> sent_by(const tests::TrafficRun& run) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> out;
  for (const model::PortState& port : run.ports) out.emplace_back(port.bytes, port.packets);
  return out;
}

TEST(FastForward, OfAMessageAloneIsExact) {
  const auto topology = tests::chain(3, 1, 1);
  const TrafficOptions one{.pattern = TrafficPattern::pairs, .message_bytes = kBytes};
  for (PacketOptions o : {tests::plain_packets(), tests::packets_with_credits(),
                          tests::packets_with_pauses()}) {
    o.ecn = {.kmin_bytes = 20'000, .kmax_bytes = 80'000};
    o.transport = "dcqcn";
    const tests::TrafficRun whole = run(*topology, o, one);
    const tests::TrafficRun skipped = run(*topology, skipping(o), one);
    EXPECT_EQ(skipped.flows, whole.flows);
    EXPECT_EQ(sent_by(skipped), sent_by(whole));
    EXPECT_EQ(skipped.totals.packet_hops, 3 * kPackets);
    EXPECT_GT(skipped.totals.skips.skipped_packets, kPackets * 9 / 10);
    EXPECT_LT(skipped.statistics.committed_events(), whole.statistics.committed_events() / 10);
  }
}

TEST(FastForward, OfMessagesThatTakeTurnsIsExact) {
  const auto topology = tests::leaf_spine(8, 2, 2);
  const TrafficOptions three = listed({{0, 2, kBytes, Time{0}},
                                       {0, 4, 2 * kBytes, Time{0}},
                                       {0, 6, 3 * kBytes, Time{0}}});
  const tests::TrafficRun whole = run(*topology, tests::plain_packets(), three);
  const tests::TrafficRun skipped = run(*topology, skipping(), three);
  EXPECT_EQ(skipped.flows, whole.flows);
  EXPECT_EQ(sent_by(skipped), sent_by(whole));
  EXPECT_GT(skipped.totals.skips.skipped_packets, 5 * kPackets);
}

// The second wants the line of the first, whose stretch it ends, and takes turns with it.
TEST(FastForward, IsCutShortByAMessageThatComes) {
  const auto topology = tests::leaf_spine(8, 2, 2);
  const TrafficOptions two =
      listed({{0, 2, kBytes, Time{0}}, {0, 4, kBytes, Time{3'000'000'300}}});
  const tests::TrafficRun whole = run(*topology, tests::plain_packets(), two);
  PacketOptions network = skipping();
  network.routing.seed = 5;  // cuts one line, and draws no stretch to be compared
  const tests::TrafficRun skipped = run(*topology, network, two);
  EXPECT_EQ(skipped.totals.skips.cut_short, 1u);
  EXPECT_EQ(skipped.totals.skips.replays, 0u);
  EXPECT_GE(skipped.totals.skips.stretches, 3u);
  ASSERT_EQ(skipped.flows.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t apart = (skipped.flows[i].finished - whole.flows[i].finished).ps;
    EXPECT_LE(std::abs(apart), 10 * line_time(1'000).ps) << i;
  }
}

// The second wants every line of the first, which is one stretch.
TEST(FastForward, CountsAStretchThatIsCutShortOnce) {
  const auto topology = tests::leaf_spine(8, 2, 2);
  const TrafficOptions two =
      listed({{0, 2, kBytes, Time{0}}, {0, 2, kBytes / 4, Time{3'000'000'300}}});
  PacketOptions network = skipping();
  network.in_order = false;
  const auto totals = run(*topology, network, two).totals.skips;
  EXPECT_EQ(totals.cut_short, 1u);
  EXPECT_GE(totals.stretches, 3u);
}

// What a sender remembers of a message that was skipped goes with the message.
TEST(FastForward, LeavesNothingBehind) {
  const auto topology = tests::chain(1, 1, 1);
  const TrafficModel traffic(*topology, skipping(),
                             {.pattern = TrafficPattern::pairs, .message_bytes = kBytes}, 0);
  const auto transport = pdes::make_single_transport();
  pdes::Engine engine(traffic, blocks_of(traffic.lp_count(), 0)(1, 1), {}, *transport);
  engine.run();
  engine.visit([&](core::LpId lp, const void* state) {
    if (!traffic.packet_network().is_device(lp)) return;
    const auto& endpoint = static_cast<const model::TrafficDevice*>(state)->endpoint();
    const model::EndpointParts<const model::EndpointState> parts(endpoint);
    EXPECT_EQ(parts.runs->of.size(), 0u) << lp.value;
    EXPECT_EQ(endpoint.sending.size() + endpoint.receiving.size(), 0u) << lp.value;
  });
}

// Three senders to one receiver whose line queues more and more: there is nothing to skip until two
// of them have sent all.
TEST(FastForward, LeavesWhatQueuesAlone) {
  const auto topology = tests::chain(1, 3, 1);
  const TrafficOptions incast{
      .pattern = TrafficPattern::incast, .message_bytes = kBytes, .senders = 3};
  const tests::TrafficRun whole = run(*topology, tests::plain_packets(), incast);
  const tests::TrafficRun skipped = run(*topology, skipping(), incast);
  EXPECT_EQ(skipped.flows, whole.flows);
  EXPECT_EQ(skipped.totals.skips.skipped_packets, 0u);
}

// What two messages queued at their receiver gets less while one of them, left alone, has half of
// its sender's line. A stretch that stopped the line meanwhile would keep the queue.
TEST(FastForward, WaitsForQueuesToEmpty) {
  const auto topology = tests::chain(1, 2, 3);
  const TrafficOptions three = listed({{0, 2, kBytes, Time{0}},
                                       {0, 3, kBytes, Time{0}},
                                       {1, 2, kBytes / 2, Time{0}}});
  const tests::TrafficRun whole = run(*topology, tests::plain_packets(), three);
  const tests::TrafficRun skipped = run(*topology, skipping(), three);
  EXPECT_GT(skipped.totals.skips.skipped_packets, kPackets / 2);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t apart = (skipped.flows[i].finished - whole.flows[i].finished).ps;
    EXPECT_LE(std::abs(apart), 10 * line_time(1'000).ps) << i;
  }
}

// Acknowledgements to two senders go by the line of a switch for which packets of messages wait
// that are skipped. Were they kept until it goes on, timers would run out.
TEST(FastForward, LetsAcknowledgementsPassLinesThatStandStill) {
  PacketOptions o = tests::packets_with_pauses();
  o.xoff_bytes = 400'000;
  o.xon_bytes = 300'000;
  o.recovery = model::Recovery::go_back_n;
  o.retransmit_timeout = Time{900'000'000};
  const auto topology = tests::chain(2, 3, 4);
  const TrafficOptions six = listed({{0, 3, kBytes, Time{0}},
                                     {1, 3, kBytes, Time{0}},
                                     {5, 2, 2 * kBytes, Time{0}},
                                     {5, 6, 2 * kBytes, Time{0}},
                                     {6, 2, 2 * kBytes, Time{0}},
                                     {6, 5, 2 * kBytes, Time{0}}});
  const tests::TrafficRun whole = run(*topology, o, six);
  const tests::TrafficRun skipped = run(*topology, skipping(o), six);
  EXPECT_GT(skipped.totals.skips.skipped_packets, 6 * kPackets);
  EXPECT_EQ(whole.totals.repeated, 0u);
  EXPECT_EQ(skipped.totals.repeated, 0u);
}

// Windows that share a line settle, though they swing a little.
TEST(FastForward, OfWindowsIsNearlyExactAndSaysHowNearly) {
  const auto topology = tests::chain(2, 2, 2);
  PacketOptions o = tests::packets_with_pauses();
  o.xoff_bytes = 400'000;
  o.xon_bytes = 300'000;
  o.transport = "window";
  const TrafficOptions pairs{.pattern = TrafficPattern::pairs,
                             .message_bytes = 30 * kBytes,
                             .senders = 2};
  const tests::TrafficRun whole = run(*topology, o, pairs);
  o.skip_error_per_million = 50'000;
  const tests::TrafficRun skipped = run(*topology, o, pairs);
  EXPECT_GT(skipped.totals.skips.skipped_packets, 30 * kPackets);
  for (std::size_t i = 0; i < 2; ++i) {
    const double ratio = static_cast<double>(skipped.flows[i].finished.ps) /
                         static_cast<double>(whole.flows[i].finished.ps);
    EXPECT_NEAR(ratio, 1, 0.05) << i;
  }
  EXPECT_LE(std::abs(skipped.totals.skips.error()), skipped.totals.skips.mean_error() + 1e-9);
  EXPECT_LT(skipped.totals.skips.mean_error(), 0.1);
}

TEST(FastForward, HasNothingToDoWhereThereAreTrains) {
  const auto topology = tests::chain(3, 1, 1);
  PacketOptions o = skipping();
  o.trains = true;
  EXPECT_FALSE(model::PacketNetwork(*topology, o, 0).skips());
}

TEST(FastForward, IsRefusedWhereAWayOrALineMayChange) {
  const auto clos = tests::leaf_spine(8, 2, 2);
  const auto refuses = [](const model::Topology& topology, const PacketOptions& o) {
    try {
      const model::PacketNetwork network(topology, o, 0);
    } catch (const core::InputError& e) {
      return std::string(e.what()).find("fast_forward") != std::string::npos;
    }
    return false;
  };
  EXPECT_FALSE(refuses(*clos, skipping()));
  PacketOptions o = skipping();
  o.routing.policy = "spray";
  EXPECT_TRUE(refuses(*clos, o));
  o = skipping();
  o.latency_jitter.mean = Time{1'000};
  EXPECT_TRUE(refuses(*clos, o));
  const model::Torus torus({.dims = {4, 4},
                            .wraps = true,
                            .link = tests::round_link(),
                            .latencies = {tests::kSwitch, Time{0}}});
  o = skipping();
  o.routing.policy = "deterministic";
  EXPECT_TRUE(refuses(torus, o));
}

// Takes so many packets, each `apart` from the one before. Returns how many windows went on.
int take(SteadyRun& run, std::uint32_t& number, Time& at, int packets, std::int64_t apart) {
  int went_on = 0;
  for (int i = 0; i < packets; ++i) {
    went_on += run.take(number++, at, 10'000) ? 1 : 0;
    at += Time{apart};
  }
  return went_on;
}

TEST(SteadyRun, GoesOnWhilePacketsLeaveEvenly) {
  SteadyRun run{.window_packets = SteadyRun::kWindowLeast};
  std::uint32_t number = 0;
  Time at{500};
  EXPECT_EQ(take(run, number, at, 1 + 16 * 10, 1'000), 9);
  EXPECT_EQ(run.run_packets, 160u);
  EXPECT_EQ(run.drift_per_million(false), 0);
  EXPECT_EQ(run.drift_per_million(true), model::kUnknownDrift);  // no notification yet
  run.notified = SteadyRun::kNotifiedLeast;
  EXPECT_EQ(run.drift_per_million(true), 0);
  // 2 % slower: begins anew.
  take(run, number, at, 16, 1'020);
  EXPECT_LE(run.run_packets, 32u);
}

TEST(SteadyRun, TakesLongerWindowsUntilSwingsEvenOut) {
  SteadyRun run{.window_packets = SteadyRun::kWindowLeast};
  std::uint32_t number = 0;
  Time at{0};
  int went_on = 0;
  for (int swing = 0; swing < 200; ++swing) {
    went_on += take(run, number, at, 40, 900);
    went_on += take(run, number, at, 40, 1'100);
  }
  EXPECT_GT(run.window_packets, 200u);
  EXPECT_GT(went_on, 4);
}

TEST(SteadyRun, SaysByHowMuchItsRateDrifts) {
  SteadyRun run{.window_packets = SteadyRun::kWindowLeast};
  std::uint32_t number = 0;
  Time at{0};
  for (int i = 0; i < 12; ++i) take(run, number, at, 16, 100'000 - 50 * i);
  EXPECT_GT(run.drift_per_million(false), 1'000);
  EXPECT_LT(run.drift_per_million(false), 6'000);
}

}  // namespace
}  // namespace exawarp::tests
