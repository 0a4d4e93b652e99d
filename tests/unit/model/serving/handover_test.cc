// Keys and values on their way from one pool to another: whole, and layer by layer.
#include "model/serving/handover.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/model/serving/small_pools.h"

namespace exawarp::tests {
namespace {

using namespace core::literals;
using namespace model::serving;
using core::Time;
using model::Cluster;
using model::ClusterOptions;
using model::Job;

// Requests of 50 tokens that ask for 3; 80 kB a token, layer and head.
Pool prompts_of(const PoolLayout& layout, std::uint32_t layers_per_message) {
  Pool pool = pool_of(layout, 50, 3);
  pool.model = small_model(20'000);
  pool.layers_per_message = layers_per_message;
  return pool;
}

Pool decodes_of(const PoolLayout& layout) {
  Pool pool = prompts_of(layout, 0);
  pool.continues = true;
  return pool;
}

struct Handed {
  Time first_token, end, exposed;  // of the request that was answered last
  std::uint64_t left = 0;          // requests and blocks at replicas once all are answered
  std::uint64_t done = 0, moved = 0;
};

std::uint64_t left_at(const Replica::State& s) {
  return s.held + s.waiting.size() + s.restarted.size() + s.running.size() + s.flight.size() +
         s.leaving.size() + s.ahead.size() + s.offers.size() + s.arriving.size();
}

Handed hand(Pool prompts, Pool decodes, const ClusterOptions& options = {}) {
  decodes.spec.requests = prompts.spec.requests;
  const model::WorkloadGraph graphs[] = {pool_graph(prompts), pool_graph(decodes)};
  const std::vector<Job> jobs{{.name = "prompts", .graph = &graphs[0], .pool = &prompts},
                              {.name = "decodes", .graph = &graphs[1], .pool = &decodes}};
  const Cluster cluster(jobs, round_accelerator(), round_fabric(), options);
  ClusterOutcome outcome(cluster);
  Handed out;
  const Serving& serving = cluster.serving_at(cluster.served()[0]->first());
  run_served(cluster, outcome, [&](pdes::Engine& engine) {
    engine.visit([&](core::LpId lp, const void* state) {
      if (!cluster.is_scheduler(lp) || lp == serving.router()) return;
      out.left += left_at(*static_cast<const Replica::State*>(state));
    });
  });
  const Outcome& of = outcome.of(0);
  for (std::size_t i = 0; i < prompts.spec.requests.size(); ++i) {
    if (!of.is_done(i)) continue;
    ++out.done;
    out.moved += of.was_handed_over(i) ? 1 : 0;
    if (of.end(i) + prompts.spec.requests[i].arrival < out.end) continue;
    out.end = of.end(i) + prompts.spec.requests[i].arrival;
    out.first_token = of.first_token(i);
    if (of.was_handed_over(i)) out.exposed = of.keys_exposed(i);
  }
  return out;
}

// Of keys and values of so many tokens, one layer, all heads.
Time layer_time(std::int64_t tokens) { return Time{tokens * 160'000 * kNodePsPerByte}; }

// Offer: two words by way of the router. Pull, order, keys, word of them: 50 tokens of 4 layers.
TEST(Handover, ExposesAllOfKeysThatGoWhole) {
  const Handed whole = hand(prompts_of({}, 0), decodes_of({}));
  EXPECT_EQ(whole.exposed, 40_us + 4 * layer_time(50) + kNodeLatency + 10_us);
}

// The last layer leaves when the prompt is computed; its word comes 10 us after it. The scheduler
// of the prompt hears of the end, the first token, after 10 us.
TEST(Handover, ExposesTheLastLayerOfKeysThatGoByLayer) {
  const Handed by_layer = hand(prompts_of({}, 1), decodes_of({}));
  EXPECT_EQ(by_layer.exposed, layer_time(50) + kNodeLatency);
  const Time step = 1_ps + 10_us + 1_ms + 1_us + 10_us;
  EXPECT_EQ(by_layer.end, by_layer.first_token + by_layer.exposed + 2 * step);
}

TEST(Handover, ExposesAsManyLayersAsAMessageHas) {
  const Handed by_layer = hand(prompts_of({}, 2), decodes_of({}));
  EXPECT_EQ(by_layer.exposed, 2 * layer_time(50) + kNodeLatency);
  EXPECT_EQ(hand(prompts_of({}, 4), decodes_of({})).exposed, 4 * layer_time(50) + kNodeLatency);
}

// 20, 20 and 10 tokens; the keys of earlier chunks have come before the last one is computed.
TEST(Handover, ExposesTheLastLayerOfTheLastChunk) {
  Pool prompts = prompts_of({}, 1);
  prompts.spec.policy = Policy::sarathi;
  prompts.spec.chunk_tokens = 20;
  EXPECT_EQ(hand(prompts, decodes_of({})).exposed, layer_time(10) + kNodeLatency);
}

// Layers of a stage lie between sums over its devices, two a layer: keys of the last one are there
// when three quarters of the stage's two layers are computed.
TEST(Handover, SendsKeysBesideTheSumsOfALayer) {
  Pool prompts = prompts_of({.tensor = 2, .pipeline = 1}, 1);
  const Handed by_layer = hand(prompts, decodes_of({.tensor = 2, .pipeline = 1}));
  const Handed whole =
      hand(prompts_of({.tensor = 2, .pipeline = 1}, 0), decodes_of({.tensor = 2, .pipeline = 1}));
  EXPECT_EQ(by_layer.exposed, 10_us);  // the word of the prompt's end
  EXPECT_LT(by_layer.exposed, whole.exposed);
}

TEST(Handover, IsNeverLaterByLayerWhereNothingIsInTheWay) {
  std::vector<ClusterOptions> networks(3);
  networks[1].analytical_network = true;
  networks[2].packets.emplace();
  for (const ClusterOptions& network : networks) {
    for (const PoolLayout from : {PoolLayout{1, 1}, {4, 1}, {2, 3}, {4, 2, 1, 2}}) {
      for (const PoolLayout to : {PoolLayout{1, 1}, {8, 1}, {1, 4}, {4, 1, 1, 4}}) {
        for (const Policy policy : {Policy::vllm, Policy::sarathi, Policy::vllm_v1}) {
          Pool whole = prompts_of(from, 0), by_layer = prompts_of(from, 1);
          for (Pool* pool : {&whole, &by_layer}) {
            pool->spec.policy = policy;
            pool->spec.chunk_tokens = 20;
          }
          const Handed late = hand(whole, decodes_of(to), network);
          const Handed early = hand(by_layer, decodes_of(to), network);
          EXPECT_EQ(early.done, 1u);
          EXPECT_LE(early.first_token + early.exposed, late.first_token + late.exposed)
              << from.tensor << from.pipeline << to.tensor << to.pipeline;
        }
      }
    }
  }
}

// Pools with room for two requests or three: decodes hold up prompts, and lose blocks.
void expect_nothing_left(std::uint32_t groups) {
  const auto requests = poisson_requests({.requests = 30,
                                          .mean_interval = 300_us,
                                          .prefill = {.least = 1, .most = 100},
                                          .decode = {.least = 1, .most = 20}},
                                         7);
  const auto handed = std::count_if(requests.begin(), requests.end(),
                                    [](const Request& r) { return r.decode > 1; });
  for (const core::Named<Policy>& policy : kPolicyNames) {
    const bool single = policy.value == Policy::lightllm;
    for (const std::uint32_t layers : {0u, 1u, 3u}) {
      Pool prompts = prompts_of({.tensor = 2,
                                 .pipeline = single ? 1u : 2u,
                                 .replicas = 2,
                                 .attention_data = groups},
                                layers);
      prompts.spec.policy = policy.value;
      prompts.spec.requests = requests;
      prompts.spec.chunk_tokens = 32;
      prompts.spec.reserve_prompt = false;
      prompts.spec.blocks = 12;
      if (policy.value == Policy::vllm_v1) prompts.spec.batch_tokens_max = 48;
      if (single) {
        prompts.spec.block_tokens = 1;
        prompts.spec.blocks = 200;
      }
      Pool decodes = decodes_of(
          {.tensor = groups * groups, .pipeline = 2, .replicas = 2, .attention_data = groups});
      decodes.spec.blocks = 12;
      const Handed out = hand(prompts, decodes);
      EXPECT_EQ(out.done, requests.size()) << policy.name << layers;
      EXPECT_EQ(out.moved, static_cast<std::uint64_t>(handed)) << policy.name << layers;
      EXPECT_EQ(out.left, 0u) << policy.name << layers;
    }
  }
}

TEST(Handover, LeavesNoBlockAndNoRequestAtAnyReplica) { expect_nothing_left(1); }

TEST(Handover, LeavesNothingWhereAttentionIsDataParallel) { expect_nothing_left(2); }

}  // namespace
}  // namespace exawarp::tests
