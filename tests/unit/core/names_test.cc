#include "core/names.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace exawarp::tests {
namespace {

using namespace core;

enum class Tide : std::uint8_t { low, high, spring };
constexpr Named<Tide> kTideNames[] = {
    {"low", Tide::low}, {"ebb", Tide::low}, {"high", Tide::high}, {"spring", Tide::spring}};
constexpr std::span<const Named<Tide>> names_of(Tide) { return kTideNames; }

constexpr Named<Tide> kFew[] = {{"low", Tide::low}, {"spring", Tide::spring}};
static_assert(names_each(kTideNames));
static_assert(!names_each(kFew));
static_assert(names_each(kFew, {Tide::high}));

TEST(Names, TheFirstNameOfAValueIsPrinted) {
  EXPECT_EQ(name_of(Tide::low), "low");
  EXPECT_EQ(name_of(Tide::spring), "spring");
}

TEST(Names, EachNameIsRead) {
  EXPECT_EQ(value_of<Tide>("ebb"), Tide::low);
  EXPECT_EQ(value_of<Tide>("high"), Tide::high);
  EXPECT_EQ(value_of<Tide>("neap"), std::nullopt);
}

TEST(Names, AValueWithoutAnEnumeratorIsUnknown) {
  EXPECT_EQ(name_of(static_cast<Tide>(7)), "unknown");
}

TEST(Names, AreListedInTheTablesOrder) {
  EXPECT_EQ(list_of_names(names_of(Tide{})), "low, ebb, high, spring");
}

}  // namespace
}  // namespace exawarp::tests
