#include "io/report/search_report.h"

#include <gtest/gtest.h>

#include "io/report/memory_report.h"

namespace exawarp::tests {
namespace {

using io::PointState;
using io::SearchOutcome;
using io::SweepPoint;
using Pairs = std::vector<std::pair<double, double>>;

SweepPoint done(std::int64_t number, std::vector<std::string> values, double tokens) {
  return {.number = number,
          .state = PointState::done,
          .values = std::move(values),
          .outcome = {},
          .figures = {tokens, 10.0, 8.0, 1.0, 0.5}};
}

SweepPoint failed(std::int64_t number, std::vector<std::string> values, std::string reason) {
  return {.number = number,
          .state = PointState::failed,
          .values = std::move(values),
          .outcome = {.exit_code = 2, .reason = std::move(reason)},
          .figures = {{}, {}, {}, {}, {}}};
}

// Tensor, pipeline, and data that follows.
SearchOutcome four_layouts() {
  SearchOutcome out;
  out.combinations = 6;
  out.impossible = {{"devices", 2}};
  out.data_key = "parallel.data";
  out.folded.name = "s";
  out.folded.keys = {"parallel.tensor", "parallel.pipeline", "parallel.data"};
  out.folded.measures = io::search_measures();
  out.folded.points = {done(1, {"1", "2", "4"}, 90), done(2, {"2", "2", "2"}, 100),
                       failed(3, {"2", "1", "4"}, "x" + std::string(io::kLacksMemory) + "y"),
                       done(4, {"1", "4", "2"}, 95)};
  out.best = 2;
  out.fidelity = "message";
  return out;
}

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
  search.verified =
      io::SweepResults{.name = "s.message",
                       .keys = search.folded.keys,
                       .measures = search.folded.measures,
                       .points = {done(1, {"2", "2", "2"}, 80), done(2, {"1", "4", "2"}, 88)}};
  const std::string text = io::search_text(search);
  EXPECT_NE(text.find("rank correlation -1.000"), std::string::npos) << text;
  EXPECT_NE(text.find("regret at message: 9.09 %; the best there is number 4\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace exawarp::tests
