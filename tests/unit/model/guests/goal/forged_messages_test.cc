// A host believes no index that a message brings: one that names no operation, or one that was sent
// to another host, ends the run.
#include <gtest/gtest.h>

#include <string>

#include "model/guests/goal/host.h"
#include "model/guests/goal/schedule_writer.h"
#include "partition/block.h"
#include "pdes/context.h"
#include "pdes/engine.h"
#include "pdes/transport.h"

namespace exawarp::tests {
namespace {

using model::goal::LogGops;
using model::goal::OpType;
using model::goal::Schedule;

// As a host sends them, both for an arrival and for the end of a rendezvous.
struct Message {
  std::int64_t creator_created = 0, before_created = 0;
  std::uint32_t op = 0, creator = 1u << 12;
  std::uint64_t before_place = 0;
};

// Rank 0 sends to rank 1 and to rank 2; what it sends first is forged.
Schedule two_sends() {
  model::goal::ScheduleWriter writer(3);
  for (const std::uint32_t peer : {1u, 2u}) {
    writer.add(0, {.type = OpType::send, .peer = peer, .size = 8});
    writer.add(peer, {.type = OpType::receive, .peer = 0, .size = 8});
  }
  return Schedule::from_bytes(writer.bytes(), "two_sends");
}

class Forger final : public LogGops {
 public:
  Forger(const Schedule& schedule, pdes::EventKind kind, std::uint32_t op)
      : LogGops(schedule, {}), kind_(kind), op_(op) {}
  void initialise(pdes::LpId lp, void* state, pdes::Context& ctx) const override {
    LogGops::initialise(lp, state, ctx);
    if (lp.value == 0) ctx.send(pdes::LpId{1}, lookahead(), kind_, Message{.op = op_});
  }

 private:
  pdes::EventKind kind_;
  std::uint32_t op_;
};

void run(pdes::EventKind kind, std::uint32_t op, pdes::Sync sync) {
  const Schedule schedule = two_sends();
  const Forger model(schedule, kind, op);
  const auto transport = pdes::make_single_transport();
  pdes::Engine engine(model, partition::place_in_blocks({.atoms = 3, .partitions_per_rank = 1}),
                      {.sync = sync}, *transport);
  engine.run();
}

void expect_end(pdes::EventKind kind, std::uint32_t op, const std::string& text) {
  for (const pdes::Sync sync : {pdes::Sync::sequential, pdes::Sync::optimistic}) {
    EXPECT_EXIT(run(kind, op, sync), testing::ExitedWithCode(1), text + ".*LP=1 LVT=");
  }
}

TEST(GoalHost, EndsTheRunAtAMessageOfNoOperation) {
  expect_end(model::goal::kArrival, 0x7fffffff, "received a message of no operation");
}

TEST(GoalHost, EndsTheRunAtAMessageToAnother) {
  expect_end(model::goal::kArrival, 1, "sent to nobody, or to another");
}

TEST(GoalHost, EndsTheRunAtARendezvousOfNoOperation) {
  expect_end(model::goal::kMatched, 7, "a rendezvous of no operation ended");
}

TEST(GoalHost, EndsTheRunAtARendezvousThatIsNone) {
  expect_end(model::goal::kMatched, 0, "a rendezvous ended that was with another host");
}

}  // namespace
}  // namespace exawarp::tests
