#include "pdes/directory.h"

#include <gtest/gtest.h>

#include "pdes/phold.h"

namespace exawarp::tests {
namespace {

using namespace pdes;

class DirectoryTest : public testing::Test {
 protected:
  std::unique_ptr<Model> model_ = make_phold({.lps = 10});
  core::Placement placement_{.atom_shift = 2,
                             .partition_of_atom = {0, 3, 1},
                             .partitions_per_rank = 2,
                             .ranks = 2};
};

TEST_F(DirectoryTest, KnowsTheOwnerOfEveryLp) {
  const Directory directory(*model_, placement_, core::RankId{0});
  EXPECT_EQ(directory.partition_of(LpId{3}), 0u);
  EXPECT_EQ(directory.partition_of(LpId{4}), 3u);
  EXPECT_EQ(directory.partition_of(LpId{9}), 1u);
}

TEST_F(DirectoryTest, GivesNoOwnerToAnIdThatNamesNoLp) {
  const Directory directory(*model_, placement_, core::RankId{0});
  EXPECT_EQ(directory.partition_of(LpId{10}), Directory::kNoPartition);
  EXPECT_EQ(directory.partition_of(LpId{0xffffffff}), Directory::kNoPartition);
}

TEST_F(DirectoryTest, HoldsTheLpsOfItsRankAlone) {
  const Directory here(*model_, placement_, core::RankId{0});
  std::vector<std::uint32_t> seen;
  here.visit_all([&](LpId lp, LpSlot) { seen.push_back(lp.value); });
  EXPECT_EQ(seen, (std::vector<std::uint32_t>{0, 1, 2, 3, 8, 9}));
  EXPECT_EQ(here.lp_bytes(), 6u * 64u);
}

TEST_F(DirectoryTest, StartsEveryLpAtACacheLine) {
  const Directory directory(*model_, placement_, core::RankId{0});
  directory.visit_all([](LpId, LpSlot slot) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(slot.header) % 64, 0u);
  });
}

}  // namespace
}  // namespace exawarp::tests
