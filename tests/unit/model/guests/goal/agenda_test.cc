// What a host's agenda costs, and that the audit sees into it.
#include <gtest/gtest.h>

#include <cstring>

#include "model/guests/goal/schedule_writer.h"
#include "partition/block.h"
#include "pdes/transport.h"
#include "pdes/transport_in_process.h"
#include "tests/support/goal_runs.h"

namespace exawarp::tests {
namespace {

using model::goal::Host;
using model::goal::LogGops;
using model::goal::OpType;
using model::goal::Schedule;
using model::goal::ScheduleWriter;
using model::goal::Which;

constexpr tests::RunCase kOptimistic{.sync = pdes::Sync::optimistic};

// `count` calculations that are free from the start.
Schedule independent(std::uint32_t count, std::uint64_t ns) {
  ScheduleWriter writer(1);
  for (std::uint32_t i = 0; i < count; ++i) writer.add(0, {.type = OpType::calc, .size = ns});
  return Schedule::from_bytes(writer.bytes(), "independent");
}

void expect_history_per_operation(const Schedule& schedule, std::int64_t finish) {
  const tests::GoalRun run = tests::run_goal(schedule, {}, kOptimistic);
  EXPECT_EQ(run.unended, 0u);
  EXPECT_EQ(*std::ranges::max_element(run.finish), finish);
  EXPECT_LT(run.log_bytes, 256 * schedule.operation_count());  // logs grow by doubling
}

TEST(AgendaCost, OfWhatWaitsForOneCpuIsLinear) {
  expect_history_per_operation(independent(20'000, 10), 200'000);
}

TEST(AgendaCost, OfWhatIsDoneInOneEventIsLinear) {
  expect_history_per_operation(independent(20'000, 0), 0);
}

TEST(AgendaCost, OfWhatOneOperationReleasesIsLinear) {
  // On two CPUs by turns, when the first, on a third, is over.
  constexpr std::uint32_t kCount = 20'000;
  ScheduleWriter writer(1);
  writer.add(0, {.type = OpType::calc, .cpu = 2, .size = 100});
  for (std::uint32_t i = 0; i < kCount; ++i) {
    const auto cpu = static_cast<std::uint8_t>(i % 2);
    const auto op = writer.add(0, {.type = OpType::calc, .cpu = cpu, .size = 1});
    writer.requires_end(0, op, 0);
  }
  expect_history_per_operation(Schedule::from_bytes(writer.bytes(), "released"), 100 + kCount / 2);
}

TEST(AgendaCost, OfMessagesThatWaitForOneCpuIsLinear) {
  constexpr std::uint32_t kSenders = 4'000;
  ScheduleWriter writer(kSenders + 1);
  for (std::uint32_t i = 1; i <= kSenders; ++i) {
    writer.add(0, {.type = OpType::receive, .peer = i, .size = 1});
    writer.add(i, {.type = OpType::send, .peer = 0, .size = 1});
  }
  // The first arrives at L + o; each takes the CPU for o.
  const Schedule schedule = Schedule::from_bytes(writer.bytes(), "incast");
  const tests::GoalRun run = tests::run_goal(schedule, {}, kOptimistic);
  EXPECT_EQ(run.finish[0], 2500 + 1500 + std::int64_t{kSenders} * 1500);
  EXPECT_LT(run.log_bytes, 1000 * std::uint64_t{kSenders});  // in a message four events
}

// A handler that changes what follows an operation in its run behind the context's back.
struct FaultyHost : Host {
  static void handle(State& s, const pdes::Event& event, pdes::Context& ctx) {
    Host::handle(s, event, ctx);
    Which* followers;  // the agenda's first member
    std::memcpy(&followers, &s.agenda, sizeof followers);
    followers[3].ordinal += 100;
  }
};

// Another that changes a word of the agenda's first run which no digest reads.
struct SlyHost : Host {
  static void handle(State& s, const pdes::Event& event, pdes::Context& ctx) {
    Host::handle(s, event, ctx);
    std::byte* runs;  // the agenda's second member
    std::memcpy(&runs, reinterpret_cast<const std::byte*>(&s.agenda) + sizeof runs, sizeof runs);
    constexpr std::size_t kUnusedWord = 52;
    runs[kUnusedWord] ^= std::byte{1};
  }
};

template <class Faulty>
class FaultyGoal final : public LogGops {
 public:
  explicit FaultyGoal(const Schedule& schedule) : LogGops(schedule, {}) {}
  [[nodiscard]] std::span<const pdes::LpType> types() const override { return {&type_, 1}; }

 private:
  pdes::LpType type_ = pdes::make_lp_type<Faulty>("faulty host");
};

template <class Faulty>
void run_faulty() {
  const Schedule schedule = independent(6, 10);
  const FaultyGoal<Faulty> model(schedule);
  const auto transport = pdes::make_single_transport();
  pdes::Engine engine(model, partition::place_in_blocks({.atoms = 1, .partitions_per_rank = 1}),
                      {.sync = pdes::Sync::optimistic, .threads = 1, .audit_probability = 1},
                      *transport);
  engine.run();
}

TEST(AgendaAudit, FindsAWriteIntoTheAgendaThatByPassesTheContext) {
  EXPECT_EXIT(run_faulty<FaultyHost>(), testing::ExitedWithCode(1),
              "rollback audit.*faulty host");
  EXPECT_EXIT(run_faulty<SlyHost>(), testing::ExitedWithCode(1), "rollback audit.*faulty host");
}

}  // namespace
}  // namespace exawarp::tests
