// NVLink SHARP in nodes and trees across them: data, volume and balance. The same in every mode and
// at both fidelities, as all algorithms: unit/model/device/stepped_test.cc.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "model/collective/cost.h"
#include "tests/support/collective_simulator.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::Time;

constexpr StepCost kCost{Time{1'000'000}, 100'000'000'000};  // 1 us, 10 ps a byte

Collective nvls_tree(std::uint32_t nodes, std::uint32_t node_members, std::uint32_t lanes,
                     std::int64_t bytes = 4'800'000) {
  return {.type = schema::CollectiveType::ALL_REDUCE,
          .algorithm = Algorithm::nvls_tree,
          .bytes = bytes,
          .members = nodes * node_members,
          .lanes = lanes,
          .node_members = node_members};
}

TEST(NvlsTree, EndsEachMemberWithTheSumOfAll) {
  for (std::uint32_t nodes = 1; nodes <= 9; ++nodes) {
    for (const std::uint32_t members : {2u, 3u, 4u}) {
      for (const std::uint32_t lanes : {1u, members, 2 * members + 1}) {
        const Collective c = nvls_tree(nodes, members, lanes);
        const tests::CollectiveRun run = tests::run_collective(c, kCost);
        EXPECT_EQ(run.problem, "") << nodes << " nodes of " << members;
        EXPECT_EQ(run.messages, collective_messages(c)) << nodes << " nodes of " << members;
      }
    }
  }
}

struct Volume {
  std::int64_t sent = 0, received = 0;
};

// What members exchange with their node, or across nodes.
std::vector<Volume> volumes(const Collective& c, bool across) {
  std::vector<Volume> all(c.members);
  for (std::uint32_t p = 0; p < c.members; ++p) {
    for (std::uint32_t lane = 0; lane < c.lanes; ++lane) {
      for (std::uint32_t k = 0; k < phase_count(c, p, lane); ++k) {
        for (std::uint32_t i = 0; i < phase_of(c, p, lane, k).sends; ++i) {
          const Transfer t = transfer_of(c, p, lane, k, i);
          if ((t.peer / c.node_members != p / c.node_members) != across) continue;
          all[p].sent += t.bytes;
          all[t.peer].received += t.bytes_received;
        }
      }
    }
  }
  return all;
}

TEST(NvlsTree, CarriesTheDataOnceAndAMembersShareInTheNode) {
  const Collective c = nvls_tree(4, 8, 16);
  for (const Volume& v : volumes(c, false)) {
    EXPECT_NEAR(static_cast<double>(v.sent), static_cast<double>(c.bytes) * 9 / 8, 100);
    EXPECT_NEAR(static_cast<double>(v.received), static_cast<double>(c.bytes), 100);
  }
}

// Inner in one tree and leaf in its mirror image, a node sends at most twice its part.
TEST(NvlsTree, BalancesTheTreesOverTheInterfacesOfEachNode) {
  const std::uint32_t nodes = 16, members = 8;
  const Collective c = nvls_tree(nodes, members, 2 * members);
  std::int64_t all = 0;
  for (const Volume& v : volumes(c, true)) {
    EXPECT_LE(v.sent, 2 * c.bytes / members);
    all += v.sent;
  }
  EXPECT_EQ(all, 2 * (nodes - 1) * c.bytes);
}

TEST(NvlsTree, IsTheDoubleTreeWhereEachNodeHasOneMember) {
  for (const std::uint32_t n : {2u, 7u, 32u}) {
    Collective c = nvls_tree(n, 1, 4);
    const Time by_nodes = collective_time(c, kCost);
    c.algorithm = Algorithm::double_tree;
    EXPECT_EQ(by_nodes, collective_time(c, kCost));
  }
}

}  // namespace
}  // namespace exawarp::tests
