// How far a run is, said where it stands between two epochs.
#include "model/work_done.h"

#include <gtest/gtest.h>

#include <numeric>

#include "model/workload/validate.h"
#include "pdes/transport.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using namespace model;

struct Stand {
  double events = 0;  // executed
  double share = 0;   // as WorkDone says
  core::Time last;
};

// Of a small training step at packet fidelity, executed before `end`.
Stand stand_at(core::Time end, bool trains) {
  WorkloadGraph graph = small_training_step({.micro_batches = 8});
  validate(graph);
  ClusterOptions options;
  options.packets.emplace();
  options.packets->packet_bytes = 100;
  options.packets->trains = trains;
  const Cluster cluster(graph, round_accelerator(), round_fabric(), options);
  const Traffic traffic = cluster.traffic();
  const auto expected =
      std::accumulate(traffic.work.begin(), traffic.work.end(), std::uint64_t{0});
  const auto transport = pdes::make_single_transport();
  pdes::Engine engine(cluster, blocks_of(cluster.lp_count(), cluster.atom_shift())(1, 1),
                      {.sync = pdes::Sync::sequential, .end = end}, *transport);
  const pdes::RunResult result = engine.run();
  WorkDone done(cluster);
  engine.visit([&](core::LpId lp, const void* state) { done.add(lp, state); });
  const auto events = static_cast<double>(result.total.committed_events());
  return {events, done.share(events, static_cast<double>(expected)), result.last_event};
}

// The expected events are an estimate.
TEST(WorkDone, IsAboutAllAtTheEnd) {
  for (const bool trains : {false, true}) {
    EXPECT_NEAR(stand_at(core::kEndOfTime, trains).share, 1, 0.05) << trains;
  }
}

TEST(WorkDone, IsTheShareOfTheEventsWhereEachPacketIsOne) {
  const Stand all = stand_at(core::kEndOfTime, false);
  for (const int percent : {25, 50, 75}) {
    const Stand part = stand_at(core::Time{all.last.ps / 100 * percent}, false);
    EXPECT_NEAR(part.share, part.events / all.events, 0.1) << percent;
  }
}

// Trains are fewer events than expected, which must not look like less work.
TEST(WorkDone, GrowsWithTrains) {
  double before = 0;
  for (const int percent : {10, 30, 50, 70, 90}) {
    const Stand all = stand_at(core::kEndOfTime, true);
    const Stand part = stand_at(core::Time{all.last.ps / 100 * percent}, true);
    EXPECT_GT(part.share, before) << percent;
    EXPECT_LT(part.share, all.share) << percent;
    before = part.share;
  }
}

TEST(WorkDone, IsNothingAtFirst) { EXPECT_EQ(stand_at(core::Time{1}, true).share, 0); }

}  // namespace
}  // namespace exawarp::tests
