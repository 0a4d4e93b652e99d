// Timelines: one in every mode, on any number of ranks, threads and partitions, with rollbacks
// forced; and a digest that knows nothing of it.
#include "model/timeline/timeline.h"

#include <gtest/gtest.h>

#include "pdes/transport.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using core::Time;
using model::Timeline;

class TimelineModes : public testing::Test {
 protected:
  static model::ClusterOptions options(bool traced) {
    model::ClusterOptions out{.compute_jitter = 0.1, .seed = 11};
    if (traced) out.timeline = {0, 1, 7, 18, 35};
    return out;
  }
  struct Traced {
    pdes::RunResult result;
    std::vector<Timeline::Slice> slices;
  };
  // Ranks share the timeline, so that one has it all.
  static Traced run(const model::Cluster& cluster, const RunCase& how,
                    const model::TimelineOptions& options = {}) {
    Timeline timeline(how.ranks * how.partitions_per_rank, options, nullptr);
    Traced out{.result = run_case({.model = &cluster,
                                   .placer = blocks_of(cluster.lp_count(), cluster.atom_shift())},
                                  how, &timeline),
               .slices = {}};
    const auto transport = pdes::make_single_transport();
    timeline.combine(*transport);
    timeline.finish(cluster, {.at = out.result.last_event, .all_finished = true});
    out.slices = timeline.slices();
    return out;
  }

  model::WorkloadGraph graph_ = small_training_step({.tensor = 4, .data = 3, .pipeline = 3});
  model::Cluster cluster_{graph_, round_accelerator(), round_fabric(), options(true)};
};

TEST_F(TimelineModes, GiveOneTimeline) {
  const Traced expected = run(cluster_, {});
  EXPECT_GT(expected.slices.size(), 300u);
  const model::TimelineOptions few{.slices_max = expected.slices.size() / 2};
  const Traced half = run(cluster_, {}, few);
  EXPECT_LT(half.slices.size(), expected.slices.size());
  for (const RunCase& how : differential_cases(Time{500'000})) {
    const Traced traced = run(cluster_, how);
    EXPECT_EQ(to_hex(traced.result.digest), to_hex(expected.result.digest)) << how.text();
    EXPECT_EQ(traced.slices, expected.slices) << how.text();
    EXPECT_EQ(run(cluster_, how, few).slices, half.slices) << how.text();
  }
}

TEST_F(TimelineModes, GiveTheSameOneWhereEventsAreUndone) {
  const Traced undone = run(cluster_, audited_case(Time{50'000'000}, 0.5));
  EXPECT_GT(undone.result.total.rolled_back_events, 0u);
  EXPECT_EQ(undone.slices, run(cluster_, {}).slices);
}

TEST_F(TimelineModes, LeaveTheDigestAlone) {
  const model::Cluster silent(graph_, round_accelerator(), round_fabric(), options(false));
  EXPECT_EQ(to_hex(run(silent, {}).result.digest), to_hex(run(cluster_, {}).result.digest));
}

TEST_F(TimelineModes, GiveOneOfPackets) {
  model::ClusterOptions packets = options(true);
  packets.packets.emplace();
  const model::Cluster cluster(graph_, round_accelerator(), round_fabric(), packets);
  const RunCase optimistic{
      .sync = pdes::Sync::optimistic, .ranks = 2, .threads = 2, .partitions_per_rank = 3};
  EXPECT_EQ(run(cluster, optimistic).slices, run(cluster, {}).slices);
}

}  // namespace
}  // namespace exawarp::tests
