// Runs that come to the end of time: every mode stops there, after the same events, and names the
// same first event beyond.
#include <gtest/gtest.h>

#include "core/exponential.h"
#include "core/random.h"
#include "pdes/context.h"
#include "tests/support/run_matrix.h"

namespace exawarp::tests {
namespace {

using namespace core::literals;
using pdes::Context;
using pdes::Event;
using pdes::LpId;
using pdes::Time;

constexpr Time kDay = 86'400_s;

// Tokens that move on after days, for ever or a number of times; where to and when depends on what
// its place has seen.
class Drift final : public pdes::Model {
 public:
  struct State {
    std::uint64_t seen = 0;
  };
  struct Token {
    std::uint64_t moves_left;
  };
  static constexpr std::uint32_t kLps = 12;
  static constexpr std::uint64_t kAlways = ~std::uint64_t{0};

  explicit Drift(std::uint64_t moves)
      : moves_(moves), type_(pdes::make_lp_type<Drift>("drift")), range_{LpId{0}, kLps, 0} {}
  [[nodiscard]] std::span<const pdes::LpType> types() const override { return {&type_, 1}; }
  [[nodiscard]] std::span<const pdes::LpRange> ranges() const override { return {&range_, 1}; }
  [[nodiscard]] Time lookahead() const override { return 1_us; }
  void initialise(LpId, void* state, Context& ctx) const override {
    for (int i = 0; i < 2; ++i) move({moves_}, *static_cast<State*>(state), ctx);
  }

  static void handle(State& s, const Event& event, Context& ctx) {
    const auto token = event.as<Token>();
    ctx.set(s.seen, core::mix64(s.seen ^ static_cast<std::uint64_t>(event.receive_time.ps)));
    if (token.moves_left != 0) move({token.moves_left - 1}, s, ctx);
  }
  static void describe(State& s, pdes::StateArchive& archive) { archive.word(s.seen); }

 private:
  static void move(const Token& token, State& s, Context& ctx) {
    ctx.set(s.seen, core::mix64(s.seen + ctx.self().value + 1));
    const LpId to{static_cast<std::uint32_t>(s.seen % kLps)};
    ctx.send(to, 1_us + core::exponential(3 * kDay, core::mix64(s.seen)), 7, token);
  }

  std::uint64_t moves_;
  pdes::LpType type_;
  pdes::LpRange range_;
};

TEST(EndOfTime, EveryModeStopsAtTheSameFirstEventBeyond) {
  const Drift drift(Drift::kAlways);
  const tests::MatrixModel matrix{.model = &drift, .placer = tests::blocks_of(Drift::kLps, 0)};
  const pdes::RunResult expected = run_case(matrix, {});
  ASSERT_TRUE(expected.late.has_value());
  EXPECT_EQ(expected.late->receive_time, core::kEndOfTime);
  EXPECT_EQ(expected.late->kind, 7);
  EXPECT_LT(expected.last_event, core::kEndOfTime);
  EXPECT_GT(expected.last_event, 50 * kDay);
  std::uint64_t rolled_back = 0;
  for (const tests::RunCase& run : tests::differential_cases(3'600_s)) {
    SCOPED_TRACE(run.text());
    const pdes::RunResult result = run_case(matrix, run);
    EXPECT_EQ(result.digest, expected.digest);
    ASSERT_TRUE(result.late.has_value());
    EXPECT_EQ(key_of(*result.late), key_of(*expected.late));
    EXPECT_EQ(result.late->destination, expected.late->destination);
    EXPECT_EQ(result.late->payload, expected.late->payload);
    rolled_back += result.total.rolled_back_events;
  }
  EXPECT_GT(rolled_back, 0u);
}

// What is left beyond the end of an optimistic run may only be what was cancelled.
TEST(EndOfTime, ARunThatIsOverBeforeHasNoLateEvent) {
  const Drift drift(5);
  const tests::MatrixModel matrix{.model = &drift, .placer = tests::blocks_of(Drift::kLps, 0)};
  const pdes::RunResult expected = run_case(matrix, {});
  for (const tests::RunCase& run : tests::differential_cases(3'600_s)) {
    SCOPED_TRACE(run.text());
    const pdes::RunResult result = run_case(matrix, run);
    EXPECT_EQ(result.digest, expected.digest);
    EXPECT_EQ(result.late.has_value(), expected.late.has_value());
  }
}

TEST(EndOfTime, AnEndThatWasAskedForLeavesNothingLate) {
  const Drift drift(Drift::kAlways);
  const tests::MatrixModel matrix{
      .model = &drift, .placer = tests::blocks_of(Drift::kLps, 0), .end = core::kEndOfTime};
  EXPECT_FALSE(run_case(matrix, {}).late.has_value());
  const tests::RunCase wide{.sync = pdes::Sync::optimistic,
                           .ranks = 2,
                           .threads = 2,
                           .partitions_per_rank = 3,
                           .window = 2 * kDay};
  EXPECT_FALSE(run_case(matrix, wide).late.has_value());
}

}  // namespace
}  // namespace exawarp::tests
