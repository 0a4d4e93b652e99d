// TIMELY: steps by hand, an incast, and one digest in every mode.
#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/support/congestion_steps.h"
#include "tests/support/traffic_fixture.h"

namespace exawarp::tests {
namespace {

using core::Time;

constexpr std::int64_t kLine = CongestionSteps::kLine;
constexpr std::int64_t kIncrease = 1'250'000;
constexpr Time us(std::int64_t n) { return Time{n * 1'000'000}; }

// A message that hears answers a least round trip apart.
struct Message : CongestionSteps {
  Message() : CongestionSteps("timely") {}
  // That took so many microseconds.
  void hears(std::initializer_list<std::int64_t> round_trips) {
    for (const std::int64_t n : round_trips) acknowledged(now += us(20), 16, us(n));
  }
  [[nodiscard]] std::int64_t rate() const { return field("rate"); }
  Time now{};
};

TEST(Timely, AboveTheHighDelayTheRateFallsByItsExcess) {
  Message m;
  m.hears({1'000});
  EXPECT_EQ(m.rate(), kLine / 10 * 6);  // beta (1 - 500 / 1000) = 0.4 less
}

TEST(Timely, ADecreaseIsBounded) {
  Message m;
  m.hears({10'000});  // 0.8 (1 - 500 / 10000) = 0.76 less
  EXPECT_EQ(m.rate(), kLine / 2);
  for (int i = 0; i < 40; ++i) m.hears({10'000});
  EXPECT_EQ(m.rate(), 1'250'000);
}

TEST(Timely, BelowTheLowDelayTheRateGrowsWhateverTheGradient) {
  Message m;
  m.hears({1'000, 20, 30, 40, 10, 20, 30, 40});
  EXPECT_EQ(m.rate(), kLine / 10 * 6 + 7 * kIncrease);
}

TEST(Timely, ARisingRoundTripLowersTheRateByItsGradient) {
  Message m;
  m.hears({100, 104});
  EXPECT_EQ(m.field("difference"), 3'500'000);  // 0.875 of 4 us
  EXPECT_EQ(m.rate(), 43'000'000'000);          // 0.8 x 3.5 / 20 = 0.14 less
  m.hears({104});                               // the mean still rises, by 0.4375 us
  EXPECT_EQ(m.rate(), 42'247'500'000);          // 0.8 x 0.4375 / 20 = 0.0175 less
}

TEST(Timely, AFallingRoundTripRaisesTheRateFiveTimesFasterFromTheFifthAnswerOn) {
  Message m;
  m.hears({1'000, 400, 390, 380, 370});
  EXPECT_EQ(m.rate(), kLine / 10 * 6 + 4 * kIncrease);
  m.hears({360});
  EXPECT_EQ(m.rate(), kLine / 10 * 6 + 9 * kIncrease);
  m.hears({350});
  EXPECT_EQ(m.rate(), kLine / 10 * 6 + 14 * kIncrease);
  m.hears({360});  // rises: the count starts anew
  const std::int64_t lower = m.rate();
  EXPECT_LT(lower, kLine / 10 * 6);
  m.hears({340});
  EXPECT_EQ(m.rate(), lower + kIncrease);
}

TEST(Timely, AnswersWithinALeastRoundTripCountOnce) {
  Message m;
  m.hears({1'000});
  m.acknowledged(m.now + us(19), 16, us(1'000));
  EXPECT_EQ(m.rate(), kLine / 10 * 6);
  m.acknowledged(m.now + us(20), 16, us(1'000));
  EXPECT_EQ(m.rate(), kLine / 100 * 36);
}

TEST(Timely, NeverPassesTheLineAndSpacesPacketsBelowIt) {
  Message m;
  m.hears({20, 20});
  EXPECT_EQ(m.rate(), kLine);
  EXPECT_EQ(m.sent(Time{1'000}, Time{82'920}, 4'096), Time{82'920});
  m.hears({10'000});
  // 4,096 B at 25 GB/s take 163,840 ps.
  EXPECT_EQ(m.sent(Time{1'000}, Time{82'920}, 4'096), Time{164'840});
}

TEST(Timely, RefusesDelaysInTheWrongOrder) {
  try {
    static_cast<void>(model::make_congestion_control("timely", {{"timely.low_delay", us(600).ps}}));
    FAIL() << "accepted";
  } catch (const core::InputError& error) {
    EXPECT_STREQ(error.what(),
                 "packet network: timely: low_delay is not below high_delay; expected less");
  }
}

// Senders on one switch, whose packets all leave by one port of 1 GB/s. Answers to every packet
// come more often than once in a least round trip each, so shares become fair.
constexpr std::uint32_t kSenders = 8;
model::PacketOptions incast_network() {
  model::PacketOptions o = tests::plain_packets();
  o.transport = "timely";
  o.ack_every = 1;
  return o;
}
model::TrafficOptions incast(std::int64_t message_bytes, Time start_spread) {
  return {.pattern = model::TrafficPattern::incast,
          .message_bytes = message_bytes,
          .start_spread = start_spread};
}

TEST(Timely, AnIncastComesToFairSharesOfTheLineAndABoundedQueue) {
  const auto topology = tests::chain(1, 1, kSenders);
  const model::TrafficModel traffic(*topology, incast_network(),
                                    incast(std::int64_t{1} << 40, us(10'000)), 0);
  const tests::Snapshot before = tests::snapshot_at(traffic, us(40'000));
  const tests::Snapshot between = tests::snapshot_at(traffic, us(50'000));
  const tests::Snapshot after = tests::snapshot_at(traffic, us(60'000));
  double sum = 0, squares = 0;
  for (std::uint32_t d = 1; d <= kSenders; ++d) {
    const double sent = after.sent_bytes[d] - before.sent_bytes[d];
    sum += sent;
    squares += sent * sent;
  }
  const double used = sum / (0.02 * static_cast<double>(tests::kLineBytesPerS));
  EXPECT_GE(used, 0.85);  // 0.89: rates fall together, and take a while to come back
  EXPECT_LE(used, 1.01);
  EXPECT_GE(sum * sum / (kSenders * squares), 0.99);  // Jain's index: 0.997
  // Four times the low delay, of which the queue is nearly all: it grows by what senders add while
  // their packets wait.
  for (const tests::Snapshot* at : {&before, &between, &after}) EXPECT_LE(at->queue, us(200));
}

TEST(Timely, GivesOneDigestInEveryModeAndPassesTheAudit) {
  const auto topology = tests::chain(1, 1, kSenders);
  const model::TrafficModel traffic(*topology, incast_network(), incast(100'000, us(1)), 0);
  const tests::TrafficRun expected = tests::run_traffic(traffic);
  ASSERT_EQ(expected.totals.received, kSenders);
  const tests::RunCase cases[] = {
      {.sync = pdes::Sync::conservative, .threads = 2, .partitions_per_rank = 3},
      {.sync = pdes::Sync::optimistic, .partitions_per_rank = 3, .audit_probability = 0.3},
      {.sync = pdes::Sync::optimistic,
       .ranks = 2,
       .threads = 2,
       .partitions_per_rank = 2,
       .audit_probability = 0.3}};
  for (const tests::RunCase& run : cases) {
    const tests::TrafficRun result = tests::run_traffic(traffic, run);
    EXPECT_EQ(result.digest, expected.digest) << run.text();
    EXPECT_EQ(result.flows, expected.flows) << run.text();
  }
}

}  // namespace
}  // namespace exawarp::tests
