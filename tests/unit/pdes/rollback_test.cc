// Rollback on one partition, event by event: what a straggler and an anti-message undo.
#include <gtest/gtest.h>

#include "core/random.h"
#include "pdes/partition.h"
#include "pdes/undo_vector.h"

namespace exawarp::tests {
namespace {

using namespace pdes;
using namespace core::literals;

// Remembers what it saw; sends on to the next LP when told to.
class Recorder final : public Model {
 public:
  struct State {
    std::uint64_t seen = 0;  // order-sensitive hash
    UndoVector<std::int64_t> times;
  };
  struct Order {
    std::uint32_t send_to;  // own id: to nobody
    std::uint32_t pad = 0;
  };

  explicit Recorder(std::uint32_t lps)
      : type_(make_lp_type<Recorder>("recorder")), range_{LpId{0}, lps, 0} {}
  [[nodiscard]] std::span<const LpType> types() const override { return {&type_, 1}; }
  [[nodiscard]] std::span<const LpRange> ranges() const override { return {&range_, 1}; }
  [[nodiscard]] Time lookahead() const override { return 1_ps; }
  void initialise(LpId, void*, Context&) const override {}

  static void handle(State& s, const Event& event, Context& ctx) {
    ctx.set(s.seen, core::mix64(s.seen + static_cast<std::uint64_t>(event.receive_time.ps)));
    s.times.push_back(ctx, event.receive_time.ps);
    ctx.emit(1, static_cast<std::uint64_t>(event.receive_time.ps));
    const auto order = event.as<Order>();
    if (order.send_to != ctx.self().value)
      ctx.send(LpId{order.send_to}, 5_ps, 0, Order{order.send_to});
  }
  static void describe(State& s, StateArchive& archive) {
    archive.word(s.seen);
    s.times.describe(archive, [&](std::int64_t& time) { archive.word(time); });
  }

 private:
  LpType type_;
  LpRange range_;
};

class Output final : public EmissionSink {
 public:
  void deliver(core::PartitionId, const Emission& e) override { values.push_back(e.a); }
  std::vector<std::uint64_t> values;
};

class RollbackTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kLps = 4;
  RollbackTest() : placement_{.atom_shift = 2, .partition_of_atom = {0}} {}

  Event event(std::int64_t ps, std::uint32_t to, std::uint32_t then_to) {
    Event e;
    e.receive_time = Time{ps};
    e.source = LpId{100};
    e.sequence = sequence_++;
    e.destination = LpId{to};
    const Recorder::Order order{then_to};
    std::memcpy(e.payload.data(), &order, sizeof order);
    return e;
  }
  Event receive(std::int64_t ps, std::uint32_t to = 0) { return receive(event(ps, to, to)); }
  Event receive(const Event& e) {
    boxes_.receive(0, e);
    return e;
  }
  void receive_anti(const Event& of) {
    Event anti = of;
    anti.flags = kAnti;
    boxes_.receive(0, anti);
  }
  void run(Time horizon = Time::max(), Time gvt = Time{-1}) {
    partition_.run_epoch({.gvt = gvt, .safe = gvt, .horizon = horizon, .event_limit = 1000});
  }
  // Nothing arrives before `safe` any more.
  void run_with(Time gvt, Time safe, Time horizon = Time::max()) {
    partition_.run_epoch({.gvt = gvt, .safe = safe, .horizon = horizon, .event_limit = 1000});
  }
  [[nodiscard]] std::vector<std::int64_t> times(std::uint32_t lp = 0) const {
    const auto& s = *static_cast<const Recorder::State*>(
        state_of(directory_.find(LpId{lp}).header));
    return {s.times.begin(), s.times.end()};
  }
  [[nodiscard]] const Statistics& stats() const { return partition_.statistics(); }

