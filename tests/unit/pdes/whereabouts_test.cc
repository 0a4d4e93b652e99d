// A check that fails inside a simulation says where: rank, worker, partition, LP, LVT, GVT, seed.
#include "pdes/whereabouts.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "core/check.h"
#include "partition/block.h"
#include "pdes/context.h"
#include "pdes/engine.h"
#include "pdes/transport_in_process.h"

namespace exawarp::tests {
namespace {

using namespace pdes;

constexpr std::uint32_t kLps = 4;
constexpr std::uint64_t kSeed = 42;
enum class Fault : std::uint8_t { check, commit };

// A token goes round, 10 ps a hop; it reaches LP 3 at 40 ps, and again at 80 ps, where that fails.
struct Hop {
  struct State {
    std::uint32_t seen = 0;
  };
  static void handle(State& s, const Event&, Context& ctx);
  static void describe(State& s, StateArchive& archive) { archive.word(s.seen); }
};

class Ring : public Model {
 public:
  explicit Ring(Fault fault) : fault_(fault) {}
  [[nodiscard]] std::span<const LpType> types() const override { return {&type_, 1}; }
  [[nodiscard]] std::span<const LpRange> ranges() const override { return {&range_, 1}; }
  [[nodiscard]] Time lookahead() const override { return Time{10}; }
  void initialise(LpId lp, void*, Context& ctx) const override {
    if (lp.value == 0) ctx.send(lp, Time{10}, 0);
  }
  [[nodiscard]] Fault fault() const { return fault_; }

 private:
  Fault fault_;
  LpType type_ = make_lp_type<Hop>("hop");
  LpRange range_{LpId{0}, kLps, 0};
};

void Hop::handle(State& s, const Event&, Context& ctx) {
  ctx.add(s.seen, 1u);
  const bool sound = ctx.self().value != 3 || s.seen < 2;
  if (ctx.model<Ring>().fault() == Fault::check) {
    EXAWARP_CHECK(sound, s.seen);
  } else {
    ctx.check(sound, "planted");
  }
  ctx.send({(ctx.self().value + 1) % kLps}, Time{10}, 0);
}

struct Case {
  Sync sync = Sync::sequential;
  std::uint32_t ranks = 1;
  std::uint32_t threads = 1;
};

void run(Fault fault, const Case& c) {
  const Ring model(fault);
  const core::Placement placement = partition::place_in_blocks(
      {.atoms = kLps, .ranks = c.ranks, .partitions_per_rank = c.threads});
  InProcessHub hub(c.ranks, 0);
  std::vector<std::jthread> ranks;
  for (std::uint32_t r = 0; r < c.ranks; ++r) {
    ranks.emplace_back([&, r] {
      const auto transport = hub.endpoint({r});
      Engine(model, placement,
             {.sync = c.sync, .threads = c.threads, .seed = kSeed, .end = Time{1'000}}, *transport)
          .run();
    });
  }
}

const auto kPlanted = testing::ExitedWithCode(1);

TEST(Whereabouts, OfACheckInASequentialRun) {
  EXPECT_EXIT(run(Fault::check, {}), kPlanted,
              "check failed: .*: sound  \\[s.seen = 2\\]  rank=0 worker=0 partition=0 LP=3 "
              "LVT=80 ps GVT=10 ps seed=42: this is a bug in exawarp");
}

TEST(Whereabouts, OfACheckInAnOptimisticRunOnTwoThreads) {
  EXPECT_EXIT(run(Fault::check, {.sync = Sync::optimistic, .threads = 2}), kPlanted,
              "rank=0 worker=[01] partition=1 LP=3 LVT=80 ps GVT=[1-8]0 ps seed=42: ");
}

TEST(Whereabouts, OfACheckOnTheSecondRank) {
  EXPECT_EXIT(run(Fault::check, {.sync = Sync::conservative, .ranks = 2}), kPlanted,
              "rank=1 worker=0 partition=1 LP=3 LVT=80 ps GVT=[1-8]0 ps seed=42: ");
}

TEST(Whereabouts, OfAConditionThatFailsWhenItCommitsAreThoseOfItsEvent) {
  EXPECT_EXIT(run(Fault::commit, {.sync = Sync::optimistic, .threads = 2}), kPlanted,
              "text = planted\\]  rank=0 worker=[01] partition=1 LP=3 LVT=80 ps GVT=");
}

TEST(Whereabouts, AreNotSaidOutsideASimulation) {
  EXPECT_EXIT(core::check_failed("a.cc", 7, "b", ""), kPlanted,
              "^check failed: a.cc:7: b: this is a bug in exawarp");
}

}  // namespace
}  // namespace exawarp::tests
