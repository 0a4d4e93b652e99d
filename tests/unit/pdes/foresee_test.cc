// What a type foresees of an event is there when that is handled, or nothing is; and models that
// are made of others foresee nothing, as their parts would take them for their own model.
#include <gtest/gtest.h>

#include <atomic>

#include "partition/block.h"
#include "pdes/changing_model.h"
#include "pdes/context.h"
#include "pdes/engine.h"
#include "pdes/observed_model.h"
#include "pdes/transport.h"

namespace exawarp::tests {
namespace {

using namespace pdes;

constexpr std::uint32_t kLps = 64, kEventsEach = 4;

// Of all LPs of a run.
struct Counts {
  std::atomic<std::uint64_t> right{0}, wrong{0}, nothing{0}, asked{0};
  std::atomic<std::uint64_t> more_right{0}, more_wrong{0}, more_nothing{0};  // by foresee_more
};

// Tokens that go round, each at times of its own.
class Tokens final : public Model {
 public:
  struct State {
    std::uint64_t handled = 0;
  };

  Tokens(Counts& counts, bool foresees) : counts_(counts) {
    if (!foresees) return;
    type_.foresee = foresee;
    type_.foresee_more = foresee_more;
  }
  [[nodiscard]] std::span<const LpType> types() const override { return {&type_, 1}; }
  [[nodiscard]] std::span<const LpRange> ranges() const override { return {&range_, 1}; }
  [[nodiscard]] Time lookahead() const override { return Time{100}; }
  void initialise(LpId lp, void*, Context& ctx) const override {
    for (std::uint32_t n = 0; n < kEventsEach; ++n) {
      ctx.send(lp, Time{1 + lp.value + 7 * n}, 0, std::uint64_t{lp.value * kEventsEach + n});
    }
  }
  static void handle(State& s, const Event& event, Context& ctx) {
    Counts& counts = ctx.model<Tokens>().counts_;
    const std::uint32_t right = expected(event);
    ++(event.foreseen == 0       ? counts.nothing
       : event.foreseen == right ? counts.right
                                 : counts.wrong);
    ctx.add(s.handled, 1u);
    const auto token = event.as<std::uint64_t>();
    ctx.send({(ctx.self().value + 1) % kLps}, Time{100 + static_cast<std::int64_t>(token % 13)}, 0,
             token);
  }
  static void describe(State& s, StateArchive& archive) { archive.word(s.handled); }

 private:
  // Of the event alone: tokens meet an LP with other numbers at other times.
  static std::uint32_t expected(const Event& event) {
    return 1 + static_cast<std::uint32_t>(event.as<std::uint64_t>()) + event.destination.value;
  }
  static std::uint32_t foresee(void*, const Event& event, Context& ctx) {
    ++ctx.model<Tokens>().counts_.asked;
    return expected(event);
  }
  static void foresee_more(void*, const Event& event, Context& ctx) {
    Counts& counts = ctx.model<Tokens>().counts_;
    ++(event.foreseen == 0                 ? counts.more_nothing
       : event.foreseen == expected(event) ? counts.more_right
                                           : counts.more_wrong);
  }

  Counts& counts_;
  LpType type_ = make_lp_type<Tokens>("tokens");
  LpRange range_{LpId{0}, kLps, 0};
};

RunResult run_of(const Model& model, Sync sync, std::uint32_t threads) {
  const core::Placement placement =
      partition::place_in_blocks({.atoms = kLps, .ranks = 1, .partitions_per_rank = 2 * threads});
  const auto transport = make_single_transport();
  return Engine(model, placement, {.sync = sync, .threads = threads, .end = Time{20'000}},
                *transport)
      .run();
}

TEST(Foresee, IsThereWhenTheEventIsHandledAndChangesNothing) {
  Counts without;
  const auto plain = run_of(Tokens(without, false), Sync::sequential, 1);
  EXPECT_EQ(without.right + without.wrong, 0u);
  for (const auto& [sync, threads] : {std::pair(Sync::sequential, 1u), {Sync::conservative, 2u},
                                      {Sync::optimistic, 1u}, {Sync::optimistic, 2u}}) {
    Counts counts;
    const auto result = run_of(Tokens(counts, true), sync, threads);
    EXPECT_EQ(result.digest, plain.digest);
    EXPECT_EQ(counts.wrong, 0u);
    EXPECT_GT(counts.right, 1000u);
    EXPECT_EQ(counts.more_wrong, 0u);
    EXPECT_GT(counts.more_right, 1000u);
  }
}

TEST(Foresee, IsNotAskedWhereAModelIsMadeOfOthers) {
  Counts counts;
  const Tokens tokens(counts, true);
  const ObservedModel observed(tokens, [](const Event&) {});
  run_of(observed, Sync::sequential, 1);
  EXPECT_GT(counts.nothing, 0u);
  EXPECT_EQ(counts.asked, 0u);

  Counts later;
  const Tokens others(later, true);
  run_of(ChangingModel(tokens, {{Time{10'000}, &others}}), Sync::sequential, 1);
  EXPECT_GT(later.nothing, 0u);
  EXPECT_EQ(counts.asked + later.asked, 0u);
  EXPECT_EQ(counts.more_nothing + later.more_nothing, 0u);
}

}  // namespace
}  // namespace exawarp::tests
