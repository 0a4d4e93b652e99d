// Pools with data-parallel attention on a cluster: what their devices send, and when keys come.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "core/error.h"
#include "model/serving/expert_exchange.h"
#include "model/serving/iteration_time.h"
#include "tests/unit/model/serving/small_pools.h"

namespace exawarp::tests {
namespace {

using namespace core::literals;
using namespace model::serving;
using core::Time;
using model::Cluster;
using model::ClusterOptions;
using model::Job;

PoolLayout groups_of_ranks(std::uint32_t groups, std::uint32_t ranks, std::uint32_t pipeline = 1) {
  return {.tensor = groups * ranks, .pipeline = pipeline, .attention_data = groups};
}

// `count` requests at once, of `prompt` tokens each.
Pool pool_for(const PoolLayout& layout, std::uint32_t count, std::uint32_t prompt,
              std::uint32_t output) {
  Pool pool = pool_of(layout, prompt, output);
  pool.spec.requests.resize(count, pool.spec.requests.front());
  return pool;
}

// Of what two pools, or one, do with requests: times of the one that is answered last.
struct Served {
  Time first_token, end, keys_exposed;
};
Served serve(std::vector<Pool> pools, const ClusterOptions& options = {}) {
  std::vector<model::WorkloadGraph> graphs;
  for (const Pool& pool : pools) graphs.push_back(pool_graph(pool));
  std::vector<Job> jobs;
  for (std::size_t j = 0; j < pools.size(); ++j) {
    pools[j].continues = j > 0;
    jobs.push_back({.name = std::to_string(j), .graph = &graphs[j], .pool = &pools[j]});
  }
  const Cluster cluster(jobs, round_accelerator(), round_fabric(), options);
  ClusterOutcome outcome(cluster);
  run_served(cluster, outcome);
  Served out;
  for (std::size_t i = 0; i < pools[0].spec.requests.size(); ++i) {
    EXPECT_TRUE(outcome.of(0).is_done(i)) << i;
    out.first_token = std::max(out.first_token, outcome.of(0).first_token(i));
    out.end = std::max(out.end, outcome.of(0).end(i));
    if (pools.size() > 1) {
      out.keys_exposed = std::max(out.keys_exposed, outcome.of(0).keys_exposed(i));
    }
  }
  return out;
}

// Words of router and scheduler, and what a batch of so many tokens computes for.
Time computed(std::int64_t tokens) { return 30_us + 1_ps + 1_ms + tokens * 1_us; }
// `steps` of a ring in a node, of so many bytes each.
Time ring(std::int64_t steps, std::int64_t bytes) {
  return steps * (Time{bytes * kNodePsPerByte} + kNodeLatency);
}

// Four layers, in each of which two devices sum up 50 x 2000 bytes, and four gather as much, and
// scatter it; then the logits, 250 bytes of each device.
TEST(AttentionGroups, SumUpAmongThemselvesAndGatherAndScatterAmongAll) {
  const Served served = serve({pool_for(groups_of_ranks(2, 2), 1, 50, 1)});
  EXPECT_EQ(served.first_token,
            computed(50) + 4 * (ring(2, 50'000) + 2 * ring(3, 25'000)) + ring(3, 250));
}

TEST(AttentionGroups, OfOneDeviceHaveNothingToSumUp) {
  const Pool pool = pool_for(groups_of_ranks(4, 1), 1, 50, 1);
  EXPECT_EQ(all_reduces_of(pool), 0u);
  EXPECT_EQ(serve({pool}).first_token, computed(50) + 4 * 2 * ring(3, 25'000) + ring(3, 250));
}

// Of two prompts each group has one: sums carry half of what gathers do.
TEST(AttentionGroups, HaveRequestsOfTheirOwn) {
  const Served served = serve({pool_for(groups_of_ranks(2, 2), 2, 20, 1)});
  EXPECT_EQ(served.first_token,
            computed(40) + 4 * (ring(2, 20'000) + 2 * ring(3, 20'000)) + ring(3, 500));
}

// Each device of a stage passes on what its group has.
TEST(AttentionGroups, SendTheirOwnTokensToTheNextStage) {
  const Served served = serve({pool_for(groups_of_ranks(2, 1, 2), 2, 20, 1)});
  const Time sends = Time{40'000 * kNodePsPerByte} + kNodeLatency;
  EXPECT_EQ(served.first_token, computed(40) + 4 * 2 * ring(1, 40'000) + sends + ring(1, 1'000));
}

TEST(AttentionGroups, CarryTheSameInFewerSums) {
  Pool pool = pool_for(groups_of_ranks(2, 2), 1, 50, 1);
  pool.all_reduces = 1;
  EXPECT_EQ(all_reduces_of(pool), 1u);
  EXPECT_EQ(regroupings_of(pool), 1u);
  EXPECT_EQ(serve({pool}).first_token,
            computed(50) + ring(2, 4 * 50'000) + 2 * ring(3, 4 * 25'000) + ring(3, 250));
}

// One layer has no experts, and is gathered for and scattered; of the others tokens are exchanged,
// those that each device has of its group's.
TEST(AttentionGroups, ExchangeTheirOwnTokensWithExperts) {
  Pool pool = pool_for(groups_of_ranks(2, 1), 1, 50, 1);
  pool.model.moe.experts = 8;
  pool.model.moe.top_k = 2;
  pool.model.moe.dense_layers = 1;
  pool.exchange.on = true;
  EXPECT_EQ(exchanges_of(pool), 3u);
  EXPECT_EQ(regroupings_of(pool), 1u);
  // Of 2 x 2000 bytes of each of 50 tokens one half leaves the device.
  EXPECT_EQ(serve({pool}).first_token,
            computed(50) + 2 * ring(1, 50'000) + 3 * 2 * ring(1, 100'000) + ring(1, 500));
  Pool together = pool;
  together.layout.attention_data = 1;
  EXPECT_EQ(exchange_bytes(pool, 50), exchange_bytes(together, 100));
}

// What an iteration takes on devices of a node is what it takes where sums are priced at the node's
// bandwidth, but for the latencies of steps: of a ring of two, and of two rings of three, a layer.
TEST(AttentionGroups, TakeWhatIterationsByThemselvesDo) {
  constexpr std::uint32_t kTokens = 48, kOutput = 5;
  const Time latencies = (4 * (2 + 3 + 3) + 3) * kNodeLatency;
  for (const std::uint32_t requests : {1u, 2u, 4u, 5u}) {
    Pool pool = pool_for(groups_of_ranks(2, 2), requests, kTokens, kOutput);
    pool.spec.batch_tokens_max = std::max(128u, kTokens * requests);
    IterationSpec spec;
    spec.model = pool.model;
    spec.model.ffn = 2048;
    spec.tensor = 4;
    spec.attention_data = 2;
    spec.all_reduce = {Time{0}, std::numeric_limits<std::int64_t>::max()};
    pool.spec.iteration = std::make_shared<const IterationTime>(spec, round_accelerator());
    spec.all_reduce.bytes_per_s = 100'000'000'000;
    const IterationTime alone(spec, round_accelerator());
    const Served served = serve({pool}, {.analytical_network = true});
    const Time prompts = alone.of({.tokens = kTokens * requests,
                                   .outputs = requests,
                                   .prompts = requests,
                                   .prompt_tokens = kTokens * requests,
                                   .prompt_core_ps =
                                       requests * alone.prompt_core_ps(kTokens, 0)});
    const auto near = [](Time a, Time b) { return std::abs(a.ps - b.ps) < 1'000'000; };
    EXPECT_TRUE(near(served.first_token, 30_us + prompts + latencies)) << requests;
    Time decodes{0};
    for (std::uint64_t step = 1; step < kOutput; ++step) {
      decodes = decodes + 20_us + latencies +
                alone.of({.tokens = requests,
                          .outputs = requests,
                          .decodes = requests,
                          .decode_context = requests * (kTokens + step)});
    }
    EXPECT_TRUE(near(served.end, served.first_token + decodes)) << requests;
  }
}

// All ranks of a group, of both stages, and no other, have a request's keys.
TEST(AttentionGroups, KnowTheirRanks) {
  const PoolLayout layout = groups_of_ranks(3, 2, 2);
  const std::uint32_t expected[3][4] = {{0, 1, 6, 7}, {2, 3, 8, 9}, {4, 5, 10, 11}};
  for (std::uint32_t group = 0; group < 3; ++group) {
    for (std::uint32_t rank = 0; rank < layout.group_devices(); ++rank) {
      EXPECT_EQ(rank_of_group(layout, group, rank), expected[group][rank]);
    }
  }
  EXPECT_EQ(rank_of_group({.tensor = 4, .pipeline = 2}, 0, 7), 7u);
}

// 50 tokens, 4 layers of 160 kB each. The requests take turns, so that two at once have devices of
// their own at both ends.
TEST(AttentionGroups, SendKeysFromTheirDevicesToThoseOfTheOtherGroup) {
  const Time words = 40_us + 10_us + kNodeLatency;
  const auto keys = [](std::int64_t tokens) { return Time{tokens * 4 * 160'000 * kNodePsPerByte}; };
  const auto exposed = [&](const PoolLayout& from, const PoolLayout& to, std::uint32_t count) {
    Pool prompts = pool_for(from, count, 50, 3), decodes = pool_for(to, count, 50, 3);
    prompts.model = decodes.model = small_model(20'000);
    return serve({prompts, decodes}).keys_exposed;
  };
  const PoolLayout two = groups_of_ranks(2, 1);
  EXPECT_EQ(exposed(two, two, 1), words + keys(50));
  EXPECT_EQ(exposed(two, two, 2), words + keys(50));
  EXPECT_EQ(exposed(two, {}, 2), words + keys(100));
  // Messages of the other request's answer come between.
  EXPECT_GT(exposed({}, two, 2), words + keys(100));
  // A group of two has a head on each; the other pool's device wants both.
  EXPECT_EQ(exposed({.tensor = 2}, {}, 1), words + keys(50));
  EXPECT_EQ(exposed({.tensor = 2}, {.tensor = 2}, 1), words + keys(25));
}

TEST(AttentionGroups, RefuseLayoutsThatDoNotDivide) {
  const auto refusal = [](const PoolLayout& layout) -> std::string {
    try {
      pool_graph(pool_of(layout, 10, 1));
    } catch (const core::InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal({.tensor = 4, .attention_data = 3}),
            "attention_data: \"3\"; expected a divisor of tensor, 4");
  EXPECT_EQ(refusal({.tensor = 2, .attention_data = 4}),
            "attention_data: \"4\"; expected a divisor of tensor, 2");
  EXPECT_EQ(refusal({.tensor = 6, .attention_data = 2}),
            "tensor: \"6\" in groups of 3; expected groups that divide the heads, 8");
  EXPECT_EQ(refusal({.tensor = 16, .attention_data = 2}), "");
}

}  // namespace
}  // namespace exawarp::tests
