// Two senders and one line under congestion control: how fairly they come to share it, how fast,
// and, for DCQCN, where it settles.
//
// The fluid model of DCQCN (Zhu et al., SIGCOMM 2015, section 5; Zhu et al.: "ECN or delay",
// CoNEXT 2016, section 3) has one fixed point: every flow has R = C / N, and packets are marked
// with the probability p at which cuts and increases cancel. With a cut each tau where a packet was
// marked, timers of T and a byte counter of B packets, F steps of recovery, and
//   a   = 1 - (1 - p)^(tau R), alpha = 1 - (1 - p)^(tau' R)
//   b_x = p / ((1 - p)^-x - 1) for x = B and x = T R: increases of a counter a packet
// it is  alpha a^2 / (tau^2 (b_B + b_TR)) = R_AI R ((1 - p)^(F B) b_B + (1 - p)^(F T R) b_TR).
#include <gtest/gtest.h>

#include <cmath>

#include "tests/golden/measured.h"
#include "tests/support/traffic_fixture.h"

namespace exawarp::tests {
namespace {

using core::Time;
using model::PacketOptions;
using model::TrafficModel;

constexpr std::int64_t kMillisecond = 1'000'000'000;

struct TwoSenders {
  std::int64_t line_bytes_per_s = 0;
  PacketOptions options{};
  std::int64_t start_spread_ms = 0;
  std::uint64_t seed = 1;
};

struct Shares {
  double first = 0, second = 0;  // of the line
  double marked = 0;             // of all packets
  [[nodiscard]] double used() const { return first + second; }
  // Jain's index.
  [[nodiscard]] double fairness() const {
    return used() * used() / (2 * (first * first + second * second));
  }
};

Shares shares(const TwoSenders& two, std::int64_t from_ms, std::int64_t to_ms) {
  const auto topology = tests::chain(2, 2, 2, two.line_bytes_per_s);
  const TrafficModel traffic(*topology, two.options,
                             {.pattern = model::TrafficPattern::pairs,
                              .message_bytes = std::int64_t{1} << 40,
                              .start_spread = Time{two.start_spread_ms * kMillisecond},
                              .seed = two.seed},
                             0);
  const tests::Snapshot before = tests::snapshot_at(traffic, Time{from_ms * kMillisecond});
  const tests::Snapshot after = tests::snapshot_at(traffic, Time{to_ms * kMillisecond});
  const double line =
      static_cast<double>(two.line_bytes_per_s) * 1e-3 * static_cast<double>(to_ms - from_ms);
  const double first = after.sent_bytes[0] - before.sent_bytes[0];
  const double second = after.sent_bytes[1] - before.sent_bytes[1];
  const auto packet = static_cast<double>(two.options.packet_bytes);
  return {first / line, second / line, (after.marks - before.marks) / ((first + second) / packet)};
}

// 40 Gb/s, thresholds and parameters of the paper's evaluation (its figure 14), packets of 4 KiB;
// the second sender comes some milliseconds after the first.
TwoSenders as_published() {
  TwoSenders two{.line_bytes_per_s = 5'000'000'000, .start_spread_ms = 10, .seed = 3};
  PacketOptions& o = two.options;
  o = tests::plain_packets();
  o.packet_bytes = 4'096;
  o.transport = "dcqcn";
  o.flow_control = model::FlowControl::pfc;
  o.ecn = {.kmin_bytes = 5'000, .kmax_bytes = 200'000, .pmax_per_mille = 10};
  o.xoff_bytes = 1'000'000;
  o.xon_bytes = 900'000;
  return two;
}

// The probability of marks at the fixed point of `flows` on a line of `packets_per_s`.
double fixed_point(const TwoSenders& two, double flows) {
  const model::ParameterValues d(model::congestion_algorithm("dcqcn").parameters, "dcqcn",
                                 two.options.parameters);
  const auto packet = static_cast<double>(two.options.packet_bytes);
  const double rate = static_cast<double>(two.line_bytes_per_s) / packet / flows;
  const auto seconds = [](Time t) { return static_cast<double>(t.ps) * 1e-12; };
  const double tau = seconds(d.time("cnp_interval")), period = seconds(d.time("alpha_period"));
  const double timer = seconds(d.time("increase_period")) * rate;
  const double counter = static_cast<double>(d["increase_bytes"]) / packet;
  const double additive = static_cast<double>(d["additive_increase"]) / packet;
  const double steps = d.count("fast_recovery_steps");
  double low = 1e-9, high = 0.5;
  while (high - low > 1e-12) {
    const double p = (low + high) / 2;
    const double a = 1 - std::pow(1 - p, tau * rate), alpha = 1 - std::pow(1 - p, period * rate);
    const double by_bytes = p / (std::pow(1 - p, -counter) - 1);
    const double by_time = p / (std::pow(1 - p, -timer) - 1);
    const double cut = alpha * a * a / (tau * tau * (by_bytes + by_time));
    const double raise =
        additive * rate *
        (std::pow(1 - p, steps * counter) * by_bytes + std::pow(1 - p, steps * timer) * by_time);
    (cut > raise ? high : low) = p;
  }
  return low;
}

TEST(Dcqcn, TwoSendersComeToEqualSharesOfAFullLine) {
  const TwoSenders two = as_published();
  const Shares settled = shares(two, 30, 60);
  EXPECT_GE(settled.fairness(), 0.99);
  EXPECT_GE(settled.used(), 0.99);
  EXPECT_LE(settled.used(), 1.001);
  print_measured("DCQCN, two senders, 40 Gb/s: Jain's index, 30 to 60 ms", 1, settled.fairness());
  print_measured("the same: share of the line", 1, settled.used());
}

TEST(Dcqcn, SettlesNearTheFluidModelsFixedPoint) {
  // Marks come in bunches, of which a sender hears once in 50 us, so it takes more of them than in
  // the fluid: up to 2.5 times as many.
  const TwoSenders two = as_published();
  const double expected = fixed_point(two, 2), measured = shares(two, 30, 90).marked;
  EXPECT_GE(measured, 0.8 * expected);
  EXPECT_LE(measured, 2.5 * expected);
  print_measured("the same: packets marked, %, against the fluid model", 100 * expected,
                 100 * measured);
}

// Milliseconds from the second sender's start until the rates over one are about equal: 0.95 of
// Jain's index is 1.6 to 1.
std::int64_t converged_after_ms(const TwoSenders& two) {
  std::int64_t both_since = 0;
  for (std::int64_t ms = 0; ms < 40; ++ms) {
    const Shares s = shares(two, ms, ms + 1);
    if (std::min(s.first, s.second) == 0) {
      both_since = ms + 1;
    } else if (s.fairness() >= 0.95) {
      return ms + 1 - both_since;
    }
  }
  return 40;
}

TEST(Dcqcn, ALateSenderHasItsShareWithinMilliseconds) {
  const std::int64_t ms = converged_after_ms(as_published());
  EXPECT_LE(ms, 6);
  print_measured("the same: ms from the second's start to Jain's index 0.95", 0,
                 static_cast<double>(ms));
}

TEST(Dcqcn, FillsASlowerLineAsWell) {
  // 8 Gb/s with steps made for 40: the fixed point is at 0.6 % of marks, and queues swing up to the
  // upper threshold, 200 us. Packets that were marked as they join such a queue would tell of it
  // too late, and the two would use 0.86 of the line.
  TwoSenders two = as_published();
  two.line_bytes_per_s = 1'000'000'000;
  two.options.packet_bytes = 1'000;
  const Shares settled = shares(two, 60, 160);
  EXPECT_GE(settled.fairness(), 0.99);
  EXPECT_GE(settled.used(), 0.98);
  print_measured("DCQCN, two senders, 8 Gb/s: Jain's index, 60 to 160 ms", 1, settled.fairness());
  print_measured("the same: share of the line", 1, settled.used());
}

TEST(Window, TwoSendersComeToEqualShares) {
  TwoSenders two{.line_bytes_per_s = 1'000'000'000, .start_spread_ms = 5};
  two.options = tests::plain_packets();
  two.options.transport = "window";
  const Shares settled = shares(two, 60, 160);
  EXPECT_GE(settled.fairness(), 0.99);
  EXPECT_GE(settled.used(), 0.9);
  print_measured("window, two senders, 8 Gb/s: Jain's index, 60 to 160 ms", 1, settled.fairness());
  print_measured("the same: share of the line", 1, settled.used());
}

}  // namespace
}  // namespace exawarp::tests
