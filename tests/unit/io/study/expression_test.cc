#include "io/study/expression.h"

#include <gtest/gtest.h>

#include <array>

#include "core/error.h"

namespace exawarp::tests {
namespace {

using io::Expression;

const std::vector<std::string> kNames{"a", "b", "parallel.tensor"};
constexpr std::array kValues{4.0, 6.0, 0.5};

bool holds(const std::string& text) { return Expression(text, "x.yaml:3", kNames).holds(kValues); }

std::string error_of(const std::string& text) {
  try {
    static_cast<void>(holds(text));
    return "";
  } catch (const core::InputError& error) {
    return error.what();
  }
}

TEST(Expression, BindsAsInArithmetic) {
  EXPECT_TRUE(holds("a + b * 2 = 16"));
  EXPECT_TRUE(holds("(a + b) * 2 == 20"));
  EXPECT_TRUE(holds("a - b - 2 = -4"));
  EXPECT_TRUE(holds("b / a / 3 = 0.5"));
  EXPECT_TRUE(holds("-a * - 2 = 8"));
  EXPECT_TRUE(holds("b % a = 2 and 1e-3 < 2.5e+1"));
}

TEST(Expression, AndBindsCloserThanOr) {
  EXPECT_TRUE(holds("a = 4 or a = 1 and a = 2"));
  EXPECT_FALSE(holds("(a = 4 or a = 1) and a = 2"));
  EXPECT_TRUE(holds("not a = 1 and not (a = 2 or b = 2)"));
}

TEST(Expression, ComparesEveryWay) {
  EXPECT_TRUE(holds("a < b and a <= b and b > a and b >= a and a != b"));
  EXPECT_FALSE(holds("a > b or a >= b or b < a or b <= a or a = b"));
}

TEST(Expression, KnowsFunctionsAndWholeKeys) {
  EXPECT_TRUE(holds("divides(a, 2 * a) and not divides(a, b)"));
  EXPECT_TRUE(holds("min(b, a, 9) = 4 and max(1, a + 1, b) = 6"));
  EXPECT_TRUE(holds("parallel.tensor = 0.5"));
}

TEST(Expression, LeavesTheRightSideAloneWhereTheLeftDecides) {
  EXPECT_TRUE(holds("a = 4 or divides(0, b)"));
  EXPECT_FALSE(holds("a = 5 and b / 0 > 1"));
}

TEST(Expression, SaysWhichNamesItHas) {
  const Expression expression("a < 5", "x.yaml", kNames);
  EXPECT_TRUE(expression.uses(0));
  EXPECT_FALSE(expression.uses(1));
}

TEST(Expression, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> kCases[]{
      {"", R"("": the end)"},
      {"a = ", R"("a = ": the end is not possible there; expected a name, a number or "(")"},
      {"a b", R"("a b": "b" is not possible there; expected an operator, or the end)"},
      {"a", R"("a": is a number as a whole; expected a condition, e.g. "a = b")"},
      {"a and b = 1", R"("a and b = 1": is a number before "and"; expected a condition)"},
      {"(a = 1) + 1 = 2", R"(: is a condition before "+"; expected a number)"},
      {"not a", R"(: is a number after "not"; expected a condition)"},
      {"-(a = 1) = 1", R"(: is a condition after "-"; expected a number)"},
      {"1 < a < 9", R"(: "<" is not possible there; expected "and" between two comparisons)"},
      {"a ! b", R"(: "!" is no operator; expected "!=", or "not")"},
      {"c = 1", R"(: "c" is no key that has a number here; expected the last part of one)"},
      {"parallel.tenso = 1", R"(did you mean "parallel.tensor"?)"},
      {"f(a) = 1", R"(: "f" is no function; expected divides, min or max)"},
      {"min(a) = 1", R"(: "min" of 1 arguments; expected 2 or more)"},
      {"divides(a, b, 2)", R"(: "divides" of 3 arguments; expected 2)"},
      {"divides(a = 1, b)", R"(: is a condition as an argument of "divides"; expected a number)"},
      {"(a = 1", ": the end is not possible there; expected \")\""},
      {"max(a, b = 1", R"(expected a number)"},
      {"1x = 1", R"(: "1x" is no number; expected e.g. 8 or 0.5)"},
      {"1e999 = 1", R"(: "1e999" is no number; expected e.g. 8 or 0.5)"},
      {"a / 0 = 1", R"("a / 0 = 1": divides by 0)"},
      {"a % 0 = 1", R"(: divides by 0)"},
      {"a % 0.5 = 1", R"(: has no remainder of 4 by 0.5; expected whole numbers)"}};
  for (const auto& [text, expected] : kCases) {
    const std::string error = error_of(text);
    EXPECT_TRUE(error.starts_with("x.yaml:3: ")) << text << " -> " << error;
    EXPECT_NE(error.find(expected), std::string::npos) << text << " -> " << error;
  }
}

TEST(Expression, IsBoundedInLengthAndDepth) {
  EXPECT_NE(error_of(std::string(2'000, 'a')).find("is too long"), std::string::npos);
  for (const char* const opening : {"(", "-", "not "}) {
    std::string text;
    for (int i = 0; i < 200; ++i) text += opening;
    EXPECT_NE(error_of(text).find("is nested too deeply"), std::string::npos) << opening;
  }
}

TEST(Expression, EvaluatesEachPartOnce) {
  std::string text;  // twice each would be 2^60 times the innermost
  for (int i = 0; i < 60; ++i) text += "- ";
  EXPECT_TRUE(holds(text + "a = 4"));
}

}  // namespace
}  // namespace exawarp::tests
