#include "io/report/search_report.h"

#include <gtest/gtest.h>

#include "tests/unit/io/report/search_layouts.h"

namespace exawarp::tests {
namespace {

using io::SearchOutcome;
using Pairs = std::vector<std::pair<double, double>>;

TEST(SearchReport, CorrelationIsOneOfTheSameOrderAndMinusOneOfTheOpposite) {
  EXPECT_DOUBLE_EQ(*io::rank_correlation(Pairs{{1, 10}, {2, 20}, {3, 25}}), 1);
  EXPECT_DOUBLE_EQ(*io::rank_correlation(Pairs{{1, 30}, {2, 20}, {3, 10}}), -1);
}

TEST(SearchReport, CorrelationIsThatOfSpearman) {
  EXPECT_DOUBLE_EQ(*io::rank_correlation(Pairs{{1, 1}, {2, 3}, {3, 2}, {4, 4}}), 0.8);
}

TEST(SearchReport, CorrelationNeedsTwoThatDiffer) {
  EXPECT_FALSE(io::rank_correlation(Pairs{{1, 1}}));
  EXPECT_FALSE(io::rank_correlation(Pairs{{1, 1}, {1, 2}}));
}

TEST(SearchReport, RegretIsWhatTheFirstLacksOfTheBest) {
  EXPECT_DOUBLE_EQ(*io::regret_of_first(Pairs{{10, 75}, {9, 100}}), 0.25);
  EXPECT_DOUBLE_EQ(*io::regret_of_first(Pairs{{10, 100}, {9, 75}}), 0);
  EXPECT_FALSE(io::regret_of_first({}));
}

TEST(SearchReport, NeighboursDifferInOneSettingBesideTheDataParallelRanks) {
  const SearchOutcome search = four_layouts();
  const auto all = io::neighbours_of(search, search.folded.points[1]);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].number, 1);
  EXPECT_EQ(all[1].number, 3);  // failed ones come last
}

TEST(SearchReport, EveryCombinationIsAccountedFor) {
  const std::string text = io::search_text(four_layouts());
  EXPECT_NE(
      text.find("6 combinations, 4 layouts, 1 too large for the memory, 3 simulated, 0 failed"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("impossible: 2 by devices"), std::string::npos) << text;
  EXPECT_NE(text.find("tensor 2 -> 1: -10.00 % tokens_per_s"), std::string::npos) << text;
  EXPECT_NE(text.find("pipeline 2 -> 1: too large for the memory"), std::string::npos) << text;
}

TEST(SearchReport, VerifiedFiguresStandBesideTheirLayout) {
  SearchOutcome search = four_layouts();
  search.verified = io::SweepResults{
      .name = "s.message",
      .keys = search.folded.keys,
      .measures = search.folded.measures,
      .points = {done_layout(1, {"2", "2", "2"}, 80), done_layout(2, {"1", "4", "2"}, 88)}};
  const std::string text = io::search_text(search);
  EXPECT_NE(text.find("rank correlation -1.000"), std::string::npos) << text;
  EXPECT_NE(text.find("regret at message: 9.09 %; the best there is number 4\n"),
            std::string::npos)
      << text;
}

// Numbers 4 and 2 are the best then, as 88 and 80.
SearchOutcome with_second_look(const std::vector<std::optional<double>>& figures) {
  SearchOutcome search = four_layouts();
  search.again = looked_again(search, figures);
  search.look_again = 2;
  return search;
}

TEST(SearchReport, TheSecondLookSaysWhetherOthersCanBeAmongTheBest) {
  const std::string all = io::search_text(with_second_look({80.0, 88.0, 70.0}));
  EXPECT_NE(all.find("second look at 3 of 3 layouts; no other is faster at first look than the "
                     "last of these\n"),
            std::string::npos)
      << all;
  const std::string some = io::search_text(with_second_look({80.0, 88.0}));
  EXPECT_NE(some.find("second look at 2 of 3 layouts; 1 more is faster at first look than the last "
                      "of these: look_again is 2\n"),
            std::string::npos)
      << some;
}

TEST(SearchReport, WhatFailedAtSecondLookIsSaid) {
  const std::string text = io::search_text(with_second_look({80.0, {}, 70.0}));
  EXPECT_NE(text.find("failed at second look: the 2. of the first: does not fold\n"),
            std::string::npos)
      << text;
}

TEST(SearchReport, NeighboursAreComparedByTheSameLook) {
  const std::string text = io::search_text(with_second_look({80.0, 88.0, 77.0}));
  EXPECT_NE(text.find("pipeline 4 -> 2: -12.50 % tokens_per_s, +0.00 GB\n"), std::string::npos)
      << text;
  const std::string first = io::search_text(with_second_look({80.0, 88.0}));
  EXPECT_NE(first.find("pipeline 4 -> 2: -5.26 % tokens_per_s at first look, +0.00 GB\n"),
            std::string::npos)
      << first;
}

TEST(SearchReport, VerifiedFiguresAreComparedWithTheSecondLook) {
  SearchOutcome search = with_second_look({80.0, 88.0, 70.0});
  search.verified = io::SweepResults{
      .name = "s.message",
      .keys = search.folded.keys,
      .measures = search.folded.measures,
      .points = {done_layout(1, {"1", "4", "2"}, 87), done_layout(2, {"2", "2", "2"}, 80)}};
  const std::string text = io::search_text(search);
  EXPECT_NE(text.find("message against second look: rank correlation 1.000\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("regret at message: 0.00 %\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace exawarp::tests
