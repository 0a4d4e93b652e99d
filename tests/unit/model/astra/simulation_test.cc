// Phases of a collective against their closed forms, and trees.
#include "model/astra/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/error.h"

namespace exawarp::model::astra {
namespace {

constexpr Ns kEndpointNs = 10;
constexpr double kBytesPerNs = 50 * static_cast<double>(1 << 30) / 1e9;

// One collective of `bytes` over a fully connected dimension, where nothing shares a link.
Job collective(CollectiveKind kind, Algorithm algorithm, std::uint32_t ranks, std::uint64_t bytes) {
  Job job;
  job.network.dimensions = {{Topology::fully_connected, ranks, 50, 500}};
  job.system.local_memory_gb_per_s = 1'600;
  job.system.endpoint_delay_ns = kEndpointNs;
  job.system.splits = 1;
  for (auto& implementations : job.system.implementations) {
    implementations = {Implementation{.algorithm = algorithm}};
  }
  auto trace = std::make_shared<Trace>();
  trace->nodes.push_back({.id = 1});
  trace->nodes[0].kind = NodeKind::collective;
  trace->nodes[0].collective = kind;
  trace->nodes[0].comm_bytes = bytes;
  trace->nodes[0].has_bytes = true;
  job.traces.assign(ranks, trace);
  return job;
}

Ns time_of(const Job& job) {
  check(job);
  Ns last = 0;
  std::uint32_t finished = 0;
  simulate(job, [&](const Finish& finish) {
    last = std::max(last, finish.cycles);
    ++finished;
  });
  EXPECT_EQ(finished, job.traces.size());
  return last;
}

Ns link(double bytes) { return static_cast<Ns>(500 + bytes / kBytesPerNs); }
Ns reduction(std::uint64_t bytes) {
  return 3 * static_cast<Ns>(static_cast<double>(bytes) / (1'600.0 * 1e9) * 1e9);
}

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

TEST(Algorithms, ChunksThatTakeTurnsTakeAsManyTimes) {
  Job job = collective(CollectiveKind::all_reduce, Algorithm::ring, 8, 4 << 20);
  job.system.splits = 4;
  EXPECT_EQ(time_of(job),
            4 * time_of(collective(CollectiveKind::all_reduce, Algorithm::ring, 8, 1 << 20)));
}

TEST(Algorithms, HalvingAndDoublingNeedsAPowerOfTwo) {
  EXPECT_THROW(
      check(collective(CollectiveKind::all_reduce, Algorithm::halving_doubling, 6, 1 << 20)),
      core::InputError);
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
}  // namespace exawarp::model::astra
