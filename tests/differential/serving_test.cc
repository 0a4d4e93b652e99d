// Serving gives one answer in every mode, under audit and when made anew; and what holds for every
// queue holds for it.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "model/serving/kv_pool.h"
#include "model/serving/outcome.h"
#include "pdes/transport.h"
#include "tests/support/run_matrix.h"

namespace exawarp::tests {
namespace {

using namespace core::literals;
using namespace model::serving;

// Two replicas whose pools are so small that requests start again.
Spec crowded(Policy policy, Router router) {
  Spec spec;
  spec.requests = poisson_requests({.requests = 60,
                                    .mean_interval = 5_ms,
                                    .prefill = {.least = 1, .most = 200},
                                    .decode = {.least = 1, .most = 40}},
                                   7);
  spec.replicas = 3;
  spec.router = router;
  spec.latency = 100_us;
  spec.policy = policy;
  spec.request_tokens_max = 256;
  spec.blocks = policy == Policy::lightllm ? 600 : 36;
  spec.block_tokens = policy == Policy::lightllm ? 1 : 16;
  spec.chunk_tokens = 64;
  spec.stages = policy == Policy::sarathi ? 2 : 1;
  return spec;
}

// The same crowd, by the rules of vLLM's V1.
Spec crowded_v1(Order order) {
  Spec spec = crowded(Policy::vllm_v1, Router::least_outstanding);
  spec.order = order;
  spec.batch_tokens_max = 100;
  spec.watermark = 0.1;
  spec.reserve_prompt = order == Order::first_come;
  spec.blocks = 24;
  spec.priorities = {0, -3, 7};
  for (std::size_t i = 0; i < spec.requests.size(); ++i)
    spec.requests[i].class_id = static_cast<std::uint32_t>(i % 3);
  return spec;
}

// Sessions of three requests each, that begin with 40 tokens that all have in common.
Spec sessions_v1() {
  Spec spec = crowded_v1(Order::priority);
  spec.router = Router::prefix;
  spec.router_slack = 2;
  spec.prefix_cache = true;
  spec.prefixes.shared_tokens = 40;
  for (std::uint32_t i = 0; i < spec.requests.size(); ++i) {
    const bool is_first = i < 20;
    spec.prefixes.of.push_back({.session = i % 20, .parent = is_first ? 0 : i - 19});
    if (!is_first) spec.requests[i].prefill = std::min(200u, 60 * (i / 20) + 40);
  }
  return spec;
}

Spec swapping_v1() {
  Spec spec = sessions_v1();
  spec.order = Order::first_come;
  spec.router = Router::random;
  spec.preemption = Preemption::swap;
  spec.swap = {.host_blocks = 12, .token_bytes = 100'000, .bytes_per_s = 10'000'000'000};
  spec.speculation = {.tokens = 3, .acceptance = 0.6, .draft = 200_us};
  spec.stages = 2;
  return spec;
}

// Twenty users who ask three times each, the second and third time once they have read the answer.
Spec closed(Spec spec) {
  spec.turns.resize(spec.requests.size());
  for (std::uint32_t i = 20; i < spec.requests.size(); ++i) {
    spec.turns[i].waits = 1;
    spec.turns[i - 20].next = i + 1;
    spec.turns[i - 20].think = core::Time{2'000'000'000} * (i % 7);
  }
  return spec;
}

MatrixModel matrix_of(const Serving& serving) {
  return {.model = &serving, .placer = blocks_of(serving.processes(), 0)};
}

std::vector<Spec> studies() {
  return {crowded(Policy::vllm, Router::least_outstanding),
          crowded(Policy::sarathi, Router::random), crowded(Policy::orca, Router::round_robin),
          crowded(Policy::lightllm, Router::least_outstanding),
          crowded(Policy::faster_transformer, Router::random),
          crowded_v1(Order::first_come),
          crowded_v1(Order::priority),
          sessions_v1(),
          swapping_v1(),
          closed(crowded(Policy::vllm, Router::round_robin)),
          closed(crowded(Policy::sarathi, Router::least_outstanding)),
          closed(sessions_v1())};
}

struct Sums {
  std::uint64_t present_ps = 0;
  std::uint64_t restarts = 0;
  std::uint64_t held = 0;
  std::uint64_t holders = 0;
  std::uint64_t tokens = 0;
  std::uint64_t in_use = 0;  // cached blocks that somebody holds
  std::uint64_t found_tokens = 0;
  std::uint64_t swaps = 0;
  std::uint64_t accepted = 0;
};

Sums run_alone(const Serving& serving, Outcome& outcome) {
  const auto transport = pdes::make_single_transport();
  pdes::Engine engine(serving, blocks_of(serving.processes(), 0)(1, 1),
                      {.sync = pdes::Sync::sequential}, *transport, &outcome);
  engine.run();
  Sums sums;
  engine.visit([&](core::LpId lp, const void* state) {
    if (lp.value == serving.spec().replicas) return;
    const auto& replica = *static_cast<const Replica::State*>(state);
    sums.present_ps += static_cast<std::uint64_t>(replica.present.ps());
    sums.restarts += replica.restarts;
    sums.held += replica.held;
    sums.holders += replica.holders;
    sums.tokens += replica.tokens;
    sums.in_use += model::serving::cached_in_use(replica) + replica.host_blocks;
    sums.found_tokens += replica.found_tokens;
    sums.swaps += replica.swaps;
    sums.accepted += replica.accepted;
    EXPECT_LE(replica.held_most, serving.spec().blocks);
    EXPECT_LE(replica.cached.size(), serving.spec().blocks);
  });
  return sums;
}

TEST(Serving, EveryModeGivesTheSequentialAnswer) {
  for (const Spec& spec : studies()) {
    const Serving serving(spec);
    const MatrixModel matrix = matrix_of(serving);
    const pdes::RunResult expected = run_case(matrix, {});
    for (const RunCase& run : differential_cases(1_ms)) {
      const pdes::RunResult result = run_case(matrix, run);
      EXPECT_EQ(to_hex(result.digest), to_hex(expected.digest))
          << run.text() << " policy " << static_cast<int>(spec.policy);
    }
  }
}

TEST(Serving, PassesTheRollbackAuditAndIsMadeAnew) {
  for (const Spec& spec : studies()) {
    const Serving serving(spec);
    const MatrixModel matrix = matrix_of(serving);
    const pdes::RunResult expected = run_case(matrix, {});
    RunCase run = audited_case(50_ms, 0.5);
    const pdes::RunResult audited = run_case(matrix, run);
    EXPECT_EQ(audited.digest, expected.digest);
    EXPECT_GT(audited.total.audited_events, 100u);
    run = {.sync = pdes::Sync::optimistic, .ranks = 2, .partitions_per_rank = 2};
    run.rebuild_events = 100;
    EXPECT_EQ(run_case(matrix, run).digest, expected.digest);
  }
}

TEST(Serving, KeepsLittlesLawAndItsBlocksAndComputesEachTokenOnce) {
  std::uint64_t restarts = 0;
  for (const Spec& spec : studies()) {
    const Serving serving(spec);
    Outcome outcome(serving.spec());
    const Sums sums = run_alone(serving, outcome);
    std::uint64_t sojourn_ps = 0;
    std::uint64_t tokens = 0;
    for (std::size_t i = 0; i < spec.requests.size(); ++i) {
      ASSERT_TRUE(outcome.is_done(i));
      sojourn_ps += static_cast<std::uint64_t>((outcome.end(i) - spec.latency).ps);
      tokens += spec.requests[i].prefill + spec.requests[i].decode - 1;
    }
    EXPECT_EQ(sums.present_ps, sojourn_ps);
    EXPECT_EQ(sums.held, 0u);
    EXPECT_EQ(sums.holders, 0u);
    EXPECT_EQ(sums.in_use, 0u);
    const bool is_plain = !spec.prefix_cache && spec.speculation.tokens == 0;
    if (sums.restarts == 0 && is_plain) {
      EXPECT_EQ(sums.tokens, tokens);
    } else if (is_plain) {
      EXPECT_GT(sums.tokens, tokens);
    }
    restarts += sums.restarts;
    EXPECT_EQ(sums.found_tokens > 0, spec.prefix_cache);
    EXPECT_EQ(sums.swaps > 0, spec.preemption == Preemption::swap);
    EXPECT_EQ(sums.accepted > 0, spec.speculation.tokens != 0);
  }
  EXPECT_GT(restarts, 0u) << "no pool was full";
}

// One request at a time, each of one batch and equal length, is a queue M/D/1, whose mean wait is
// d rho / (2 (1 - rho)).
TEST(Serving, OneRequestAtATimeIsAnMD1Queue) {
  constexpr core::Time kService = 10_ms;
  constexpr std::uint32_t kRequests = 40'000;
  Spec spec;
  spec.requests = poisson_requests(
      {.requests = kRequests, .mean_interval = 2 * kService, .prefill = {8, 8}, .decode = {1, 1}},
      3);
  spec.batch_requests_max = 1;
  spec.blocks = 1000;
  spec.latency = 1_ps;
  spec.time = {.base = kService, .per_token = 0_ps, .per_context = 0_ps, .per_pair_half = 0_ps};
  const Serving serving(spec);
  Outcome outcome(serving.spec());
  run_alone(serving, outcome);
  double wait_s = 0;
  core::Time before{0};
  for (std::uint32_t i = 0; i < kRequests; ++i) {
    wait_s += core::to_seconds(outcome.end(i) - kService);
    const core::Time end = spec.requests[i].arrival + outcome.end(i);
    EXPECT_GT(end, before) << "not first come, first served";
    before = end;
  }
  // At half load that is d / 2. Tolerance: a twentieth of it.
  EXPECT_NEAR(wait_s / kRequests, core::to_seconds(kService) / 2, 0.05 * 0.5 * 0.01);
}

TEST(Serving, RefusesWhatCouldNeverBeServed) {
  Spec spec = crowded(Policy::vllm, Router::random);
  spec.blocks = 16;
  try {
    check(spec);
    FAIL() << "16 blocks are not enough";
  } catch (const core::InputError& error) {
    EXPECT_STREQ(error.what(),
                 "blocks: \"16\" of 16 tokens; expected at least 17, the need of one request of "
                 "256 tokens");
  }
}

}  // namespace
}  // namespace exawarp::tests
