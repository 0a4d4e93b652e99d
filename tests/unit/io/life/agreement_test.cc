#include "io/life/agreement.h"

#include <gtest/gtest.h>

#include <thread>

#include "core/error.h"
#include "pdes/transport_in_process.h"

namespace exawarp::tests {
namespace {

using namespace io;

// What each rank says when `by_rank` are its settings: "" where it finds nothing, "other" where it
// leaves the word to another rank.
std::vector<std::string> said_by(const std::vector<Settings>& by_rank) {
  const auto ranks = static_cast<std::uint32_t>(by_rank.size());
  pdes::InProcessHub hub(ranks, 0);
  std::vector<std::string> said(ranks);
  std::vector<std::jthread> threads;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      const auto transport = hub.endpoint({r});
      try {
        require_same(*transport, by_rank[r]);
      } catch (const core::InputError& error) {
        said[r] = error.what();
      } catch (const OtherRankFailed& other) {
        said[r] = other.exit_code == 2 ? "other" : "wrong code";
      }
    });
  }
  threads.clear();  // joins
  return said;
}

const std::string kEnd = "; expected the same program, command and files on every rank";

TEST(RequireSame, FindsNothingWhereAllAgree) {
  const Settings settings{{"command", "run"}, {"--seed", "1"}};
  EXPECT_EQ(said_by({settings, settings, settings}), (std::vector<std::string>{"", "", ""}));
  EXPECT_EQ(said_by({{}, {}}), (std::vector<std::string>{"", ""}));
}

TEST(RequireSame, NamesTheFirstKeyAndTheRanks) {
  const auto with = [](const char* seed, const char* end) {
    return Settings{{"command", "run"}, {"--seed", seed}, {"--end", end}};
  };
  const auto said = said_by({with("1", "5"), with("2", "6"), with("1", "5"), with("", "5")});
  EXPECT_EQ(said[0],
            "--seed: differs between ranks: \"1\" on ranks 0, 2, \"2\" on rank 1, nothing "
            "on rank 3" +
                kEnd);
  for (std::size_t rank = 1; rank < said.size(); ++rank) EXPECT_EQ(said[rank], "other");
}

TEST(RequireSame, ShowsAKeyThatStandsInTheOthersPlace) {
  EXPECT_EQ(said_by({{{"a", "1"}, {"b", "2"}}, {{"b", "2"}}})[0],
            "a: differs between ranks: \"1\" on rank 0, \"b: 2\" on rank 1" + kEnd);
}

TEST(RequireSame, SeesThatAListGoesOn) {
  EXPECT_EQ(said_by({{{"a", "1"}}, {{"a", "1"}, {"b", "2"}}})[0],
            "b: differs between ranks: nothing on rank 0, \"2\" on rank 1" + kEnd);
}

TEST(RequireSame, StaysShortWithManyRanks) {
  std::vector<Settings> by_rank;
  for (int r = 0; r < 24; ++r) by_rank.push_back({{"a", std::to_string(r < 12 ? 0 : r)}});
  EXPECT_EQ(said_by(by_rank)[0],
            "a: differs between ranks: \"0\" on ranks 0, 1, 2, 3, 4, 5, 6, 7, ..., \"12\" on rank "
            "12, \"13\" on rank 13, \"14\" on rank 14, ..." +
                kEnd);
}

}  // namespace
}  // namespace exawarp::tests
