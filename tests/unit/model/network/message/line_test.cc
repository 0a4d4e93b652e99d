// How messages share the two sides of a line: the receiving side as a function, the sending side
// against a fluid that is shared in equal parts, with rollbacks.
#include "model/network/message/line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/random.h"
#include "model/workload/validate.h"
#include "tests/support/cluster_fixture.h"
#include "tests/support/run_matrix.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::Time;

// ---- the receiving side

struct Receiver {
  Time clock{};
  ReceiveLine line{};

  std::int64_t take(std::int64_t now, std::int64_t wire) {
    const Reception reception = received_at(Time{now}, clock, Time{wire}, line, Time{1'000'000});
    clock = reception.end;
    line = reception.line;
    return reception.end.ps;
  }
};

TEST(ReceiveLine, TakesMessagesThatComeOneByOneAsTheyCome) {
  Receiver r;
  for (const std::int64_t at : {1'000, 1'100, 1'205, 9'000}) EXPECT_EQ(r.take(at, 100), at);
}

TEST(ReceiveLine, TakesAMessageAtOnceUnlessItWasBusyMeanwhile) {
  EXPECT_EQ(received_at(Time{20}, Time{15}, Time{5}, {}, Time{0}).end, Time{20});
  const ReceiveLine busy{Time{3}, Time{15}, {}};
  EXPECT_EQ(received_at(Time{20}, Time{18}, Time{5}, busy, Time{0}).end, Time{23});
}

