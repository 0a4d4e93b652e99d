// What a capacity's rows are compared by.
#include "io/report/capacity_report.h"

#include <gtest/gtest.h>

namespace exawarp::tests {
namespace {

using namespace io;

CapacityRow row(double tokens_per_s, double devices, std::int64_t per_token_ms) {
  CapacityRow out{.setting = "k=v", .devices = devices, .points = {}, .best = 0};
  out.points.push_back({.rate = 3,
                        .kept_share = 1,
                        .is_kept = true,
                        .requests_per_s = 3,
                        .output_tokens_per_s = tokens_per_s,
                        .first_token_p99 = {},
                        .per_token_mean = core::Time{per_token_ms * 1'000'000'000},
                        .digest = "d"});
  return out;
}

TEST(CapacityReport, ComparesTokensForADeviceAndForAUser) {
  const CapacityRow one = row(900, 4, 20);
  EXPECT_DOUBLE_EQ(one.tokens_per_s_per_device(), 225);
  EXPECT_DOUBLE_EQ(one.tokens_per_s_per_user(), 50);
  CapacityRow none = one;
  none.best = -1;
  EXPECT_EQ(none.rate(), 0);
  EXPECT_EQ(none.tokens_per_s_per_device(), 0);
  EXPECT_EQ(none.tokens_per_s_per_user(), 0);
}

TEST(CapacityReport, MarksWhatNothingElseIsBetterThan) {
  std::vector<CapacityRow> rows{row(100, 1, 10), row(200, 1, 20), row(150, 1, 25),
                                row(200, 1, 20), row(500, 1, 1)};
  rows[4].best = -1;  // nothing was kept
  mark_front(rows);
  const bool expected[] = {true, true, false, true, false};
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].is_on_front, expected[i]) << i;
}

TEST(CapacityReport, NamesTheBestRowAndTheLoadsOfTheFront) {
  std::vector<CapacityRow> rows{row(100, 1, 10), row(200, 1, 20)};
  rows[0].points.push_back(rows[0].points[0]);
  rows[0].points[1].rate = 1;
  rows[0].points[1].per_token_mean = core::Time{5'000'000'000};
  rows[0].points[1].output_tokens_per_s = 40;
  rows[0].points.push_back(rows[0].points[0]);
  rows[0].points[2].is_kept = false;
  rows[0].points[2].output_tokens_per_s = 1e6;
  rows[1].points[0].rate = 2;
  const std::vector<FrontPoint> front = front_of(rows);
  ASSERT_EQ(front.size(), 3u);
  EXPECT_EQ(front[0].tokens_per_s_per_device, 40);
  EXPECT_EQ(front[0].tokens_per_s_per_user, 200);
  EXPECT_EQ(front[2].tokens_per_s_per_device, 200);
  EXPECT_EQ(best_of(rows), rows.data());
  rows[0].best = rows[1].best = -1;
  EXPECT_EQ(best_of(rows), nullptr);
}

TEST(CapacityReport, SaysWhereNothingWasKeptOrAllWas) {
  CapacityReport report{.study = "s", .tolerance = 0.01, .rows = {row(100, 1, 10)}};
  EXPECT_NE(capacity_text(report).find("capacity: at least 3 requests/s"), std::string::npos);
  report.rows[0].is_bounded = true;
  EXPECT_NE(capacity_text(report).find("capacity: 3 requests/s"), std::string::npos);
  report.rows[0].best = -1;
  EXPECT_NE(capacity_text(report).find("capacity: none"), std::string::npos);
}

}  // namespace
}  // namespace exawarp::tests
