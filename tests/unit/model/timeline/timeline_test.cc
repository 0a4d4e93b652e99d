// Timelines, against the account of the devices' time and against what one sees from the workload.
#include "model/timeline/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "model/device/device_model.h"
#include "pdes/transport.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using core::Time;
using model::TimeClass;
using model::Timeline;
using model::TimelineOptions;
using Slices = std::vector<Timeline::Slice>;

constexpr std::uint32_t kPartitions = 4;

// All that the devices of a run emit.
class Recorder : public pdes::EmissionSink {
 public:
  void deliver(core::PartitionId partition, const pdes::Emission& emission) override {
    all.emplace_back(partition, emission);
  }
  std::vector<std::pair<core::PartitionId, pdes::Emission>> all;
};

class OfAClusterOf12 : public testing::Test {
 protected:
  OfAClusterOf12() { run_case(model_of(cluster), {.sync = pdes::Sync::sequential}, &emitted); }
  static MatrixModel model_of(const model::Cluster& cluster) {
    return {.model = &cluster, .placer = blocks_of(cluster.lp_count(), cluster.atom_shift())};
  }
  static void finish(Timeline& timeline, const model::Cluster& cluster, Time end) {
    const auto transport = pdes::make_single_transport();
    timeline.combine(*transport);
    timeline.finish(cluster, {.at = end, .all_finished = true});
  }
  void feed(Timeline& timeline, std::size_t from, std::size_t until) const {
    for (std::size_t i = from; i < until; ++i) {
      const auto& [partition, emission] = emitted.all[i];
      timeline.deliver({static_cast<std::uint16_t>(emission.lp.value % kPartitions)}, emission);
    }
  }
  [[nodiscard]] Slices slices(const TimelineOptions& options, std::uint32_t partitions) const {
    Timeline timeline(partitions, options, nullptr);
    for (const auto& [partition, emission] : emitted.all) {
      const std::uint32_t part = emission.lp.value % partitions;
      timeline.deliver({static_cast<std::uint16_t>(part)}, emission);
    }
    finish(timeline, cluster, end);
    return timeline.slices();
  }

  static std::vector<std::uint32_t> everyone() { return {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}; }

  model::WorkloadGraph graph = small_training_step({.tensor = 2, .data = 2, .pipeline = 3});
  model::Cluster cluster{
      graph, round_accelerator(), round_fabric(), {.compute_jitter = 0.2, .timeline = everyone()}};
  model::Outcome outcome = run_cluster(cluster).outcome;
  Time end = outcome.simulated_time();
  Recorder emitted;
};

TEST_F(OfAClusterOf12, SaysWhatAllTimeOfEachDeviceWentTo) {
  std::array<model::DeviceTime, model::kTimeClassCount> sums{};
  std::array<Time, 12> filled{};
  for (const Timeline::Slice& slice : slices({}, 1)) {
    if (slice.stream != Timeline::kDevice) continue;
    EXPECT_EQ(filled.at(slice.lp.value), slice.from);
    filled.at(slice.lp.value) = slice.until;
    sums.at(slice.task) += static_cast<model::DeviceTime>((slice.until - slice.from).ps);
  }
  for (std::size_t c = 0; c < sums.size(); ++c) {
    EXPECT_TRUE(sums[c] == outcome.time_in(outcome.total(), static_cast<TimeClass>(c)))
        << model::kTimeClassNames[c];
  }
  for (const Time until : filled) EXPECT_EQ(until, end);
}

