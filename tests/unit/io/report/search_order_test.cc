#include "io/report/search_order.h"

#include <gtest/gtest.h>

#include "tests/unit/io/report/search_layouts.h"

namespace exawarp::tests {
namespace {

using io::layouts_to_look_at;
using Figures = std::vector<double>;
using Looks = std::vector<std::optional<double>>;

const Figures kFirst{100, 99, 98, 97, 96, 90};

TEST(SearchOrder, TheSecondLookBeginsWithAsManyAsAreWanted) {
  EXPECT_EQ(layouts_to_look_at(kFirst, Looks{}, 2, 6), 2U);
}

TEST(SearchOrder, ItEndsWhereNoOtherIsFasterAtFirstLook) {
  EXPECT_EQ(layouts_to_look_at(kFirst, Looks{100, 98}, 2, 6), 2U);
  EXPECT_EQ(layouts_to_look_at(kFirst, Looks{90, 99, 98, 97}, 2, 6), 4U);
}

TEST(SearchOrder, ItGoesOnWithThoseThatAreFaster) {
  EXPECT_EQ(layouts_to_look_at(kFirst, Looks{95, 97.5}, 2, 6), 4U);   // 98 and 97, of which 98 is
  EXPECT_EQ(layouts_to_look_at(kFirst, Looks{100, 97.5}, 2, 6), 3U);  // 97 is not faster
}

TEST(SearchOrder, ItEndsAtTheMostAndAtTheEndOfTheList) {
  EXPECT_EQ(layouts_to_look_at(kFirst, Looks{50, 50}, 2, 3), 3U);
  EXPECT_EQ(layouts_to_look_at(kFirst, Looks{50, 50, 50}, 2, 3), 3U);
  EXPECT_EQ(layouts_to_look_at(kFirst, Looks{50, 50, 50, 50}, 4, 10), 6U);
  EXPECT_EQ(layouts_to_look_at(kFirst, Looks{50, 50, 50, 50, 50, 50}, 4, 10), 6U);
  EXPECT_EQ(layouts_to_look_at(Figures{}, Looks{}, 4, 10), 0U);
}

TEST(SearchOrder, WhatFailsAtSecondLookKeepsItsFirst) {
  EXPECT_EQ(layouts_to_look_at(kFirst, Looks{{}, {}}, 2, 6), 2U);
}

TEST(SearchOrder, TheBestAreThoseOfTheSecondLook) {
  io::SearchOutcome search = four_layouts();
  EXPECT_EQ(numbers_of(io::best_layouts(search)), (std::vector<std::int64_t>{2, 4}));
  search.again = looked_again(search, {80.0, 88.0, 70.0});
  const std::vector<io::SweepPoint> best = io::best_layouts(search);
  EXPECT_EQ(numbers_of(best), (std::vector<std::int64_t>{4, 2}));
  EXPECT_DOUBLE_EQ(io::deciding_figure(search, best[0]), 88);
  EXPECT_DOUBLE_EQ(*best[0].figures.front(), 95);
}

TEST(SearchOrder, AmongTheBestWhatFailedHasItsFirstFigure) {
  io::SearchOutcome search = four_layouts();
  search.again = looked_again(search, {80.0, {}, 92.0});
  const std::vector<io::SweepPoint> best = io::best_layouts(search);
  EXPECT_EQ(numbers_of(best), (std::vector<std::int64_t>{4, 1}));
  EXPECT_DOUBLE_EQ(io::deciding_figure(search, best[0]), 95);
}

TEST(SearchOrder, OnlyThoseWithASecondLookAreAmongTheBest) {
  io::SearchOutcome search = four_layouts();
  search.again = looked_again(search, {50.0, 60.0});
  EXPECT_EQ(numbers_of(io::best_layouts(search)), (std::vector<std::int64_t>{4, 2}));
}

}  // namespace
}  // namespace exawarp::tests
