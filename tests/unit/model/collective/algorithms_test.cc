// Every type by every algorithm that runs it, for groups of 1 to 70, on symbolic data.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/collective/algorithm.h"
#include "model/collective/collective.h"
#include "model/collective/cost.h"
#include "model/collective/double_tree_time.h"
#include "tests/support/collective_simulator.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::Time;
using schema::CollectiveType;

constexpr StepCost kCost{Time{1'000'000}, 100'000'000'000};  // 1 us, 10 ps a byte
constexpr std::uint32_t kTestedMembersMax = 70;

std::vector<Collective> all_collectives(std::uint32_t members, std::int64_t bytes) {
  std::vector<Collective> all;
  for (auto type = CollectiveType::ALL_REDUCE; type <= CollectiveType::PERMUTE;
       type = static_cast<CollectiveType>(static_cast<int>(type) + 1)) {
    for (std::size_t a = 0; a < kAlgorithmNames.size(); ++a) {
      const auto algorithm = static_cast<Algorithm>(a);
      if (!can_run(type, algorithm)) continue;
      Collective c{.type = type, .algorithm = algorithm, .bytes = bytes, .members = members};
      c.root = is_rooted(type) ? members / 3 : 0;
      c.shift = type == CollectiveType::PERMUTE ? members / 2 : 0;
      if (description_of(algorithm).lanes_in_pairs) c.lanes = 2;
      all.push_back(c);
      if (!can_use_lanes(algorithm)) continue;
      c.lanes = 6;
      all.push_back(c);
      c.both_ways = algorithm == Algorithm::ring;
      c.node_members = runs_round(c) && members % 4 == 0 ? 4 : 1;
      all.push_back(c);
    }
  }
  return all;
}

std::string text(const Collective& c) {
  return "type " + std::to_string(static_cast<int>(c.type)) + " by " +
         std::string(kAlgorithmNames[static_cast<std::size_t>(c.algorithm)]) + ", " +
         std::to_string(c.members) + " members, " + std::to_string(c.lanes) + " lanes, " +
         std::to_string(c.bytes) + " bytes";
}

void expect_right(const Collective& c) {
  const CollectiveRun run = run_collective(c, kCost);
  EXPECT_EQ(run.problem, "") << text(c);
  EXPECT_EQ(run.messages, collective_messages(c)) << text(c);
  EXPECT_EQ(run.time.ps, collective_time(c, kCost).ps) << text(c);
}

// The table of docs/reference/collectives.md, by the order of its columns.
TEST(Algorithms, RunTheTypesOfTheTable) {
  using enum CollectiveType;
  using enum Algorithm;
  const std::vector<Algorithm> columns{ring,   halving, doubling, tree,      double_tree,
                                       direct, bruck,   pairwise, in_network};
  const std::vector<std::pair<CollectiveType, std::string>> table{
      {ALL_REDUCE, "xxxxxx..x"},     {REDUCE_SCATTER, "xx...x..x"}, {ALL_GATHER, "xx...xx.x"},
      {BROADCAST, "x..xxx..x"},      {REDUCE, "x..xxx..x"},         {ALL_TO_ALL, ".....xxx."},
      {BARRIER, "x.xx.xx.x"},        {GATHER, "...x.x..."},         {SCATTER, "...x.x..."},
      {PERMUTE, ".....x..."}};
  for (const auto& [type, row] : table) {
    for (std::size_t a = 0; a < row.size(); ++a) {
      EXPECT_EQ(can_run(type, columns[a]), row[a] == 'x')
          << static_cast<int>(type) << " by "
          << kAlgorithmNames[static_cast<std::size_t>(columns[a])];
    }
  }
}

TEST(Algorithms, GiveEveryMemberItsDataInTheTimeAndMessagesOfTheirFormulas) {
  for (std::uint32_t n = 1; n <= kTestedMembersMax; ++n) {
    for (const Collective& c : all_collectives(n, 5'000'011)) expect_right(c);
  }
}

TEST(Algorithms, AreRightWhereMessagesAreSmallerThanAByteEach) {
  for (const std::uint32_t n : {1u, 2u, 3u, 4u, 6u, 7u, 8u, 13u, 16u, 31u, 32u, 33u}) {
    for (const std::int64_t bytes : {0, 7}) {
      for (const Collective& c : all_collectives(n, bytes)) expect_right(c);
    }
  }
}

// Wires of 1 % of the latency to 15 times, few and many chunks: how much the trees queue.
TEST(Algorithms, DoubleTreesQueueAsTheyAreSaidTo) {
  for (const std::uint32_t n : {2u, 3u, 4u, 5u, 8u, 12u, 17u, 23u, 31u, 32u, 33u, 64u, 70u}) {
    for (const auto type :
         {CollectiveType::ALL_REDUCE, CollectiveType::BROADCAST, CollectiveType::REDUCE}) {
      for (const std::uint32_t lanes : {2u, 8u, 20u}) {
        for (const std::int64_t bytes : {20'000, 1'000'000, 3'000'001}) {
          expect_right({.type = type, .algorithm = Algorithm::double_tree, .bytes = bytes,
                        .members = n, .root = is_rooted(type) ? n / 2 : 0, .lanes = lanes});
        }
      }
    }
  }
}

TEST(Algorithms, RunForEveryRootAndShift) {
  constexpr std::uint32_t kMembers = 11;
  for (Collective c : all_collectives(kMembers, 1'000)) {
    for (std::uint32_t p = 0; p < kMembers; ++p) {
      if (is_rooted(c.type)) c.root = p;
      if (c.type == CollectiveType::PERMUTE) c.shift = p;
      expect_right(c);
    }
  }
}

TEST(Algorithms, ExchangeWhatTheirSizesSay) {
  constexpr std::uint32_t kMembers = 9;
  std::vector<std::uint64_t> by_distance(kMembers);
  for (std::uint32_t d = 0; d < kMembers; ++d) by_distance[d] = 1'000 * d * d;
  std::vector<std::uint64_t> by_pair;
  for (std::uint32_t s = 0; s < kMembers; ++s) {
    for (std::uint32_t t = 0; t < kMembers; ++t) {
      by_pair.push_back(by_distance[(t + kMembers - s) % kMembers]);
    }
  }
  for (const Algorithm algorithm : {Algorithm::direct, Algorithm::pairwise}) {
    Collective c{.type = CollectiveType::ALL_TO_ALL, .algorithm = algorithm, .members = kMembers};
    c.sizes = by_distance;
    expect_right(c);
    const Time time = run_collective(c, kCost).time;
    c.sizes = by_pair;
    EXPECT_EQ(run_collective(c, kCost).time, time);
  }
}

TEST(Algorithms, ThatMeetPartnersNodeByNodeMeetEachOnceAndNoTwoAtATime) {
  for (const auto& [members, in_node] :
       {std::pair{12u, 2u}, {12u, 3u}, {12u, 4u}, {12u, 12u}, {35u, 5u}, {64u, 8u}}) {
    for (Collective c : all_collectives(members, 5'000'011)) {
      if (!description_of(c.algorithm).meets_by_nodes) continue;
      c.node_members = in_node;
      expect_right(c);
    }
    Collective c{.type = CollectiveType::ALL_TO_ALL,
                 .algorithm = Algorithm::direct,
                 .members = members,
                 .node_members = in_node};
    for (std::uint32_t step = 1; step < members; ++step) {
      std::vector<bool> met(members);
      for (std::uint32_t p = 0; p < members; ++p) {
        const std::uint32_t partner = transfer_of(c, p, 0, 0, step - 1).peer;
        EXPECT_FALSE(met[partner]) << step << " of " << in_node;
        EXPECT_EQ(partner / in_node == p / in_node, step < in_node) << step << " of " << in_node;
        met[partner] = true;
      }
    }
  }
}

// Lanes of a chain go through a node in different orders, so that on equal links two may meet.
TEST(Algorithms, ChainsThroughNodesGiveEveryMemberItsData) {
  for (const auto& [members, in_node] :
       {std::pair{8u, 2u}, {12u, 3u}, {12u, 12u}, {35u, 5u}, {64u, 8u}}) {
    for (const CollectiveType type : {CollectiveType::BROADCAST, CollectiveType::REDUCE}) {
      for (std::uint32_t root = 0; root < members; ++root) {
        Collective c{.type = type,
                     .algorithm = Algorithm::ring,
                     .bytes = 5'000'011,
                     .members = members,
                     .root = root,
                     .lanes = 2 * in_node,
                     .node_members = in_node};
        const CollectiveRun run = run_collective(c, kCost);
        EXPECT_EQ(run.problem, "") << text(c) << ", root " << root;
        EXPECT_EQ(run.messages, collective_messages(c)) << text(c);
        EXPECT_GE(run.time, collective_time(c, kCost)) << text(c) << ", root " << root;
        if (in_node == members) expect_right(c);
      }
    }
  }
}

TEST(Algorithms, ChainsLeaveANodeByADifferentMemberOnEachLane) {
  Collective c{.type = CollectiveType::BROADCAST, .members = 12, .root = 5};
  c.lanes = c.node_members = 4;
  for (const std::uint32_t node : {4u, 8u}) {
    std::uint32_t leaving = 0;
    for (std::uint32_t lane = 0; lane < 4; ++lane) {
      for (std::uint32_t p = node; p < node + 4; ++p) {
        const std::uint32_t last = phase_count(c, p, lane) - 1;
        if (phase_of(c, p, lane, last).sends == 0) continue;
        if (transfer_of(c, p, lane, last, 0).peer / 4 != p / 4) leaving |= 1u << (p - node);
      }
    }
    EXPECT_EQ(leaving, 0xfu) << node;
  }
}

TEST(Algorithms, AnswerForLargeGroupsAtOnce) {
  constexpr std::uint32_t kMembers = 131'072;
  for (const Collective& c : all_collectives(kMembers, 1 << 20)) {
    for (const std::uint32_t p : {0u, 1u, kMembers / 3, kMembers - 1}) {
      const std::uint32_t phases = phase_count(c, p, c.lanes - 1);
      const Phase last = phase_of(c, p, c.lanes - 1, phases - 1);
      if (last.sends == 0) continue;
      EXPECT_LT(transfer_of(c, p, c.lanes - 1, phases - 1, last.sends - 1).peer, kMembers);
    }
  }
}

// A large double tree continues smaller ones.
TEST(ClosedForms, OfLargeDoubleTreesAreNear) {
  for (const auto type :
       {CollectiveType::ALL_REDUCE, CollectiveType::BROADCAST, CollectiveType::REDUCE}) {
    for (const std::uint32_t members : {3'000u, 4'096u}) {
      for (const std::uint32_t lanes : {2u, 16u}) {
        for (const std::int64_t wire_ps : {1'000, 300'000, 5'000'000}) {
          const Collective c{.type = type, .algorithm = Algorithm::double_tree,
                             .members = members, .lanes = lanes};
          const auto time = [&](std::uint64_t messages_max) {
            return static_cast<double>(
                double_tree_time(c, Time{wire_ps}, kCost.latency, messages_max).ps);
          };
          EXPECT_NEAR(time(20'000) / time(collective_messages(c)), 1, 0.1)
              << text(c) << ", wire " << wire_ps << " ps";
        }
      }
    }
  }
}

// By hand, n = 8 and 1 us + 10 ps a byte; Thakur et al. 2005, table 1.
TEST(ClosedForms, AreTheLiteratures) {
  const auto time = [](CollectiveType type, Algorithm algorithm, std::int64_t bytes) {
    return collective_time({.type = type, .algorithm = algorithm, .bytes = bytes, .members = 8},
                           kCost);
  };
  const auto model = [](std::int64_t messages, std::int64_t bytes) {
    return Time{messages * 1'000'000 + bytes * 10};
  };
  using enum CollectiveType;
  EXPECT_EQ(time(ALL_REDUCE, Algorithm::ring, 8'000), model(14, 14'000));
  EXPECT_EQ(time(ALL_REDUCE, Algorithm::halving, 8'000), model(6, 14'000));
  EXPECT_EQ(time(ALL_REDUCE, Algorithm::doubling, 8'000), model(3, 24'000));
  EXPECT_EQ(time(REDUCE_SCATTER, Algorithm::halving, 8'000), model(3, 7'000));
  EXPECT_EQ(time(ALL_GATHER, Algorithm::bruck, 1'000), model(3, 7'000));
  EXPECT_EQ(time(ALL_TO_ALL, Algorithm::bruck, 8'000), model(3, 12'000));
  EXPECT_EQ(time(ALL_TO_ALL, Algorithm::pairwise, 8'000), model(7, 7'000));
  EXPECT_EQ(time(ALL_TO_ALL, Algorithm::direct, 8'000), model(1, 7'000));
  EXPECT_EQ(time(BROADCAST, Algorithm::tree, 8'000), model(3, 24'000));
  EXPECT_EQ(time(SCATTER, Algorithm::tree, 1'000), model(3, 7'000));
  EXPECT_EQ(time(ALL_REDUCE, Algorithm::in_network, 8'000), model(2, 9'000));
}

// By hand, n = 6: rounds of 1, 2 and 2 blocks of 1,000 bytes; 3 messages however many members.
TEST(ClosedForms, NeedNoPowerOfTwo) {
  const auto time = [](Algorithm algorithm) {
    return collective_time({.algorithm = algorithm, .bytes = 6'000, .members = 6}, kCost);
  };
  EXPECT_EQ(time(Algorithm::halving), Time{6 * 1'000'000 + 2 * 5'000 * 10});
  EXPECT_EQ(time(Algorithm::doubling), 3 * Time{1'000'000 + 6'000 * 10});
}

// By hand, two members: each is the root of one tree and the only leaf of the other, so that both
// halves cross at once, and cross back as sums.
TEST(ClosedForms, OfTheSmallestDoubleTree) {
  EXPECT_EQ(collective_time({.algorithm = Algorithm::double_tree, .bytes = 2'000, .members = 2,
                             .lanes = 2},
                            kCost),
            2 * Time{1'000'000 + 1'000 * 10});
}

}  // namespace
}  // namespace exawarp::tests