TEST_F(OfAClusterOf12, HasEachTaskOnceInTheOrderOfItsStream) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, Timeline::Slice> last;
  std::size_t computed = 0;
  for (const Timeline::Slice& slice : slices({}, 1)) {
    if (slice.stream == Timeline::kDevice) continue;
    EXPECT_TRUE(slice.ends);
    EXPECT_LE(slice.from, slice.until);
    const auto [before, is_first] = last.try_emplace({slice.lp.value, slice.stream}, slice);
    if (!is_first) {
      EXPECT_LE(before->second.until, slice.from);
      EXPECT_LT(before->second.task, slice.task);
      before->second = slice;
    }
    const model::Task& task = cluster.devices().programs[slice.program].tasks[slice.task];
    computed += task.kind == model::TaskKind::compute;
  }
  std::size_t expected = 0;
  for (std::uint32_t program = 0; program < graph.program_count(); ++program) {
    for (const model::Task& task : cluster.devices().programs[program].tasks) {
      expected += 4 * (task.kind == model::TaskKind::compute);
    }
  }
  EXPECT_EQ(computed, expected);
}

TEST_F(OfAClusterOf12, CutsOffWhatIsBeforeAndAfter) {
  const Time from{end.ps / 5}, until{end.ps / 2};
  Slices expected;
  for (Timeline::Slice slice : slices({}, 1)) {
    const bool starts_within = from <= slice.from && slice.from < until;
    if (!starts_within && (slice.until <= from || until <= slice.from)) continue;
    slice.ends = slice.stream == Timeline::kDevice || slice.until < until;
    slice.from = std::max(slice.from, from);
    slice.until = std::min(slice.until, until);
    expected.push_back(slice);
  }
  EXPECT_EQ(slices({.from = from, .until = until}, 1), expected);
  EXPECT_EQ(slices({.from = from, .until = until}, kPartitions), expected);
}

TEST_F(OfAClusterOf12, EndsAtOneInstantWhereItHasTooMany) {
  const Slices all = slices({}, 1);
  for (const std::uint64_t most : {std::uint64_t{1}, all.size() / 3, all.size() / 2}) {
    const TimelineOptions options{.slices_max = most};
    const Slices some = slices(options, 1);
    EXPECT_LE(some.size(), most + 12);  // and that a device is idle first
    EXPECT_EQ(slices(options, kPartitions), some) << most;
    Timeline timeline(kPartitions, options, nullptr);
    feed(timeline, 0, emitted.all.size());
    finish(timeline, cluster, end);
    ASSERT_TRUE(timeline.cut());
    for (const Timeline::Slice& slice : some) EXPECT_LE(slice.from, *timeline.cut());
  }
  EXPECT_EQ(slices({.slices_max = all.size()}, kPartitions), all);
}

TEST_F(OfAClusterOf12, GoesOnWithWhatAnotherSaved) {
  for (const TimelineOptions& options :
       {TimelineOptions{}, TimelineOptions{.from = Time{end.ps / 2}},
        TimelineOptions{.slices_max = 100}}) {
    const Slices expected = slices(options, 1);
    // As checkpoints are, between two instants.
    std::size_t middle = emitted.all.size() / 2;
    while (emitted.all[middle].second.key.time == emitted.all[middle - 1].second.key.time) ++middle;
    Timeline first(kPartitions, options, nullptr), second(kPartitions, options, nullptr);
    feed(first, 0, middle);
    feed(second, middle, emitted.all.size());
    second.restore(first.saved());
    finish(second, cluster, end);
    EXPECT_EQ(second.slices(), expected);
  }
}

TEST_F(OfAClusterOf12, GoesOnWithNothingElse) {
  Timeline of_some(1, {.devices = {3}}, nullptr), of_all(1, {}, nullptr);
  EXPECT_THROW(of_all.restore(of_some.saved()), core::InputError);
  std::vector<std::byte> cut_off = of_all.saved();
  cut_off.pop_back();
  EXPECT_THROW(of_all.restore(cut_off), core::InputError);
}

TEST_F(OfAClusterOf12, LeavesOutWhatNoDeviceCanHaveEmitted) {
  Timeline first(1, {}, nullptr), second(1, {}, nullptr);
  for (const auto& [partition, emission] : emitted.all) first.deliver({0}, emission);
  std::vector<std::byte> bytes = first.saved();
  // Programs, tasks and times of each record; it has 32 bytes, after a header of 40.
  for (std::size_t record = 40; record < bytes.size(); record += 32) {
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(record + 8), 8, std::byte{0x7f});
  }
  second.restore(bytes);
  finish(second, cluster, end);
  for (const Timeline::Slice& slice : second.slices()) EXPECT_EQ(slice.stream, Timeline::kDevice);
}

