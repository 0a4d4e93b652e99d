// What the readers of GOAL refuse, with the text they say; and what a schedule becomes elsewhere.
#include <gtest/gtest.h>

#include "core/error.h"
#include "io/formats/goal/import.h"
#include "io/formats/goal/parameters.h"
#include "io/formats/goal/text_reader.h"
#include "model/guests/goal/schedule_writer.h"
#include "model/workload/validate.h"

namespace exawarp::tests {
namespace {

using model::goal::Schedule;

template <class Work>
std::string refusal_of(const Work& work) {
  try {
    work();
  } catch (const core::InputError& error) {
    return error.what();
  }
  return "accepted";
}

struct BadText {
  const char* text;
  const char* error;
};

constexpr BadText kBadTexts[] = {
    {"", "g:1:1: \"\" is not expected here; expected \"num_ranks\""},
    {"num_ranks 0", "g:1:11: no ranks; expected at least one"},
    {"num_ranks 9999", "g:1:11: 9999 ranks in a file of 14 bytes; expected a block for each"},
    {"num_ranks 2\nrank 0 { }\n", "g:3:1: rank 1 of 2 is missing; expected rank 1 { ... }"},
    {"num_ranks 1 rank 1 { }",
     "g:1:18: rank \"1\" is too large; expected less than 1"},
    {"num_ranks 1 rank 0 { } rank 0 { }", "g:1:29: rank 0 occurs twice"},
    {"num_ranks 1 rank 0 {\n  l1: calc 5",
     "g:2:13: the file ends inside rank 0; expected \"}\""},
    {"num_ranks 1 rank 0 {\n  l1: wait 5 }",
     "g:2:7: \"wait\" is no operation; expected send, recv or calc"},
    {"num_ranks 1 rank 0 { calc -5 }", "g:1:27: \"-5\" is no time in ns; expected a whole number"},
    {"num_ranks 1 rank 0 { calc 99999999999999999999 }",
     "g:1:27: time in ns \"99999999999999999999\" is too large; expected less than "
     "9007199254740992"},
    {"num_ranks 1 rank 0 { send 5 to 0 }", "g:1:29: \"to\" is not expected here; expected \"b\""},
    {"num_ranks 1 rank 0 { send 5b from 0 }",
     "g:1:30: \"from\" is not expected here; expected \"to\""},
    {"num_ranks 1 rank 0 { send 5b to -1 }", "g:1:33: \"-1\" is no rank; expected a whole number"},
    {"num_ranks 1 rank 0 { calc 5 nic 1 }",
     "g:1:33: \"1\" is not expected here; expected \":\", requires or irequires"},
    {"num_ranks 1 rank 0 { calc 5 cpu 1 cpu 2 }", "g:1:35: \"cpu\" is given twice"},
    {"num_ranks 1 rank 0 { a: calc 5 a requires b }",
     "g:1:43: label \"b\" is not known; expected one of an operation above it in this rank"},
    {"num_ranks 1 rank 0 { a: calc 5 a needs a }",
     "g:1:34: \"needs\" is not expected here; expected \":\", requires or irequires"},
    {"num_ranks 1 rank 0 { a: calc 5 a: calc 6 }", "g:1:32: label \"a\" occurs twice in rank 0"},
    {"num_ranks 1 rank 0 { a: calc 5 a requires a }",
     "g:1:43: an operation cannot wait for itself"},
    {"num_ranks 1 /* rank 0 { }", "g:1:13: a comment that nothing ends; expected \"*/\""},
};

TEST(GoalText, SaysWhereAndWhatIsWrong) {
  for (const BadText& bad : kBadTexts) {
    EXPECT_EQ(refusal_of([&] { static_cast<void>(io::read_goal_text(bad.text, "g")); }), bad.error)
        << bad.text;
  }
}

TEST(GoalText, SkipsCommentsAndTakesOperationsWithoutALabel) {
  const Schedule schedule = Schedule::from_bytes(
      io::read_goal_text("num_ranks 1 // one\nrank 0 { /* a\nb */ calc 5 x:calc 6 cpu 2 }", "g"),
      "g");
  EXPECT_EQ(schedule.op_count(0), 2u);
}

Schedule two_calculations(bool cyclic) {
  model::goal::ScheduleWriter writer(1);
  const auto a = writer.add(0, {.size = 5});
  const auto b = writer.add(0, {.size = 6});
  writer.requires_end(0, b, a);
  if (cyclic) writer.requires_end(0, a, b);
  return Schedule::from_bytes(writer.bytes(), "g");
}

TEST(GoalBinary, RefusesACycle) {
  EXPECT_EQ(refusal_of([] { two_calculations(true); }),
            "g: rank 0: operation 0 waits for itself through its dependences (2 operations do or "
            "follow one that does)");
}

// Overwrites one byte of a sound schedule: 8 + 6 + 16 bytes of header, then 2 counts, a root and
// two operations.
std::string refusal_with(std::size_t at, std::uint8_t value) {
  model::goal::ScheduleWriter writer(1);
  const auto a = writer.add(0, {.size = 5});
  const auto b = writer.add(0, {.size = 6});
  writer.requires_end(0, b, a);
  std::vector<std::byte> bytes = writer.bytes();
  bytes[at] = std::byte{value};
  return refusal_of([&] { Schedule::from_bytes(std::move(bytes), "g"); });
}

TEST(GoalBinary, SaysWhatIsWrong) {
  constexpr std::size_t kRank = 30;       // the rank's operation count
  constexpr std::size_t kOp = kRank + 12;
  EXPECT_EQ(refusal_with(0, 1),
            "g: is no binary GOAL schedule: it starts with 4097; expected 4223");
  EXPECT_EQ(refusal_with(9, 1), "g: 257 ranks in 124 bytes; expected 1 to 16777216 ranks, each "
                                "with its place in the file");
  EXPECT_EQ(refusal_with(15, 9), "g: rank 0: lies at [2326, 116), outside the file of 124 bytes");
  EXPECT_EQ(refusal_with(kRank, 3),
            "g: rank 0: 3 operations and 1 roots take 129 bytes, it has 94");
  EXPECT_EQ(refusal_with(kRank + 8, 1),
            "g: rank 0: root 1 is no operation without dependences, or is listed twice");
  EXPECT_EQ(refusal_with(kOp, 1), "g: rank 0: operation 0 counts 1 dependences, 0 operations name "
                                  "it");
  EXPECT_EQ(refusal_with(kOp + 4, 9), "g: rank 0: operation 0: type 9; expected 1 (send), 2 "
                                      "(receive) or 3 (calculation)");
  EXPECT_EQ(refusal_with(kOp + 21, 1), "g: rank 0: operation 0: CPU 1; the highest of the "
                                       "schedule is 0");
  EXPECT_EQ(refusal_with(kOp + 23, 7),
            "g: rank 0: operation 0: dependents [0, 0+7) lie outside its rank's 1");
  EXPECT_EQ(refusal_with(kOp + 2 * 39, 2),
            "g: rank 0: operation 0: dependent 2; the rank has 2 operations");
}

TEST(GoalParameters, AreExactInTheCoarsestUnitThatHoldsThem) {
  const auto p = io::read_goal_parameters(
      {.L = "3700", .o = "200", .g = "5", .G = "0.04", .O = "0.00", .S = "0"});
  EXPECT_EQ(p.units_per_ns, 100u);
  EXPECT_EQ(p.L, 370'000);
  EXPECT_EQ(p.G, 4);
  EXPECT_EQ(io::format_ns(1204, 100), "12.04");
  EXPECT_EQ(io::format_ns(1200, 100), "12");
}

TEST(GoalParameters, RefusesWhatIsNoTime) {
  for (const char* text : {"", "-1", "1e3", "0.1234567", "1234567890", "6 ns", ".5"})
    EXPECT_THROW(io::read_goal_parameters({.G = text}), core::InputError) << text;
}

TEST(GoalImport, MakesAWorkloadThatCanFinish) {
  const Schedule schedule =
      io::open_goal(EXAWARP_SOURCE_DIR "/tests/golden/goal/allreduce_recdoub.64.goal");
  const model::WorkloadGraph graph = io::import_goal(schedule);
  EXPECT_EQ(graph.device_count(), 64u);
  EXPECT_EQ(graph.program(0).node_count(), schedule.op_count(0));
  EXPECT_TRUE(model::find_unmatched(graph).empty());
}

TEST(GoalImport, RefusesWildcards) {
  const Schedule schedule = Schedule::from_bytes(
      io::read_goal_text("num_ranks 2 rank 0 { send 1b to 1 } rank 1 { recv 1b from -1 }", "g"),
      "g");
  EXPECT_EQ(refusal_of([&] { io::import_goal(schedule); }),
            "g: rank 1: operation 0: a workload cannot say \"from any rank\"; `exawarp goal` runs "
            "it");
}

}  // namespace
}  // namespace exawarp::tests
