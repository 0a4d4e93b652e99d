// Power over time: one trace in every mode, on any number of ranks, threads and partitions, with
// rollbacks forced; and a digest that knows nothing of it.
#include <gtest/gtest.h>

#include "model/energy/power_trace.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using core::Time;

class PowerModes : public testing::Test {
 protected:
  static model::ClusterOptions options(bool traced) {
    return {.compute_jitter = 0.1, .seed = 11, .trace_power = traced};
  }
  static void expect_equal(const model::PowerTrace& a, const model::PowerTrace& b,
                           const std::string& what) {
    EXPECT_EQ(a.width(), b.width()) << what;
    ASSERT_EQ(a.series().size(), b.series().size()) << what;
    for (std::size_t s = 0; s < a.series().size(); ++s) {
      EXPECT_EQ(a.series()[s].name, b.series()[s].name) << what;
      EXPECT_EQ(a.series()[s].watts, b.series()[s].watts) << what << ' ' << a.series()[s].name;
    }
  }

  model::WorkloadGraph graph_ = small_training_step({.tensor = 4, .data = 3, .pipeline = 3});
  model::Cluster cluster_{graph_, powered_accelerator(), round_fabric(), options(true)};
  // Narrow bins, few of them: they double on the way, at other times in each partition.
  TracedPower power_{.system = {.node_mw = 500'000},
                     .options = {.bin = Time{1'000}, .bins_max = 64, .devices = {0, 7, 35}}};
};

TEST_F(PowerModes, GiveOneTrace) {
  const ClusterRun expected = run_cluster(cluster_, {}, &power_);
  EXPECT_GT(expected.power->width(), Time{1'000});
  for (const RunCase& run : differential_cases(Time{500'000})) {
    const ClusterRun result = run_cluster(cluster_, run, &power_);
    EXPECT_EQ(to_hex(result.result.digest), to_hex(expected.result.digest)) << run.text();
    expect_equal(*expected.power, *result.power, run.text());
  }
}

TEST_F(PowerModes, GiveTheSameTraceWhereEventsAreUndone) {
  const ClusterRun expected = run_cluster(cluster_, {}, &power_);
  const ClusterRun result = run_cluster(cluster_, audited_case(Time{50'000'000}, 0.5), &power_);
  EXPECT_GT(result.result.total.rolled_back_events, 0u);
  EXPECT_GT(result.result.total.audited_events, 1'000u);
  expect_equal(*expected.power, *result.power, "audited");
}

TEST_F(PowerModes, LeaveTheDigestAlone) {
  const model::Cluster silent(graph_, powered_accelerator(), round_fabric(), options(false));
  EXPECT_EQ(to_hex(run_cluster(silent).result.digest),
            to_hex(run_cluster(cluster_, {}, &power_).result.digest));
}

TEST_F(PowerModes, GiveOneTraceOfPackets) {
  model::ClusterOptions packets = options(true);
  packets.packets.emplace();
  const model::Cluster cluster(graph_, powered_accelerator(), round_fabric(), packets);
  const ClusterRun expected = run_cluster(cluster, {}, &power_);
  const RunCase optimistic{
      .sync = pdes::Sync::optimistic, .ranks = 2, .threads = 2, .partitions_per_rank = 3};
  expect_equal(*expected.power, *run_cluster(cluster, optimistic, &power_).power, "packets");
}

}  // namespace
}  // namespace exawarp::tests
