#include "io/report/validation_pairs.h"

#include <gtest/gtest.h>

namespace exawarp::io {
namespace {

void add(Validation& out, const std::string& name, double measured_s, ValidationResult result) {
  ValidationRow row;
  row.family = "family";
  row.name = name;
  row.measured_s = measured_s;
  out.rows.push_back(row);
  out.results.push_back(std::move(result));
}

// Twice too slow throughout, and a formula that does not see what the second row adds.
Validation biased() {
  Validation out;
  add(out, "one", 1, {.predicted_s = 2, .problem = "", .formula_s = 0.5});
  add(out, "more", 2, {.predicted_s = 4, .problem = "", .formula_s = 0.8});
  return out;
}

TEST(ValidationPairs, AConstantErrorCancels) {
  const FromOneRow said = from_one_row_of_families(biased()).at("family");
  EXPECT_EQ(said.pairs, 2u);
  EXPECT_EQ(said.closer, 2u);
  EXPECT_NEAR(said.predicted.mean_percent, 0, 1e-9);
  EXPECT_NEAR(said.predicted.worst_percent, 0, 1e-9);
  // 1.6 where 2 is right, and 1 / 1.6 where 1 / 2 is.
  EXPECT_NEAR(said.formula.mean_percent, (20 + 25) / 2.0, 1e-9);
  EXPECT_NEAR(said.formula.worst_percent, 25, 1e-9);
}

TEST(ValidationPairs, RowsWithoutAPredictionOrAFormulaAreNoPairs) {
  Validation v = biased();
  add(v, "refused", 1, {.predicted_s = 0, .problem = "no layout"});
  add(v, "recorded", 1, {.predicted_s = 1, .problem = "", .formula_s = 0});
  EXPECT_EQ(from_one_row_of_families(v).at("family").pairs, 2u);
  v.rows.erase(v.rows.begin());
  v.results.erase(v.results.begin());
  EXPECT_TRUE(from_one_row_of_families(v).empty());
}

TEST(ValidationPairs, ATrendIsTheSecondRowOverTheFirst) {
  Validation v = biased();
  v.results[1].predicted_s = 4.4;
  v.trends = {{"scale", "family", "one", "family", "more"},
              {"scale", "family", "one", "family", "not chosen"}};
  const auto said = ratios_of_trends(v);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_DOUBLE_EQ(said[0].measured, 2);
  EXPECT_DOUBLE_EQ(said[0].predicted, 2.2);
  EXPECT_NEAR(said[0].error_percent(), 10, 1e-9);
}

}  // namespace
}  // namespace exawarp::io
