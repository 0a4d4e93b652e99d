// The LogGOPS rules one by one, with times worked out by hand.
// Parameters unless said otherwise: L 100, o 10, g 20, G 1, O 0, S 1000.
#include <gtest/gtest.h>

#include "core/error.h"
#include "io/formats/goal/text_reader.h"
#include "tests/support/goal_runs.h"

namespace exawarp::tests {
namespace {

using model::goal::Parameters;
using model::goal::Schedule;
using Finish = std::vector<std::int64_t>;

constexpr Parameters kRound{.L = 100, .o = 10, .g = 20, .G = 1, .O = 0, .S = 1000};

Schedule schedule_of(const std::string& text) {
  return Schedule::from_bytes(io::read_goal_text(text, "text"), "text");
}

Finish finish_of(const std::string& text, const Parameters& p = kRound) {
  const tests::GoalRun run = tests::run_goal(schedule_of(text), p);
  EXPECT_EQ(run.unended, 0u);
  return run.finish;
}

TEST(LogGops, AMessageTakesOverheadLatencyAndOverhead) {
  // The head arrives at 10 + 100; the receiver is busy for 10 + 4 bytes behind the head.
  EXPECT_EQ(finish_of("num_ranks 2 rank 0 { send 5b to 1 } rank 1 { recv 5b from 0 }"),
            (Finish{10, 124}));
}

TEST(LogGops, BytesCostCpuTimeAtBothEnds) {
  Parameters p = kRound;
  p.O = 3;
  // Sender 10 + 4 * 3; receiver 110 + 10 + 4 * max(3, 1).
  EXPECT_EQ(finish_of("num_ranks 2 rank 0 { send 5b to 1 } rank 1 { recv 5b from 0 }", p),
            (Finish{22, 132}));
}

TEST(LogGops, AnEmptyMessageCostsWhatOneByteDoes) {
  EXPECT_EQ(finish_of("num_ranks 2 rank 0 { send 0b to 1 } rank 1 { recv 0b from 0 }"),
            (Finish{10, 120}));
}

TEST(LogGops, TheNicSpacesMessagesByTheGap) {
  // CPU free at 10, NIC at 20 + 4: the second send runs from 24, arrives at 134.
  EXPECT_EQ(finish_of("num_ranks 2 rank 0 { send 5b to 1 send 5b to 1 }"
                      "rank 1 { recv 5b from 0 recv 5b from 0 }"),
            (Finish{34, 148}));
}

TEST(LogGops, ASecondNicNeedNotWaitForTheFirst) {
  // The second send waits for the CPU alone, till 10; the receiver's CPU is busy till 124.
  EXPECT_EQ(finish_of("num_ranks 2 rank 0 { send 5b to 1 send 5b to 1 nic 1 }"
                      "rank 1 { recv 5b from 0 recv 5b from 0 }"),
            (Finish{20, 138}));
}

TEST(LogGops, AMessageWaitsForABusyCpu) {
  EXPECT_EQ(finish_of("num_ranks 2 rank 0 { send 5b to 1 } rank 1 { calc 500 recv 5b from 0 }"),
            (Finish{10, 514}));
}

TEST(LogGops, CalculationsOfTwoCpusOverlap) {
  EXPECT_EQ(finish_of("num_ranks 1 rank 0 { calc 70 calc 50 cpu 1 calc 30 }"), (Finish{100}));
}

TEST(LogGops, ADependentOnAnotherCpuWaitsForTheEnd) {
  EXPECT_EQ(finish_of("num_ranks 1 rank 0 { a: calc 70 b: calc 50 cpu 1 b requires a }"),
            (Finish{120}));
}

TEST(LogGops, AnOperationStartsWhenAllThatItRequiresHaveEnded) {
  // Whichever of the two is begun last.
  const std::string waits = "c: calc 10 cpu 2 c requires a c requires b }";
  EXPECT_EQ(finish_of("num_ranks 1 rank 0 { a: calc 100 b: calc 50 cpu 1 " + waits),
            (Finish{110}));
  EXPECT_EQ(finish_of("num_ranks 1 rank 0 { a: calc 50 b: calc 100 cpu 1 " + waits),
            (Finish{110}));
  // b is begun at 30, and ends before a.
  EXPECT_EQ(finish_of("num_ranks 1 rank 0 { z: calc 30 cpu 3 a: calc 100 b: calc 50 cpu 1 "
                      "b requires z " + waits),
            (Finish{110}));
}

TEST(LogGops, AnOperationWaitsForStartsAndEnds) {
  // b starts at 80, a ends at 60.
  EXPECT_EQ(finish_of("num_ranks 1 rank 0 { z: calc 80 cpu 3 a: calc 60 b: calc 5 cpu 1 "
                      "b requires z c: calc 10 cpu 2 c requires a c irequires b }"),
            (Finish{90}));
  // One operation may be waited for twice: its end counts.
  EXPECT_EQ(finish_of("num_ranks 1 rank 0 { a: calc 60 c: calc 10 cpu 2 c requires a "
                      "c irequires a }"),
            (Finish{70}));
}

TEST(LogGops, AReceiveIsPostedWhenAllThatItRequiresHaveEnded) {
  // The message is in at 120; posted at 900, it lets x go on at 900.
  EXPECT_EQ(finish_of("num_ranks 2 rank 0 { send 1b to 1 } rank 1 { a: calc 900 cpu 1 "
                      "b: calc 50 cpu 2 r: recv 1b from 0 r requires a r requires b "
                      "x: calc 7 cpu 3 x requires r }"),
            (Finish{10, 907}));
}

TEST(LogGops, AsLogGopsimItsOwnCpuAloneCounts) {
  Parameters p = kRound;
  p.as_loggopsim = true;
  EXPECT_EQ(finish_of("num_ranks 1 rank 0 { a: calc 100 b: calc 50 cpu 1 c: calc 10 cpu 2 "
                      "c requires a c requires b }", p),
            (Finish{100}));
  // a runs from 100 to 200; s, which needs it, is sent at 0 and arrives at 110: by then rank 1,
  // whose calculation of 50 was over, is idle.
  EXPECT_EQ(finish_of("num_ranks 2 rank 0 { z: calc 100 a: calc 100 a requires z "
                      "s: send 1b to 1 cpu 1 s requires a } rank 1 { calc 50 recv 1b from 0 }", p),
            (Finish{200, 120}));
}

TEST(LogGops, IrequiresWaitsForTheStartOnly) {
  EXPECT_EQ(finish_of("num_ranks 1 rank 0 { z: calc 5 a: calc 70 a requires z "
                      "b: calc 90 cpu 1 b irequires a }"),
            (Finish{95}));
}

TEST(LogGops, AnEagerSendIsOverAtOnce) {
  // The receive is posted at 900; the sender goes on at 10.
  EXPECT_EQ(finish_of("num_ranks 2 rank 0 { a: send 1000b to 1 b: calc 7 b requires a }"
                      "rank 1 { c: calc 5000 r: recv 1000b from 0 r requires c }"),
            (Finish{17, 5000 + 10 + 999}));
}

TEST(LogGops, ARendezvousIsOverAtTheMatch) {
  // 1001 bytes > S. The message is taken in when the CPU is free, at 5000, and matched when the
  // receive is posted: it was not yet, for that too waited for the CPU, till 6010.
  EXPECT_EQ(finish_of("num_ranks 2 rank 0 { a: send 1001b to 1 b: calc 7 b requires a }"
                      "rank 1 { c: calc 5000 r: recv 1001b from 0 r requires c }"),
            (Finish{5007, 6010}));
  // Posted in time, it is matched when the head arrives, at 110.
  EXPECT_EQ(finish_of("num_ranks 2 rank 0 { a: send 1001b to 1 b: calc 7 b requires a }"
                      "rank 1 { recv 1001b from 0 }"),
            (Finish{117, 1120}));
}

TEST(LogGops, MatchesInTheOrderPostedAndSent) {
  // Equal (source, tag): the first message (1 byte) meets the first receive, whose calculation is
  // the short one. Taken in at 110..120 and 130..149, so: 120 + 1 fits before the second's end.
  EXPECT_EQ(finish_of("num_ranks 2 rank 0 { send 1b to 1 send 10b to 1 }"
                      "rank 1 { a: recv 1b from 0 b: recv 10b from 0 "
                      "x: calc 1 x requires a y: calc 1000 y requires b }"),
            (Finish{30, 1149}));
}

TEST(LogGops, TagsKeepMessagesApart) {
  // The second message is the one that `a` waits for.
  EXPECT_EQ(finish_of("num_ranks 2 rank 0 { send 1b to 1 tag 5 send 1b to 1 tag 6 }"
                      "rank 1 { a: recv 1b from 0 tag 6 b: recv 1b from 0 tag 5 "
                      "x: calc 100 x requires a }"),
            (Finish{30, 240}));
}

TEST(LogGops, WildcardsTakeWhatComesFirst) {
  // From rank 2 at 110, from rank 1 at 610; either receive takes any.
  EXPECT_EQ(finish_of("num_ranks 3 rank 0 { a: recv 1b from -1 tag -1 b: recv 1b from -1 tag 4 "
                      "x: calc 50 x requires a }"
                      "rank 1 { c: calc 500 s: send 1b to 0 tag 4 s requires c }"
                      "rank 2 { send 1b to 0 tag 9 }"),
            (Finish{620, 510, 10}));
}

TEST(LogGops, UnexpectedMessagesWaitInTheOrderOfArrival) {
  // Both are in before the receives are posted, at 1000; the first one to be posted is satisfied
  // by the first message, whatever its peer.
  EXPECT_EQ(finish_of("num_ranks 3 rank 0 { c: calc 1000 a: recv 1b from -1 a requires c "
                      "b: recv 1b from 1 b requires a }"
                      "rank 1 { d: calc 50 s: send 1b to 0 s requires d }"
                      "rank 2 { send 1b to 0 }"),
            (Finish{1030, 60, 10}));
}

TEST(LogGops, WhatNeverMeetsIsLeft) {
  const tests::GoalRun run = tests::run_goal(
      schedule_of("num_ranks 2 rank 0 { send 1b to 1 tag 3 a: recv 1b from 1 b: calc 5 "
                  "b requires a } rank 1 { calc 9 }"),
      kRound);
  EXPECT_EQ(run.unended, 2u);
  EXPECT_EQ(run.messages, 1u);
}

TEST(LogGops, RefusesMessagesThatTakeNoTime) {
  const Schedule schedule = schedule_of("num_ranks 1 rank 0 { }");
  EXPECT_THROW(model::goal::LogGops(schedule, {.L = 0, .o = 0}), core::InputError);
}

TEST(LogGops, RefusesASchedulePastTheEndOfTime) {
  const Schedule schedule = schedule_of("num_ranks 1 rank 0 { calc 9007199254740991 }");
  EXPECT_THROW(model::goal::LogGops(schedule, {.units_per_ns = 1'000'000}), core::InputError);
}

}  // namespace
}  // namespace exawarp::tests
