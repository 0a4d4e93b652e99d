// Two moments of a run that are alike, and what tells them from others.
#include "model/recurrence.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>

#include "model/device/device_state.h"
#include "partition/block.h"
#include "pdes/transport.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::Time;

constexpr std::int64_t kSteps = 6;

struct Steps {
  WorkloadGraph graph;
  Cluster cluster;
  explicit Steps(std::int64_t steps)
      : graph(small_llama({.tensor = 2, .pipeline = 2, .data = 2}, steps)),
        cluster(graph, round_accelerator(), round_fabric(), {}) {}
};

// Moments of six steps, one period apart, and the clusters of five and of six.
class TwoMoments : public testing::Test {
 protected:
  TwoMoments() {
    const Time less = run_cluster(shorter.cluster).outcome.simulated_time();
    period = run_cluster(longer.cluster).outcome.simulated_time() - less;
    const core::Placement placement = partition::place_in_blocks(
        {.atoms = longer.cluster.atom_count(), .atom_shift = longer.cluster.atom_shift()});
    const auto transport = pdes::make_single_transport();
    pdes::Engine engine(longer.cluster, placement, {.sync = pdes::Sync::sequential}, *transport);
    engine.run({}, {.every = period, .take = [this](pdes::RankCut&& cut) {
                      moments.push_back({cut.totals.at, std::move(cut.chunks)});
                    }});
  }
  [[nodiscard]] std::optional<Difference> difference(const Moment& a, const Moment& b) const {
    return first_difference(shorter.cluster, longer.cluster, a, b);
  }
  // The third moment with a byte changed, so many bytes into the first device's state.
  [[nodiscard]] Moment changed(std::size_t offset) const {
    constexpr std::size_t kHeads = 8 + 16;  // of the chunk and of its first LP
    Moment out = moments.at(2);
    out.chunks.at(0).bytes.at(kHeads + offset) ^= std::byte{1};
    return out;
  }

  const Steps shorter{kSteps - 1}, longer{kSteps};
  Time period;
  std::vector<Moment> moments;
};

TEST_F(TwoMoments, AStepApartAreAlike) {
  ASSERT_GE(moments.size(), 4u);
  EXPECT_EQ(moments[2].at - moments[1].at, period);
  EXPECT_FALSE(difference(moments[1], moments[2]));
  EXPECT_FALSE(difference(moments[2], moments[3]));
}

TEST_F(TwoMoments, DifferTwoStepsApart) {
  const auto found = difference(moments.at(1), moments.at(3));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->lp, 0u);
}

TEST_F(TwoMoments, DifferALittleMoreThanAStepApart) {
  Moment later = moments.at(2);
  later.at = later.at + Time{1};
  EXPECT_TRUE(difference(moments.at(1), later));
}

TEST_F(TwoMoments, DifferByEachThingThatADeviceGoesBy) {
  // Of lines that nobody shares there is a count in place of a vector.
  constexpr std::size_t kSends = offsetof(SendLine, shares) + sizeof(std::uint32_t);
  constexpr std::size_t kLines = sizeof(DeviceState) + kSends;
  constexpr std::size_t kChannels =
      sizeof(DeviceState) + kInterfaceCount * (kSends + sizeof(ReceiveLine));
  const std::pair<std::size_t, const char*> cases[] = {
      {offsetof(DeviceState, tx_free), "when an interface is free"},
      {offsetof(DeviceState, rx_free), "when an interface is free"},
      {offsetof(DeviceState, busy), "what it is at"},
      {offsetof(DeviceState, time_class), "what it is at"},
      {kLines + offsetof(ReceiveLine, busy), "when an interface is free"},
      {kChannels + offsetof(ChannelState, arrived), "channel 0"},
      {kChannels + offsetof(ChannelState, last_entry), "channel 0"}};
  for (const auto& [offset, what] : cases) {
    SCOPED_TRACE(offset);
    const auto found = difference(moments.at(1), changed(offset));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->what, what);
  }
}

TEST_F(TwoMoments, DifferWhereAMessageIsUnderWayInOne) {
  Moment later = moments.at(2);
  // The last event of the first chunk arrives at another time.
  std::vector<std::byte>& bytes = later.chunks.at(0).bytes;
  constexpr std::size_t kEventBytes = 56;
  bytes.at(bytes.size() - kEventBytes) ^= std::byte{1};
  const auto found = difference(moments.at(1), later);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->what, "messages under way");
}

TEST_F(TwoMoments, DifferWhereStepsDo) {
  // What is left after the earlier moment is what is left of a workload whose tail is another.
  const Steps other{kSteps - 2};
  EXPECT_TRUE(first_difference(other.cluster, longer.cluster, moments.at(1), moments.at(2)));
}

TEST(RepeatedOutcome, AddsWhatOneStepMoreAdds) {
  const Steps four{4}, five{5}, nine{9};
  Outcome repeated = run_cluster(five.cluster).outcome;
  repeated.repeat(run_cluster(four.cluster).outcome, 9);
  const Outcome whole = run_cluster(nine.cluster).outcome;
  EXPECT_EQ(repeated.simulated_time(), whole.simulated_time());
  EXPECT_EQ(repeated.iteration_time(), whole.iteration_time());
  EXPECT_EQ(repeated.sums_to_words(), whole.sums_to_words());
  EXPECT_EQ(repeated.repeated(), 9.0 / 5);
}

}  // namespace
}  // namespace exawarp::tests