  core::Placement placement_;
  Recorder model_{kLps};
  Directory directory_{model_, placement_, core::RankId{0}};
  Mailboxes boxes_{1, 1};
  Output output_;
  Partition partition_{
      {.id = {0}, .history_limit = 1000}, model_, directory_, boxes_, &output_};
  std::uint32_t sequence_ = 0;
};

TEST_F(RollbackTest, StragglerUndoesExactlyTheEventsAfterIt) {
  partition_.initialise(model_);
  for (const int t : {10, 20, 30, 40}) receive(t);
  run();
  receive(25);
  run();
  EXPECT_EQ(times(), (std::vector<std::int64_t>{10, 20, 25, 30, 40}));
  EXPECT_EQ(stats().rolled_back_events, 2u);
  EXPECT_EQ(stats().primary_rollbacks, 1u);
}

TEST_F(RollbackTest, AStragglerOfAnotherLpUndoesNothing) {
  partition_.initialise(model_);
  receive(10, 0);
  receive(30, 0);
  run();
  receive(20, 1);
  run();
  EXPECT_EQ(stats().rolled_back_events, 0u);
}

TEST_F(RollbackTest, TheDigestDoesNotDependOnTheOrderOfArrival) {
  partition_.initialise(model_);
  const Event a = event(10, 0, 1);
  const Event b = event(20, 0, 2);
  receive(b);
  run();
  receive(a);
  run();
  const core::Digest late = partition_.digest();
  Mailboxes boxes(1, 1);
  Directory directory(model_, placement_, core::RankId{0});
  Partition in_order({.id = {0}, .history_limit = 1000}, model_, directory, boxes, nullptr);
  in_order.initialise(model_);
  boxes.receive(0, a);
  boxes.receive(0, b);
  in_order.run_epoch({.gvt = Time{-1}, .safe = Time{-1}, .horizon = Time::max(),
                      .event_limit = 1000});
  EXPECT_EQ(late, in_order.digest());
}

TEST_F(RollbackTest, CancelsWhatWasSentAndSendsItAgain) {
  partition_.initialise(model_);
  receive(event(10, 0, 1));  // arrives at LP 1 at 15
  run();
  EXPECT_EQ(times(1), (std::vector<std::int64_t>{15}));
  receive(5);  // straggler for LP 0
  run();
  EXPECT_EQ(times(0), (std::vector<std::int64_t>{5, 10}));
  EXPECT_EQ(times(1), (std::vector<std::int64_t>{15}));
  EXPECT_EQ(stats().secondary_rollbacks, 1u);
  EXPECT_EQ(stats().cancelled_events, 1u);
}

TEST_F(RollbackTest, AnAntiMessageUndoesAnExecutedEvent) {
  partition_.initialise(model_);
  const Event doomed = receive(10);
  receive(20);
  run();
  receive_anti(doomed);
  run();
  EXPECT_EQ(times(), (std::vector<std::int64_t>{20}));
}

TEST_F(RollbackTest, AnAntiMessageAnnihilatesAPendingEvent) {
  partition_.initialise(model_);
  const Event doomed = receive(10);
  run(5_ps);
  receive_anti(doomed);
  run();
  EXPECT_TRUE(times().empty());
  EXPECT_EQ(stats().processed_events, 0u);
}

TEST_F(RollbackTest, AResentEventOutlivesTheAntiMessageOfItsFormerSelf) {
  partition_.initialise(model_);
  const Event former = receive(10);
  run(5_ps);
  Event resent = former;
  resent.incarnation = 1;
  receive(resent);
  receive_anti(former);
  run();
  EXPECT_EQ(times(), (std::vector<std::int64_t>{10}));
}

TEST_F(RollbackTest, OutputLeavesOnlyWhenItsEventCommits) {
  partition_.initialise(model_);
  const Event doomed = receive(10);
  receive(20);
  run();
  EXPECT_TRUE(output_.values.empty());
  receive_anti(doomed);
  run(Time::max(), 15_ps);
  EXPECT_TRUE(output_.values.empty());
  partition_.collect(20_ps);
  EXPECT_EQ(output_.values, (std::vector<std::uint64_t>{20}));
}

TEST_F(RollbackTest, WhatIsCertainHasNoRecordAndLeavesAtOnce) {
  partition_.initialise(model_);
  for (const int t : {10, 20, 30}) receive(t);
  run_with(5_ps, 25_ps);
  EXPECT_EQ(times(), (std::vector<std::int64_t>{10, 20, 30}));
  EXPECT_EQ(partition_.history_events(), 1u);
  EXPECT_EQ(output_.values, (std::vector<std::uint64_t>{10, 20}));
  receive(27);
  run_with(25_ps, 25_ps);
  EXPECT_EQ(times(), (std::vector<std::int64_t>{10, 20, 27, 30}));
  EXPECT_EQ(stats().rolled_back_events, 1u);
}

TEST_F(RollbackTest, WhatIsCertainStaysWhenTheRestIsGivenUp) {
  partition_.initialise(model_);
  for (const int t : {10, 20, 30}) receive(t);
  run_with(5_ps, 25_ps);
  partition_.settle_at(15_ps);
  EXPECT_EQ(times(), (std::vector<std::int64_t>{10, 20}));
  EXPECT_EQ(partition_.last_committed(), 20_ps);
  run_with(15_ps, 15_ps);
  EXPECT_EQ(times(), (std::vector<std::int64_t>{10, 20, 30}));
}

// A record is certain once something after it was executed without one.
TEST_F(RollbackTest, ARecordBeforeTheFrontierStaysAndItsOutputKeepsTheOrder) {
  partition_.initialise(model_);
  receive(20, 0);
  run_with(5_ps, 5_ps);
  receive(10, 1);
  receive(event(30, 0, 1));  // arrives at LP 1 at 35
  run_with(10_ps, 40_ps);
  EXPECT_EQ(output_.values, (std::vector<std::uint64_t>{10, 20, 30, 35}));
  partition_.settle_at(12_ps);
  EXPECT_EQ(times(0), (std::vector<std::int64_t>{20, 30}));
  EXPECT_EQ(times(1), (std::vector<std::int64_t>{10, 35}));
  EXPECT_EQ(stats().rolled_back_events, 0u);
  EXPECT_EQ(partition_.history_events(), 0u);
}

// The sends of a certain event may meet speculation.
TEST_F(RollbackTest, ASendOfACertainEventUndoesWhatWasTooEarly) {
  partition_.initialise(model_);
  receive(30, 1);
  run_with(5_ps, 5_ps);
  receive(event(10, 0, 1));  // arrives at LP 1 at 15
  run_with(10_ps, 12_ps);
  EXPECT_EQ(times(1), (std::vector<std::int64_t>{15, 30}));
  EXPECT_EQ(stats().rolled_back_events, 1u);
}

TEST_F(RollbackTest, CollectionForgetsNothingThatMayBeUndone) {
  partition_.initialise(model_);
  for (const int t : {10, 20, 30, 40}) receive(t);
  run();
  partition_.collect(20_ps);
  receive(25);
  run(Time::max(), 20_ps);
  EXPECT_EQ(times(), (std::vector<std::int64_t>{10, 20, 25, 30, 40}));
}

TEST_F(RollbackTest, GivingUpLeavesExactlyTheEventsUpToGvt) {
  partition_.initialise(model_);
  for (const int t : {10, 20, 30, 40}) receive(t);
  run();
  partition_.give_up_beyond(20_ps);
  EXPECT_EQ(times(), (std::vector<std::int64_t>{10, 20}));
  EXPECT_EQ(stats().committed_events(), 2u);
  EXPECT_EQ(output_.values, (std::vector<std::uint64_t>{10, 20}));
}

TEST_F(RollbackTest, AFailedConditionEndsTheRunOnlyWhenItCommits) {
  partition_.initialise(model_);
  const Event doomed = receive(event(10, 0, 99));  // 99 is no LP
  run();
  receive_anti(doomed);
  run();
  partition_.collect(Time::max());
  receive(event(10, 0, 99));
  run();
  EXPECT_EXIT(partition_.collect(Time::max()), testing::ExitedWithCode(1),
              "sent to no logical process");
}

}  // namespace
}  // namespace exawarp::tests
