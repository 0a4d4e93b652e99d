// vLLM's rules, on replicas so small that each schedule can be written down: a batch takes 10 ms.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/unit/model/serving/v1_runs.h"

namespace exawarp::tests {
namespace {

using namespace core::literals;
using namespace model::serving;
using namespace v1;

TEST(VllmV1, SpendsOneBudgetOnDecodesAndPrompts) {
  Spec spec = small({at(0_ps, 4, 3), at(0_ps, 12, 1)});
  spec.batch_tokens_max = 8;
  const Ran ran = run(spec);
  EXPECT_EQ(ran.first_token(0), 1);  // 4 + 4 of the other prompt, then 1 + 7, then 1 + 1
  EXPECT_EQ(ran.end(0), 3);
  EXPECT_EQ(ran.first_token(1), 3);
  EXPECT_EQ(ran.batches, 3u);
}

TEST(VllmV1, WithoutChunksAPromptWaitsForRoom) {
  Spec spec = small({at(0_ps, 4, 3), at(0_ps, 8, 1)});
  spec.request_tokens_max = spec.batch_tokens_max = 9;
  spec.chunked_prefill = false;
  const Ran ran = run(spec);
  EXPECT_EQ(ran.first_token(1), 2);  // 8 fit beside one decode, not beside 4 of a prompt
}

TEST(VllmV1, ServesByArrivalOrByPriority) {
  Spec spec = small({at(0_ps, 4, 2, 0), at(1_ms, 4, 2, 1), at(2_ms, 4, 2, 2), at(3_ms, 4, 2, 1)});
  spec.batch_requests_max = 1;
  spec.priorities = {5, 1, -4};
  const Ran by_arrival = run(spec);
  spec.order = Order::priority;
  const Ran by_priority = run(spec);
  const auto ends_ms = [&](const Ran& ran) {
    std::vector<std::int64_t> out;
    for (std::size_t i = 0; i < 4; ++i)
      out.push_back(whole(spec.requests[i].arrival + ran.outcome->end(i), 1_ms));
    return out;
  };
  EXPECT_EQ(ends_ms(by_arrival), (std::vector<std::int64_t>{20, 40, 60, 80}));
  EXPECT_EQ(ends_ms(by_priority), (std::vector<std::int64_t>{20, 60, 40, 80}));
}

TEST(VllmV1, NeverHasMoreRequestsThanItMay) {
  std::vector<Request> requests(6, at(0_ps, 4, 4));
  Spec spec = small(std::move(requests));
  spec.batch_requests_max = 2;
  const Ran ran = run(spec);
  EXPECT_EQ(ran.end(1), 4);
  EXPECT_EQ(ran.end(3), 8);
  EXPECT_EQ(ran.end(5), 12);
}

// Two requests grow until the pool of 6 blocks is full.
Spec crowd_of_two() {
  Spec spec = small({at(0_ps, 8, 10, 0), at(0_ps, 8, 10, 1)});
  spec.request_tokens_max = 18;
  spec.blocks = 6;
  spec.priorities = {1, 0};
  return spec;
}

TEST(VllmV1, PreemptsTheLastComeOrTheLeastUrgent) {
  Spec spec = crowd_of_two();
  Ran ran = run(spec);
  EXPECT_EQ(ran.restarts(0), 0u);
  EXPECT_EQ(ran.restarts(1), 1u);
  EXPECT_EQ(ran.end(0), 10);
  EXPECT_GT(ran.tokens, 2u * 17) << "nothing was computed again";
  EXPECT_EQ(ran.gaps.count(), 2u * 9) << "a restart gives no token twice";
  EXPECT_EQ(whole(core::Time{static_cast<std::int64_t>(ran.gaps.most_ps)}, 10_ms), 6)
      << "from the batch before it was preempted, at 50 ms, to the one after the other's end";
  spec.order = Order::priority;
  ran = run(spec);
  EXPECT_EQ(ran.restarts(0), 1u);
  EXPECT_EQ(ran.restarts(1), 0u);
  EXPECT_EQ(ran.end(1), 10);
}

TEST(VllmV1, GoesOnWhenTheFirstInLineIsPreemptedForItself) {
  // The less urgent one came first, and needs its fourth block when the pool is full, at 50 ms.
  Spec spec = crowd_of_two();
  spec.requests[1].arrival = 15_ms;
  spec.order = Order::priority;
  const Ran ran = run(spec);
  EXPECT_EQ(ran.restarts(0), 1u);
  EXPECT_EQ(ran.restarts(1), 0u);
  EXPECT_EQ(ran.end(1), 10);
  EXPECT_GT(ran.end(0), 10);
}

TEST(VllmV1, PreemptsTheLastOfThree) {
  std::vector<Request> requests(3, at(0_ps, 8, 8));
  Spec spec = small(std::move(requests));
  spec.request_tokens_max = 16;
  spec.blocks = 9;  // three each, until the fourth is asked for
  const Ran ran = run(spec);
  EXPECT_EQ(ran.restarts(0) + ran.restarts(1), 0u);
  EXPECT_EQ(ran.restarts(2), 1u);
}

TEST(VllmV1, NobodyEntersABatchThatPreempted) {
  Spec spec = crowd_of_two();
  spec.requests.push_back(at(15_ms, 4, 1, 2));  // the pool is full from 10 ms to 50 ms
  spec.priorities = {1, 0, -1};
  spec.order = Order::priority;
  const Ran ran = run(spec);
  EXPECT_EQ(ran.restarts(0), 1u);
  EXPECT_EQ(ran.first_token(2), 5) << "in the batch from 60 ms";
}

// The last request of a batch under way cannot give way. Who needs its blocks waits until it comes
// back: if it gave way itself, both would begin again in turns for ever.
TEST(VllmV1, KeepsItsBlocksWhileALaterOneIsUnderWay) {
  Spec spec = small({at(0_ps, 22, 2), at(0_ps, 22, 2)});
  spec.stages = 2;
  spec.batch_tokens_max = 6;
  spec.reserve_prompt = false;
  spec.request_tokens_max = 24;
  spec.blocks = 7;
  const Ran ran = run(spec, 10_s);
  EXPECT_EQ(ran.restarts(0), 0u);
  EXPECT_GT(ran.restarts(1), 0u);
  EXPECT_LT(ran.end(0), ran.end(1));
}

TEST(VllmV1, WhatIsSwappedIsNotComputedAgain) {
  Spec spec = crowd_of_two();
  const core::Time recomputed = run(spec).outcome->end(1);
  spec.preemption = Preemption::swap;
  spec.swap = {.host_blocks = 3, .token_bytes = 1'000, .bytes_per_s = 1'000'000};
  const Ran ran = run(spec);
  EXPECT_EQ(ran.swaps, 1u);
  EXPECT_EQ(ran.tokens, 2u * 17);
  // Three blocks of 4 tokens out and in again: 24,000 bytes of the link.
  EXPECT_EQ(whole(ran.outcome->end(1) - recomputed, 1_ms), 24);
  spec.swap.host_blocks = 2;
  EXPECT_EQ(run(spec).swaps, 0u) << "there was no room for it";
}

TEST(VllmV1, LeavesAWatermarkWhenRequestsEnterBesideOthers) {
  Spec spec = small({at(0_ps, 8, 4), at(0_ps, 8, 4)});
  spec.request_tokens_max = 12;
  spec.blocks = 6;
  EXPECT_EQ(run(spec).first_token(1), 1);
  spec.watermark = 0.4;  // 2 blocks
  EXPECT_EQ(run(spec).first_token(1), 1);
  spec.watermark = 0.5;
  EXPECT_EQ(run(spec).first_token(1), 5);
}

TEST(VllmV1, ReservesThePromptOrItsFirstChunk) {
  Spec spec = small({at(0_ps, 12, 1), at(0_ps, 16, 1)});
  spec.request_tokens_max = 17;
  spec.batch_tokens_max = 14;
  spec.blocks = 6;
  EXPECT_EQ(run(spec).first_token(1), 3);
  spec.reserve_prompt = false;
  EXPECT_EQ(run(spec).first_token(1), 2);  // 2 of it beside the first prompt, then 14
}

TEST(VllmV1, DraftsThatAreAcceptedSaveBatches) {
  Spec spec = small({at(0_ps, 4, 13)});
  EXPECT_EQ(run(spec).end(0), 13);
  spec.speculation = {.tokens = 3, .acceptance = 1, .draft = 1_ms};
  const Ran all = run(spec);
  EXPECT_EQ(all.batches, 4u);  // the prompt, then four tokens a batch
  EXPECT_EQ(whole(all.outcome->end(0), 1_ms), 10 + 3 * 13);
  spec.speculation.acceptance = 0;
  EXPECT_EQ(run(spec).batches, 13u);
}

TEST(VllmV1, AcceptsAsManyDraftsAsItsProbabilitySays) {
  std::vector<Request> requests(200, at(0_ps, 4, 60));
  Spec spec = small(std::move(requests));
  spec.batch_requests_max = 100;
  spec.batch_tokens_max = 1000;
  spec.blocks = 4000;
  spec.speculation = {.tokens = 4, .acceptance = 0.5, .draft = 0_ps};
  const Ran ran = run(spec);
  // 1/2 + 1/4 + 1/8 + 1/16 of a draft's tokens, and 1 more: 1.9375 tokens a request and batch. The
  // last batch of a request may have a shorter draft.
  const double per_step = 59.0 * 200 / static_cast<double>(59 * 200 - ran.accepted);
  EXPECT_NEAR(per_step, 1.9375, 0.05);
}

// Four thousand requests wait for three hours on average: more than 64 bits have of picoseconds.
TEST(VllmV1, CountsAsMuchWaitingAsThereIs) {
  std::vector<Request> requests(4'000, at(0_ps, 1, 5));
  Spec spec = small(std::move(requests));
  spec.batch_requests_max = 1;
  spec.time.base = 1_s;
  const Ran ran = run(spec);
  core::WidePs stay = 0;
  for (std::size_t i = 0; i < spec.requests.size(); ++i)
    stay += (ran.outcome->end(i) - spec.latency).ps;
  EXPECT_GT(stay, core::WidePs{1} << 64);
  EXPECT_EQ(ran.present_ps, stay);
  EXPECT_EQ(ran.gaps.sum_us, 16'000'000'000u);
}

// One request at a time, of one batch each: a queue with one server, whose times are known.
Spec one_server(std::vector<Request> requests) {
  Spec spec = small(std::move(requests));
  spec.batch_requests_max = 1;
  spec.time = {.base = 0_ps, .per_token = 1_ms, .per_context = 0_ps, .per_pair_half = 0_ps};
  return spec;
}

TEST(OneServer, NeverRestsWhileARequestWaitsAndServesByArrival) {
  const Spec spec = one_server(poisson_requests(
      {.requests = 3'000, .mean_interval = 12_ms, .prefill = {1, 19}, .decode = {1, 1}}, 5));
  const Ran ran = run(spec);
  core::Time free{0};  // D. V. Lindley, Proc. Cambridge Phil. Soc. 48 (1952) 277
  for (std::size_t i = 0; i < spec.requests.size(); ++i) {
    const Request& r = spec.requests[i];
    free = std::max(free, r.arrival + spec.latency) + r.prefill * 1_ms;
    ASSERT_EQ((r.arrival + ran.outcome->end(i)).ps, free.ps) << i;
  }
}

// The mean wait of `spec`, and four standard errors of it, by the means of 40 parts of the run.
struct Wait {
  double mean_ms = 0, band_ms = 0;
};
Wait wait_of(const Spec& spec) {
  constexpr std::size_t kParts = 40;
  const Ran ran = run(spec);
  const std::size_t each = spec.requests.size() / kParts;
  std::vector<double> means(kParts, 0);
  for (std::size_t i = 0; i < kParts * each; ++i) {
    const core::Time wait = ran.outcome->end(i) - spec.requests[i].prefill * 1_ms;
    means[i / each] += core::to_seconds(wait) * 1e3 / static_cast<double>(each);
  }
  Wait out;
  for (const double m : means) out.mean_ms += m / kParts;
  double squares = 0;
  for (const double m : means) squares += (m - out.mean_ms) * (m - out.mean_ms);
  out.band_ms = 4 * std::sqrt(squares / (kParts - 1) / kParts);
  return out;
}

// Pollaczek and Khinchin: a wait of rate E[S^2] / (2 (1 - load)).
TEST(OneServer, WaitsAsMD1AndMG1Do) {
  const auto at_load = [](core::Time interval, Uniform prefill) {
    return wait_of(one_server(poisson_requests(
        {.requests = 40'000, .mean_interval = interval, .prefill = prefill, .decode = {1, 1}}, 9)));
  };
  const Wait constant = at_load(20_ms, {10, 10});
  EXPECT_NEAR(constant.mean_ms, 100.0 / 20 / (2 * 0.5), constant.band_ms);
  EXPECT_LT(constant.band_ms, 0.5);
  const Wait even = at_load(20_ms, {1, 19});  // of variance (19^2 - 1) / 12
  EXPECT_NEAR(even.mean_ms, 130.0 / 20 / (2 * 0.5), even.band_ms);
  EXPECT_LT(even.band_ms, 0.7);
  const Wait busy = at_load(12'500'000_ns, {1, 19});
  EXPECT_NEAR(busy.mean_ms, 130.0 / 12.5 / (2 * 0.2), busy.band_ms);
  EXPECT_LT(busy.band_ms, 6);
}

TEST(OneServer, KeepsTheOrderOfArrivalWithinAClass) {
  std::vector<Request> requests = poisson_requests(
      {.requests = 600, .mean_interval = 11_ms, .prefill = {1, 19}, .decode = {1, 2}}, 2);
  for (std::size_t i = 0; i < requests.size(); ++i)
    requests[i].class_id = static_cast<std::uint32_t>(i * i % 7 % 3);
  Spec spec = one_server(std::move(requests));
  spec.priorities = {0, 2, 1};
  spec.order = Order::priority;
  const Ran ran = run(spec);
  std::vector<core::Time> last(3, core::Time{0});
  bool overtook = false;
  core::Time latest{0};
  for (std::size_t i = 0; i < spec.requests.size(); ++i) {
    const core::Time end = spec.requests[i].arrival + ran.outcome->end(i);
    core::Time& before = last[spec.requests[i].class_id];
    EXPECT_GT(end, before) << i;
    before = end;
    overtook = overtook || end < latest;
    latest = std::max(latest, end);
  }
  EXPECT_TRUE(overtook) << "nobody waited for a class that is more urgent";
}

// Requests of one session: each goes on where the one before ended.
Spec of_one_session(std::vector<Request> requests) {
  Spec spec = small(std::move(requests));
  spec.prefix_cache = true;
  for (std::uint32_t i = 0; i < spec.requests.size(); ++i)
    spec.prefixes.of.push_back({.session = 0, .parent = i});
  return spec;
}

TEST(PrefixCache, FindsWhatASessionHadWithItsAnswers) {
  Spec spec = of_one_session({at(0_ps, 9, 4), at(1_s, 20, 1)});
  const Ran ran = run(spec);
  EXPECT_EQ(ran.found, 12u);  // of 13 tokens the last was never put back in: three full blocks
  EXPECT_EQ(ran.tokens, 9u + 3 + 8);
  spec.prefix_cache = false;
  EXPECT_EQ(run(spec).tokens, 9u + 3 + 20);
}

TEST(PrefixCache, LeavesATokenToCompute) {
  const Ran ran = run(of_one_session({at(0_ps, 8, 1), at(1_s, 8, 1)}));
  EXPECT_EQ(ran.found, 4u);
}

TEST(PrefixCache, SharesBlocksBetweenRequestsOfOneBatch) {
  Spec spec = of_one_session({at(0_ps, 12, 1), at(0_ps, 14, 1)});
  const Ran ran = run(spec);
  EXPECT_EQ(ran.found, 12u);
  EXPECT_EQ(ran.first_token(1), 1);
}

TEST(PrefixCache, ForgetsTheEndOfWhatWasIdleForLongest) {
  Spec spec = small({});
  spec.prefix_cache = true;
  spec.request_tokens_max = 17;
  spec.blocks = 8;
  // Sessions 0 and 1 leave three blocks each. Session 2 takes the two that are blank and the last
  // two of 0, which asks again, finds its first, and takes those of 1, which then finds none.
  const std::uint32_t session[] = {0, 1, 2, 0, 1};
  const std::uint32_t prompt[] = {12, 12, 16, 13, 13};
  for (std::uint32_t i = 0; i < 5; ++i) {
    spec.requests.push_back(at(core::Time{i * 1'000'000'000'000}, prompt[i], 1));
    spec.prefixes.of.push_back({.session = session[i]});
  }
  const Ran ran = run(spec);
  EXPECT_EQ(ran.found, 4u);
  EXPECT_EQ(ran.forgotten, 2u + 3 + 3);
}

TEST(PrefixRouter, SendsASessionHomeUnlessTooManyWaitThere) {
  std::vector<Request> requests;
  for (int i = 0; i < 12; ++i) requests.push_back(at(core::Time{i + 1}, 30, 30));
  Spec spec = of_one_session(std::move(requests));
  spec.replicas = 2;
  spec.router = Router::prefix;
  spec.batch_requests_max = 1;
  spec.router_slack = 100;
  const auto end = [&] { return whole(run(spec).outcome->end(11), 1_s); };
  EXPECT_EQ(end(), 3) << "one replica has all, 3.6 s";
  spec.router_slack = 2;
  EXPECT_LT(end(), 3) << "both have some";
}

TEST(PrefixKeys, NameContentUpToTheBlocksEnd) {
  Prefixes p;
  p.shared_tokens = 8;
  p.id_tokens = 8;
  p.ids = {7, 8, 9, 7, 8, 6};
  p.of = {{.session = 3, .parent = 0, .ids_begin = 0, .ids = 3, .ids_tokens = 22},
          {.session = 3, .parent = 0, .ids_begin = 3, .ids = 3, .ids_tokens = 24}};
  const auto equal = [&](std::uint32_t block) {
    return p.block_key(0, block, 4) == p.block_key(1, block, 4);
  };
  EXPECT_TRUE(equal(0) && equal(1)) << "what all share";
  EXPECT_TRUE(equal(2) && equal(3)) << "one id";
  EXPECT_FALSE(equal(4)) << "ids 9 and 6";
  EXPECT_FALSE(equal(5)) << "the first is longer than its prompt";
  EXPECT_NE(p.block_key(0, 2, 4), p.block_key(0, 3, 4));
  find_parents(p);
  EXPECT_EQ(p.of[0].parent, 0u);
  EXPECT_EQ(p.of[1].parent, 1u);
}

}  // namespace
}  // namespace exawarp::tests