TEST(ReceiveLine, PutsMessagesThatComeAtOnceOneBehindTheOther) {
  Receiver r;
  EXPECT_EQ(r.take(1'000, 100), 1'000);
  EXPECT_EQ(r.take(1'000, 100), 1'100);
  EXPECT_EQ(r.take(1'000, 100), 1'200);
  EXPECT_EQ(r.take(1'000, 300), 1'300);  // of which 200 had come before the others began
  EXPECT_EQ(r.take(1'050, 10), 1'310);
}

TEST(ReceiveLine, PutsALongMessageOffByWhatCameMeanwhileAndNoMore) {
  Receiver once;
  EXPECT_EQ(once.take(10'000, 10), 10'000);
  EXPECT_EQ(once.take(10'050, 1'000), 10'060);

  Receiver often;  // each time after a longer pause than all before
  for (std::int64_t at = 10'000; at < 3'000'000; at *= 3) EXPECT_EQ(often.take(at, 10), at);
  EXPECT_EQ(often.take(7'000'000, 5'000'000), 7'000'010);
}

// A message as long as ten of theirs is put off by as much as they took of that time.
TEST(ReceiveLine, KnowsHowBusyItWas) {
  for (const std::int64_t wire : {100, 500, 900}) {
    Receiver r;
    std::int64_t at = 0;
    for (int i = 0; i < 200; ++i) r.take(at += 1'000, wire);
    EXPECT_NEAR(static_cast<double>(r.take(at + 1, 10'000) - at), 10.0 * static_cast<double>(wire),
                static_cast<double>(wire));
  }
}

TEST(ReceiveLine, ForgetsWhatWasLongAgo) {
  Receiver r;
  std::int64_t at = 0;
  for (int i = 0; i < 2'000; ++i) {
    r.take(at += 1'000, 900);
    EXPECT_LE(r.clock - r.line.from, Time{1'000'000 + 2 * 1'000});
  }
}

TEST(ReceiveLine, ForgetsWhatWasBeforeALongPause) {
  Receiver r;
  for (int i = 1; i <= 10; ++i) r.take(1'000 + i * 100, 100);  // 1'000 without a break
  EXPECT_EQ(r.take(20'000, 10), 20'000);
  EXPECT_EQ(r.take(20'000, 5'000), 20'010);
}

// What comes in any order is never received before it is here, and the line never takes more than
// its time: all is received by when a line that serves one after the other is done, or earlier.
TEST(ReceiveLine, IsNeitherEarlyNorLaterThanOneAfterTheOther) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Receiver r;
    std::int64_t at = 0, in_turn = 0;
    for (std::uint64_t i = 0; i < 100; ++i) {
      const std::uint64_t bits = core::random_bits(seed, 2 * i);
      const std::uint64_t more = core::random_bits(seed, 2 * i + 1);
      const auto wire = static_cast<std::int64_t>(1 + bits % (bits % 7 == 0 ? 20'000 : 500));
      at += static_cast<std::int64_t>(more % (more % 11 == 0 ? 30'000 : 300));
      const std::int64_t end = r.take(at + wire, wire);
      at += wire;
      in_turn = std::max(at, in_turn + wire);
      EXPECT_GE(end, at) << seed;
      EXPECT_LE(end, in_turn) << seed;
      EXPECT_GE(r.line.busy.ps, 0);
      EXPECT_LE(r.line.worked, r.clock - r.line.busy - r.line.from);
    }
  }
}

// ---- the sending side

struct HandedOver {
  std::uint32_t sender;
  std::uint32_t unused;
  std::int64_t wire_ps;
};

// A line as a fluid: what each sender has left, of which all that have some are served alike.
class Fluid {
 public:
  double hand_over(double now, std::uint32_t sender, double wire) {
    serve(now - at_);
    at_ = now;
    left_[sender] += wire;
    return now + time_until_over(sender);
  }

 private:
  void serve(double time) {
    while (time > 1e-9) {
      const auto [n, least] = active();
      if (n == 0) return;
      const double each = std::min(least, time / n);
      for (auto& [sender, left] : left_) left = std::max(0.0, left - each);
      time -= each * n;
    }
  }
  [[nodiscard]] std::pair<double, double> active() const {
    double n = 0, least = 1e30;
    for (const auto& [sender, left] : left_) {
      if (left <= 1e-9) continue;
      ++n;
      least = std::min(least, left);
    }
    return {n, least};
  }
  [[nodiscard]] double time_until_over(std::uint32_t sender) const {
    const double own = left_.at(sender);
    double time = 0;
    for (const auto& [other, left] : left_) time += std::min(own, left);
    return time;
  }

  double at_ = 0;
  std::map<std::uint32_t, double> left_;
};

// Lines to which messages are handed over, each by an event that sends two more.
class Lines final : public pdes::Model {
 public:
  struct State {
    Time clock;
    SendLine line;
    std::uint64_t handled = 0;
    std::uint64_t left_at = 0;  // a hash of when all have left
  };
  static constexpr std::uint32_t kLps = 8;
  mutable std::array<Fluid, kLps>* fluids = nullptr;  // for runs without rollbacks
  mutable double most_difference = 0;
  mutable std::uint32_t most_shares = 0;

  [[nodiscard]] std::span<const pdes::LpType> types() const override { return {&type_, 1}; }
  [[nodiscard]] std::span<const pdes::LpRange> ranges() const override { return {&range_, 1}; }
  [[nodiscard]] Time lookahead() const override { return Time{50}; }
  void initialise(core::LpId lp, void*, pdes::Context& ctx) const override {
    ctx.send(lp, Time{100}, 0, HandedOver{lp.value % 3, 0, 400});
  }

  static void handle(State& s, const pdes::Event& event, pdes::Context& ctx) {
    const auto what = event.as<HandedOver>();
    const Lines& model = ctx.model<Lines>();
    const LineSender sender = LineSender::stream(what.sender);
    SendSharing sharing(ctx, s.clock, s.line);
    const Time left = sharing.leaves_at(sender, Time{what.wire_ps});
    sharing.take(sender, Time{what.wire_ps});
    ctx.check(left <= s.clock, "a message leaves after all have");
    if (model.fluids != nullptr) model.compare(ctx, what, left, s.line.shares.size());
    ctx.set(s.left_at, core::mix64(s.left_at ^ static_cast<std::uint64_t>(left.ps)));
    ctx.set(s.handled, s.handled + 1);
    if (s.handled > 500) return;
    const std::uint64_t bits = core::mix64(s.left_at + ctx.self().value);
    const core::LpId to{static_cast<std::uint32_t>(bits % kLps)};
    ctx.send(to, Time{static_cast<std::int64_t>(50 + bits % 3'000)}, 0,
             HandedOver{static_cast<std::uint32_t>((bits >> 20) % 5), 0,
                        static_cast<std::int64_t>(1 + (bits >> 32) % 4'000)});
  }
  static void describe(State& s, pdes::StateArchive& archive) {
    archive.word(s.clock);
    archive.word(s.handled);
    archive.word(s.left_at);
    archive.word(s.line.at);
    archive.word(s.line.served);
    archive.word(s.line.sender.value);
    archive.kept(s.line.unused);
    s.line.shares.describe(archive, [&](LineShare& share) { archive.bytes(&share); });
  }

 private:
  void compare(pdes::Context& ctx, const HandedOver& what, Time left, std::uint32_t shares) const {
    const double expected = (*fluids)[ctx.self().value].hand_over(
        static_cast<double>(ctx.now().ps), what.sender, static_cast<double>(what.wire_ps));
    most_difference = std::max(most_difference, std::abs(static_cast<double>(left.ps) - expected));
    most_shares = std::max(most_shares, shares);
  }

  pdes::LpType type_ = pdes::make_lp_type<Lines>("lines");
  pdes::LpRange range_{core::LpId{0}, kLps, 0};
};

TEST(SendSharing, IsAFluidInEqualParts) {
  const Lines model;
  std::array<Fluid, Lines::kLps> fluids;
  model.fluids = &fluids;
  const tests::MatrixModel matrix{.model = &model, .placer = tests::blocks_of(Lines::kLps, 0)};
  const pdes::RunResult result = tests::run_case(matrix, {});
  EXPECT_GT(result.total.committed_events(), 3'000u);
  EXPECT_LT(model.most_difference, 32);  // picoseconds: less than one for each share and change
  EXPECT_GE(model.most_shares, 4u);
}

TEST(SendSharing, IsRolledBack) {
  const Lines model;
  const tests::MatrixModel matrix{.model = &model, .placer = tests::blocks_of(Lines::kLps, 0)};
  const pdes::RunResult expected = tests::run_case(matrix, {});
  for (const std::uint32_t partitions : {2u, 5u}) {
    const pdes::RunResult result = tests::run_case(matrix, {.sync = pdes::Sync::optimistic,
                                                            .threads = 2,
                                                            .partitions_per_rank = partitions,
                                                            .window = Time{2'000},
                                                            .audit_probability = 0.3});
    EXPECT_EQ(result.digest, expected.digest);
    EXPECT_GT(result.total.rolled_back_events, 0u);
    EXPECT_GT(result.total.audited_events, 100u);
  }
}

// ---- both, between devices

using schema::NodeKind;
using schema::StreamKind;

constexpr std::uint32_t kDevices = 8;
constexpr std::uint64_t kSecondBytes = 10'000;

struct Sends {
  std::uint64_t first_bytes;  // by one stream
  std::uint32_t first_to;
  std::int64_t later_ps;  // then, by another, kSecondBytes
  std::uint32_t second_to;
};

// When the second of device 0's sends has come.
Time second_arrives(const Sends& sends, const ClusterOptions& options = {}) {
  WorkloadBuilder workload("lines");
  const auto axis = workload.add_axis("device", kDevices);
  std::array<ProgramBuilder*, kDevices> programs{};
  for (std::uint32_t d = 0; d < kDevices; ++d) {
    programs[d] = &workload.add_program("device " + std::to_string(d));
    workload.bind_range(d, {.axis = axis, .first = d, .count = 1});
  }
  const auto message = [&](NodeKind kind, std::uint32_t at, std::uint32_t peer, bool second) {
    const auto stream =
        programs[at]->add_stream(second ? "second" : "first", StreamKind::COMMUNICATION);
    std::uint32_t waits = 0;
    if (second) {
      const std::int64_t ps = kind == NodeKind::SEND ? sends.later_ps : 1;
      waits =
          programs[at]->add_node({.stream = stream, .duration_ps = static_cast<std::uint64_t>(ps)});
    }
    const NodeFields fields{.kind = kind,
                            .stream = stream,
                            .peer = static_cast<std::int32_t>(peer),
                            .tag = second ? 1u : 0u,
                            .comm_bytes = second ? kSecondBytes : sends.first_bytes};
    return second ? programs[at]->add_node(fields, {waits}) : programs[at]->add_node(fields);
  };
  message(NodeKind::SEND, 0, sends.first_to, false);
  message(NodeKind::SEND, 0, sends.second_to, true);
  message(NodeKind::RECEIVE, sends.first_to, 0, false);
  const std::uint32_t received = message(NodeKind::RECEIVE, sends.second_to, 0, true);
  const auto then = programs[sends.second_to]->add_stream("then", StreamKind::COMPUTE);
  constexpr std::int64_t kLong = 10'000'000'000;  // the run ends with it
  programs[sends.second_to]->add_node({.stream = then, .duration_ps = kLong}, {received});
  WorkloadGraph graph = workload.build();
  validate(graph);
  return simulate(std::move(graph), options).outcome.simulated_time() - Time{kLong};
}

TEST(Lines, OfADeviceAreSharedByItsStreams) {
  constexpr std::int64_t kWire = kSecondBytes * kNodePsPerByte;
  EXPECT_EQ(second_arrives({10'000'000, 1, 1, 2}), kNodeLatency + Time{1 + 2 * kWire});
  EXPECT_EQ(second_arrives({10'000'000, 1, 1'000'000, 2}),
            kNodeLatency + Time{1'000'000 + 2 * kWire});
  EXPECT_EQ(second_arrives({1'000, 1, 1, 2}), kNodeLatency + Time{kWire + 1'000 * kNodePsPerByte});
}

// The first takes a millisecond, which the second does not wait for.
TEST(Lines, AreSharedOnTheWayToOneDeviceAtEachFidelity) {
  const Sends sends{10'000'000, 4, 1'000'000, 4};
  const Time expected = kLeafLatency + Time{1'000'000 + 2 * kSecondBytes * kScaleOutPsPerByte};
  EXPECT_EQ(second_arrives(sends), expected);
  PacketOptions packets;
  packets.packet_bytes = 1'000;
  packets.routing.policy = "deterministic";
  for (const bool flows : {false, true}) {
    ClusterOptions options;
    (flows ? options.flows : options.packets) = packets;
    EXPECT_NEAR(static_cast<double>(second_arrives(sends, options).ps),
                static_cast<double>(expected.ps), 2e6)
        << flows;
  }
}

}  // namespace
}  // namespace exawarp::tests