// The LPs on the timeline of a cluster with `options`.
std::vector<std::uint32_t> traced(const model::WorkloadGraph& graph,
                                  const model::ClusterOptions& options) {
  const model::Cluster cluster(graph, round_accelerator(), round_fabric(), options);
  std::vector<std::uint32_t> lps;
  for (std::uint32_t lp = 0; lp < cluster.devices().timeline.size(); ++lp) {
    if (cluster.devices().timeline[lp] != 0) lps.push_back(lp);
  }
  return lps;
}

TEST(TimelineDevices, AreThoseOfOnePipelineUnlessNamed) {
  const auto none = std::vector<std::uint32_t>{};
  const auto pipeline = small_training_step({.tensor = 2, .data = 2, .pipeline = 3});
  EXPECT_EQ(traced(pipeline, {}), none);
  EXPECT_EQ(traced(pipeline, {.timeline = none}), (std::vector<std::uint32_t>{0, 4, 8}));
  const auto no_stages = collectives(model::schema::CollectiveType::ALL_REDUCE, 16, 1'000);
  EXPECT_EQ(traced(no_stages, {.timeline = none}).size(), 8u);
  EXPECT_EQ(traced(no_stages, {.timeline = {{9, 2}}}), (std::vector<std::uint32_t>{2, 9}));
}

TEST(TimelineDevices, AreStoodInForWhereDevicesAreFolded) {
  const auto graph = small_training_step({.tensor = 2, .data = 2, .pipeline = 3});
  const model::ClusterOptions options{
      .analytical_network = true, .folding = model::Folding::required, .timeline = {{1, 2, 3, 11}}};
  EXPECT_EQ(traced(graph, options).size(), 2u);
}

TEST(TimelineDevices, AreOfTheCluster) {
  const auto graph = small_training_step({.tensor = 2, .data = 2, .pipeline = 3});
  try {
    traced(graph, {.timeline = {{12}}});
    FAIL() << "accepted";
  } catch (const core::InputError& error) {
    EXPECT_STREQ(error.what(), "timeline: no such device: 12; expected 0 to 11");
  }
}

TEST(Timeline, SaysFromWhenUntilWhen) {
  const auto graph = two_stage_pipeline(
      {.micro_batches = 2, .forward = Time{2'000'000}, .backward = Time{4'000'000}});
  const model::Cluster cluster(graph, round_accelerator(), round_fabric(), {.timeline = {{0}}});
  Timeline timeline(1, {}, nullptr);
  run_case({.model = &cluster, .placer = blocks_of(cluster.lp_count(), cluster.atom_shift())}, {},
           &timeline);
  const auto transport = pdes::make_single_transport();
  timeline.combine(*transport);
  timeline.finish(cluster, {.at = Time{100'000'000}, .all_finished = true});
  // Forward, forward; then the second stage's first backward has to come here and back: 2 us of
  // forward, 4 us of backward, and a microsecond each way in the node, where an empty message takes
  // a picosecond.
  const Slices& all = timeline.slices();
  ASSERT_GE(all.size(), 4u);
  const std::array<std::pair<std::int64_t, std::int64_t>, 4> expected{
      {{0, 2'000'000}, {2'000'000, 4'000'000}, {10'000'002, 14'000'002}, {16'000'002, 20'000'002}}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(all[i].stream, 0u);
    EXPECT_EQ(all[i].from.ps, expected[i].first) << i;
    EXPECT_EQ(all[i].until.ps, expected[i].second) << i;
  }
  EXPECT_EQ(all.back().until, Time{100'000'000});
}

}  // namespace
}  // namespace exawarp::tests
