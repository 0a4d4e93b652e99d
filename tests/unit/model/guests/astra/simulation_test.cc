// Phases of a collective against their closed forms, and trees.
#include <gtest/gtest.h>

#include <set>

#include "core/error.h"
#include "tests/unit/model/guests/astra/one_collective.h"

namespace exawarp::tests {
namespace {

using namespace model::astra;

TEST(Algorithms, ARingTakesItsClosedForm) {
  constexpr std::uint64_t n = 8, c = 1 << 20, m = c / n;
  EXPECT_EQ(time_of(collective(CollectiveKind::all_reduce, Algorithm::ring, n, c)),
            (2 * n - 1) * kEndpointNs + (n - 1) * reduction(m) + 2 * (n - 1) * link(m));
  EXPECT_EQ(time_of(collective(CollectiveKind::reduce_scatter, Algorithm::ring, n, c)),
            n * kEndpointNs + (n - 1) * reduction(m) + (n - 1) * link(m));
  EXPECT_EQ(time_of(collective(CollectiveKind::all_gather, Algorithm::ring, n, c)),
            n * kEndpointNs + (n - 1) * link(c));
}

TEST(Algorithms, DirectExchangesTakeTheirClosedForm) {
  constexpr std::uint64_t n = 8, c = 1 << 20, m = c / n;
  EXPECT_EQ(time_of(collective(CollectiveKind::all_reduce, Algorithm::direct, n, c)),
            3 * kEndpointNs + 2 * link(m) + reduction(m));
  EXPECT_EQ(time_of(collective(CollectiveKind::all_to_all, Algorithm::direct, n, c)),
            2 * kEndpointNs + link(m));
}

// On a ring of three with two queues one chunk asks its partners clockwise, the other the other way
// round: they never want the same link.
TEST(Algorithms, DirectExchangesOfTheSecondHalfOfTheQueuesRunBackwards) {
  Job job = collective(CollectiveKind::all_gather, Algorithm::direct, 3, 2 << 20);
  job.network.congestion_aware = true;
  job.network.dimensions[0].topology = Topology::ring;
  for (auto& implementations : job.system.implementations) implementations[0].window = 1;
  job.system.splits = job.system.active_chunks = job.system.queues_per_dimension = 2;
  EXPECT_EQ(time_of(job), 3 * kEndpointNs + 2 * link(1 << 20));
}

TEST(Algorithms, ChunksThatTakeTurnsTakeAsManyTimes) {
  Job job = collective(CollectiveKind::all_reduce, Algorithm::ring, 8, 4 << 20);
  job.system.splits = 4;
  EXPECT_EQ(time_of(job),
            4 * time_of(collective(CollectiveKind::all_reduce, Algorithm::ring, 8, 1 << 20)));
}

// Odd sizes in three dimensions of three kinds: the terms of each phase on its own, added up.
TEST(Algorithms, PhasesOverThreeDimensionsFollowEachOther) {
  Job job = collective(CollectiveKind::all_reduce, Algorithm::ring, 30, 30'000);
  job.network.dimensions = {{Topology::ring, 3, 50, 100},
                            {Topology::fully_connected, 5, 50, 500},
                            {Topology::switched, 2, 50, 1'000}};
  job.system.implementations[static_cast<std::size_t>(Simulated::all_reduce)].resize(3);
  const auto message = [](double latency, std::uint64_t bytes) {
    return static_cast<Ns>(latency + static_cast<double>(bytes) / kBytesPerNs);
  };
  // Ring steps over n ranks, each with `bytes`, of which those of a reduction reduce.
  const auto steps = [&](std::uint64_t n, double latency, std::uint64_t bytes, bool reduces) {
    return n * kEndpointNs + (n - 1) * (message(latency, bytes) + (reduces ? reduction(bytes) : 0));
  };
  const Ns turn = 3 * kEndpointNs + reduction(1'000) + 2 * message(2'000, 1'000);
  job.system.optimization = Optimization::local_bandwidth_aware;
  EXPECT_EQ(time_of(job), steps(3, 100, 10'000, true) + steps(5, 500, 2'000, true) + turn +
                              steps(5, 500, 2'000, false) + steps(3, 100, 10'000, false));

  const auto whole = [&](std::uint64_t n, double latency, std::uint64_t bytes) {
    return (2 * n - 1) * kEndpointNs + (n - 1) * (reduction(bytes) + 2 * message(latency, bytes));
  };
  job.system.optimization = Optimization::baseline;
  EXPECT_EQ(time_of(job), whole(3, 100, 10'000) + whole(5, 500, 6'000) + whole(2, 2'000, 15'000));
}

TEST(Algorithms, HalvingAndDoubleTreesNeedAPowerOfTwo) {
  for (const auto algorithm : {Algorithm::halving_doubling, Algorithm::double_binary_tree}) {
    EXPECT_NO_THROW(check(collective(CollectiveKind::all_reduce, algorithm, 8, 1 << 20)));
    EXPECT_THROW(check(collective(CollectiveKind::all_reduce, algorithm, 6, 1 << 20)),
                 core::InputError);
  }
}

TEST(Algorithms, BothTreesHoldEveryRankUnderOneRoot) {
  for (const bool second : {false, true}) {
    for (const std::uint32_t size : {2u, 4u, 8u, 16u}) {
      std::uint32_t roots = 0;
      for (std::uint32_t position = 0; position < size; ++position) {
        std::set<std::uint32_t> above;
        std::uint32_t at = position;
        while (at != TreePlace::kNone && above.insert(at).second) {
          const TreePlace place = tree_place(size, at, second);
          for (const std::uint32_t child : {place.left, place.right}) {
            if (child != TreePlace::kNone) {
              EXPECT_EQ(tree_place(size, child, second).parent, at);
            }
          }
          at = place.parent;
        }
        EXPECT_EQ(at, TreePlace::kNone) << "a circle above " << position;
        if (tree_place(size, position, second).parent == TreePlace::kNone) ++roots;
      }
      EXPECT_EQ(roots, 1u) << size;
    }
  }
}

}  // namespace
}  // namespace exawarp::tests
