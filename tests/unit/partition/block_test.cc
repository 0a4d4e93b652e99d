#include "partition/block.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace exawarp::tests {
namespace {

using namespace partition;

TEST(Block, ConsecutiveAtomsInEqualShares) {
  const auto placement = place_in_blocks({.atoms = 8, .ranks = 2, .partitions_per_rank = 2});
  EXPECT_EQ(placement.partition_of_atom, (std::vector<std::uint16_t>{0, 0, 1, 1, 2, 2, 3, 3}));
}

TEST(Block, SharesDifferByAtMostOneAtom) {
  const auto placement = place_in_blocks({.atoms = 1000, .ranks = 3, .partitions_per_rank = 7});
  std::vector<int> atoms(21);
  for (const std::uint16_t p : placement.partition_of_atom) ++atoms[p];
  const auto [least, most] = std::minmax_element(atoms.begin(), atoms.end());
  EXPECT_LE(*most - *least, 1);
}

TEST(Block, FewerAtomsThanPartitionsLeavesSomeEmpty) {
  const auto placement = place_in_blocks({.atoms = 2, .ranks = 1, .partitions_per_rank = 4});
  EXPECT_EQ(placement.partition_of_atom, (std::vector<std::uint16_t>{0, 2}));
}

}  // namespace
}  // namespace exawarp::tests
