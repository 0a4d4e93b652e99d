#include "io/report/sweep_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/error.h"

namespace exawarp::tests {
namespace {

using io::Measure;
using io::PointState;
using io::SweepPoint;
using io::SweepResults;

// Points with a rate, more of which is better, and a memory, less of which is.
SweepResults results(const std::vector<std::pair<double, double>>& figures) {
  SweepResults out{.name = "s",
                   .keys = {"a.tensor", "b.system"},
                   .measures = {io::measure_of("", "tokens_per_s"), io::measure_of("", "memory")},
                   .points = {}};
  for (const auto& [rate, memory] : figures) {
    SweepPoint& point = out.points.emplace_back();
    point.number = static_cast<std::int64_t>(out.points.size());
    point.state = PointState::done;
    point.values = {"2", "systems/x.yaml"};
    point.figures = {rate, memory};
  }
  return out;
}

std::vector<std::int64_t> numbers_of(const std::vector<SweepPoint>& points) {
  std::vector<std::int64_t> out;
  for (const SweepPoint& point : points) out.push_back(point.number);
  return out;
}
using Numbers = std::vector<std::int64_t>;

TEST(SweepReport, BestAreFirstAndEqualOnesInOrder) {
  const SweepResults all = results({{5, 1}, {9, 1}, {5, 1}, {7, 1}});
  EXPECT_EQ(numbers_of(io::best_points(all, 3)), (Numbers{2, 4, 1}));
  EXPECT_EQ(numbers_of(io::best_points(all, 9)), (Numbers{2, 4, 1, 3}));
}

TEST(SweepReport, LeavesOutWhatHasNoFigure) {
  SweepResults all = results({{5, 1}, {9, 1}, {7, 1}});
  all.points[1].state = PointState::failed;
  all.points[2].figures[0] = std::nullopt;
  EXPECT_EQ(numbers_of(io::best_points(all, 3)), Numbers{1});
}

TEST(SweepReport, FrontIsWhatNothingBeatsInAll) {
  const SweepResults all = results({{5, 1}, {9, 8}, {9, 7}, {4, 1}, {7, 7}, {7, 3}, {5, 1}});
  EXPECT_EQ(numbers_of(io::pareto_points(all, 2)), (Numbers{3, 6, 1, 7}));
  EXPECT_EQ(numbers_of(io::pareto_points(all, 1)), (Numbers{2, 3}));
}

TEST(SweepReport, TableHasShortNames) {
  EXPECT_EQ(io::points_table(results({{5, 1}}), results({{5, 1}}).points),
            "  number  tensor  system  tokens_per_s  memory (GB)\n"
            "       1       2       x             5            1\n");
}

TEST(SweepReport, CsvQuotesWhatItHasTo) {
  SweepResults all = results({{5, 0.25}});
  all.points[0].values[0] = "a,\"b\"";
  all.points[0].outcome.digest = "d";
  EXPECT_EQ(io::sweep_csv(all),
            "number,a.tensor,b.system,state,reason,exit_code,wall_s,digest,tokens_per_s,"
            "memory (GB)\n"
            "1,\"a,\"\"b\"\"\",systems/x.yaml,done,,0,0,d,5,0.25\n");
}

TEST(SweepReport, JsonHasTheWholeSummary) {
  SweepResults all = results({{5, 1}});
  all.points[0].outcome.summary = R"({"devices": 8})";
  const auto json = nlohmann::json::parse(io::sweep_json(all, all.points));
  EXPECT_EQ(json["points"][0]["summary"]["devices"], 8);
  EXPECT_EQ(json["points"][0]["values"]["a.tensor"], "2");
  EXPECT_EQ(json["points"][0]["figures"]["tokens_per_s"], 5);
}

TEST(SweepReport, TellsEachReasonOnce) {
  SweepResults all = results({{5, 1}, {5, 1}, {5, 1}});
  for (const std::size_t i : {0U, 2U}) {
    all.points[i].state = PointState::failed;
    all.points[i].outcome = {.exit_code = 2, .reason = "too large", .wall_s = 1};
  }
  EXPECT_EQ(io::sweep_text(all),
            "sweep s: 3 points, 1 done, 2 failed\n"
            "simulated in 2.0 s of host time, all points together\n"
            "failed: point 1 and 1 more: too large\n");
}

TEST(SweepReport, MeasuresArePathsIntoTheSummary) {
  const std::string summary =
      R"({"iteration_time_ps": 2000000000000, "memory": {"programs": [{"peak_bytes": 3e9},
          {"peak_bytes": 5e9}]}, "engine": {"epochs": 7}, "study": "x"})";
  const std::vector<Measure> measures{io::measure_of("", "step_time"),
                                      io::measure_of("", "memory"),
                                      io::measure_of("", "engine.epochs:most"),
                                      io::measure_of("", "study:least"),
                                      io::measure_of("", "memory.programs.0.peak_bytes:least"),
                                      io::measure_of("", "memory.programs.2.peak_bytes:least")};
  EXPECT_EQ(io::figures_of(summary, measures),
            (std::vector<std::optional<double>>{2, 5, 7, std::nullopt, 3e9, std::nullopt}));
  EXPECT_EQ(io::figures_of("", {measures.data(), 1}),
            std::vector<std::optional<double>>{std::nullopt});
}

TEST(SweepReport, RefusesWhatIsNoMeasure) {
  for (const char* const text : {"tokens", "a.b", ":most", ""}) {
    EXPECT_THROW(static_cast<void>(io::measure_of("--by", text)), core::InputError) << text;
  }
}

}  // namespace
}  // namespace exawarp::tests
