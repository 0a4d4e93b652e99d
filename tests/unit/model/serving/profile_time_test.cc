// Vidur's rules of an iteration's time, on profiles whose sums are done by hand.
#include "model/serving/profile_time.h"

#include <gtest/gtest.h>

namespace exawarp::tests {
namespace {

using namespace model::serving;

// Attention of decodes: 10 ps a decode and token; of prompts: a pair of tokens, twice, is 1 ps.
Profile profile() {
  Profile p{.tokens = {{8, 1'000}, {16, 2'000}, {32, 3'000}},
            .keys_saved = {{1, 10}, {101, 110}},
            .decodes = {},
            .prompts = {},
            .all_reduce = {},
            .send = {},
            .token_bytes = 100};
  for (const std::uint64_t n : {1U, 2U, 4U}) {
    for (const std::uint64_t context : {64U, 128U, 256U})
      p.decodes[n][context] = static_cast<std::int64_t>(10 * n * context);
  }
  for (const std::uint64_t n : {10U, 20U, 40U}) {
    for (const std::uint64_t past : {0U, 64U, 128U})
      p.prompts[n][past] = static_cast<std::int64_t>(n * (n + 2 * past));
  }
  return p;
}

std::int64_t layer_ps(const Profile& p, const IterationWork& work) {
  const std::int64_t ps = ProfileTime(p, 1).of(work).ps;
  EXPECT_EQ(ProfileTime(p, 24).of(work).ps, 24 * ps);
  return ps;
}

IterationWork decodes(std::uint64_t number, std::uint64_t context) {
  return {.tokens = number, .outputs = number, .decodes = number, .decode_context = context};
}

IterationWork prompts(std::initializer_list<std::pair<std::uint64_t, std::uint64_t>> chunks) {
  IterationWork work;
  for (const auto& [tokens, past] : chunks) {
    work.tokens += tokens;
    work.prompt_tokens += tokens;
    work.prompt_squares += tokens * tokens;
    work.prompt_past += context_up(past);
    ++work.prompts;
  }
  return work;
}

TEST(ProfileTime, RoundsTokensUpToEightAndContextToSixtyFour) {
  // One decode at 65 tokens counts as 8 tokens and a context of 128; its key is saved alone.
  EXPECT_EQ(layer_ps(profile(), decodes(1, 65)), 1'000 + 10 + 10 * 128);
  EXPECT_EQ(layer_ps(profile(), decodes(1, 64)), 1'000 + 10 + 10 * 64);
}

TEST(ProfileTime, TakesTheMeanContextOfDecodes) {
  // Of 3 with 200 tokens in all 66 on average, rounded down, then up to 128; between rows 2 and 4.
  EXPECT_EQ(layer_ps(profile(), decodes(3, 200)), 1'000 + 12 + 10 * 3 * 128);
}

TEST(ProfileTime, TakesSeveralPromptsAsOneWithAsManyPairs) {
  // 6 and 8 tokens are as one of 10, and 14 tokens as 16.
  EXPECT_EQ(layer_ps(profile(), prompts({{6, 0}, {8, 0}})), 2'000 + 23 + 10 * 10);
  // Behind 1 and 65 tokens, that is 64 and 128; beyond the last past in proportion to pairs.
  EXPECT_EQ(layer_ps(profile(), prompts({{6, 1}, {8, 65}})), 2'000 + 23 + 10 * (10 + 2 * 192));
}

TEST(ProfileTime, AddsATenthForSeveralOfGroupedQueries) {
  Profile p = profile();
  p.grouped_queries = true;
  EXPECT_EQ(layer_ps(p, decodes(1, 64)), 1'000 + 10 + 640);
  EXPECT_EQ(layer_ps(p, decodes(2, 128)), 1'000 + 11 + 1'280 * 11 / 10);
  EXPECT_EQ(layer_ps(p, prompts({{6, 0}, {8, 0}})), 2'000 + 23 + 110);
  EXPECT_EQ(layer_ps(p, prompts({{10, 0}})), 2'000 + 19 + 100);
}

TEST(ProfileTime, JoinsALayerTwiceWhereDevicesSplitIt) {
  Profile p = profile();
  p.all_reduce = {{800, 5'000}, {1'600, 6'000}};
  EXPECT_EQ(layer_ps(p, decodes(1, 64)),
            1'000 + 10 + 640 + 2 * (5'000 + kAllReduceLaunch.ps));
  EXPECT_EQ(ProfileTime(p, 1).send(decodes(1, 64)).ps, 0);
}

TEST(ProfileTime, SendsWholeTokensToTheNextStage) {
  Profile p = profile();
  p.send = {{800, 700}, {1'600, 900}};
  EXPECT_EQ(ProfileTime(p, 2).send(decodes(9, 64 * 9)).ps, 900);
  EXPECT_EQ(ProfileTime(p, 2).of(decodes(1, 64)).ps, 2 * (1'000 + 10 + 640));
}

TEST(ProfileTime, GrowsInProportionBeyondWhatWasMeasured) {
  const ProfileTime time(profile(), 1);
  EXPECT_EQ(time.of(decodes(8, 8 * 512)).ps, 1'000 + 17 + 10 * 8 * 512);
  EXPECT_EQ(time.of(prompts({{64, 0}})).ps, 6'000 + 73 + 40 * 40 * 64 / 40);
  EXPECT_EQ(time.of({}).ps, 0);
}

TEST(ProfileTime, SaysWhatItCovers) {
  const ProfileTime time(profile(), 1);
  EXPECT_TRUE(time.covers(decodes(4, 4 * 256)));
  EXPECT_FALSE(time.covers(decodes(5, 5 * 64)));
  EXPECT_FALSE(time.covers(decodes(1, 257)));
  EXPECT_TRUE(time.covers(prompts({{32, 128}})));
  EXPECT_FALSE(time.covers(prompts({{33, 0}})));
  EXPECT_FALSE(time.covers(prompts({{32, 129}})));
  EXPECT_FALSE(time.covers(prompts({{10, 192}})));
}

}  // namespace
}  // namespace exawarp::tests
