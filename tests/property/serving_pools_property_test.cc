// Random pools that serve on a cluster, of random layouts, in random modes and at each fidelity:
// the digest is the sequential run's, each request is answered once, and nothing is left at any
// replica.
// EXAWARP_PROPERTY_CASES raises the number of cases (scripts/nightly does); a failure prints the
// seed, which replays it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "core/random.h"
#include "model/serving/cluster_outcome.h"
#include "model/serving/pool.h"
#include "model/serving/replica.h"
#include "pdes/transport.h"
#include "tests/support/cluster_fixture.h"
#include "tests/support/seeds.h"

namespace exawarp::tests {
namespace {

using namespace core::literals;
using model::serving::Policy;
using model::serving::Pool;
using model::serving::PoolLayout;

// One pool, or two of which the second decodes, with groups of data-parallel attention in most.
class PoolDraw {
 public:
  explicit PoolDraw(std::uint64_t seed) : stream_(core::stream_of(seed, 0xd9001)) {}

  std::vector<Pool> operator()() {
    draw_model();
    std::vector<Pool> pools{pool(kPolicies[below(4)])};
    if (below(4) == 0) return pools;
    pools[0].layers_per_message = below(3);
    pools.push_back(pool(kPolicies[below(3)]));
    pools[1].continues = true;
    pools[1].spec.requests = pools[0].spec.requests;
    pools[1].spec.latency = pools[0].spec.latency;
    return pools;
  }

  model::ClusterOptions network() {
    model::ClusterOptions options;
    const std::uint32_t fidelity = below(3);
    options.analytical_network = fidelity == 0;
    if (fidelity == 1) options.packets.emplace();
    return options;
  }

 private:
  // The first three go on with what another pool has begun.
  static constexpr Policy kPolicies[] = {Policy::vllm, Policy::sarathi, Policy::vllm_v1,
                                         Policy::orca};

  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>(core::random_bits(stream_, draws_++) % n);
  }

  void draw_model() {
    model_.layers = 1 + below(4);
    model_.hidden = 256;
    model_.heads = 8;
    model_.kv_heads = std::int64_t{1} << below(4);
    model_.vocabulary = 1'000;
    if (below(3) == 0) {
      model_.mla.key_value_rank = 64;
      model_.mla.rope_dim = 16;
    }
    if (below(2) == 0) return;
    model_.moe.experts = 8;
    model_.moe.top_k = 2;
    model_.moe.dense_layers = below(2);
  }

  PoolLayout layout() {
    const std::uint32_t groups = 1u << below(3), ranks = 1u << below(2);
    return {.tensor = groups * ranks,
            .pipeline = 1 + below(static_cast<std::uint32_t>(std::min(model_.layers, 2l))),
            .replicas = 1 + below(2),
            .attention_data = groups};
  }

  Pool pool(Policy policy) {
    Pool out;
    out.layout = layout();
    out.model = model_;
    out.all_reduces = below(2) == 0 ? 0 : 1 + below(4);
    out.exchange = {.on = model_.moe.experts != 0 && below(3) != 0,
                    .count = below(3),
                    .imbalance = 0.5 * below(2)};
    model::serving::Spec& spec = out.spec;
    spec.requests = model::serving::poisson_requests({.requests = 6 + below(12),
                                                      .mean_interval = 100_us,
                                                      .prefill = {.least = 1, .most = 100},
                                                      .decode = {.least = 1, .most = 8}},
                                                     below(1'000));
    spec.replicas = out.layout.replicas;
    spec.stages = out.layout.pipeline;
    spec.router = model::serving::kRouterNames[below(3)].value;
    spec.latency = below(2) == 0 ? 1_us : 20_us;
    spec.policy = policy;
    spec.request_tokens_max = 128;
    spec.batch_tokens_max = 128 + below(100);
    spec.chunk_tokens = 16 + below(100);
    spec.batch_requests_max = 4 + below(8);
    spec.blocks = 10 + below(20);
    spec.prefix_cache = policy == Policy::vllm_v1 && below(2) == 0;
    spec.time = {.base = 20_us, .per_token = 500_ns, .per_context = 1_ns, .per_pair_half = 0_ps};
    return out;
  }

  model::ModelSpec model_;
  std::uint64_t stream_, draws_ = 0;
};

// Sequentially, to the end: what is left at replicas, and requests that are done.
struct AtTheEnd {
  std::uint64_t left = 0, done = 0;
};
AtTheEnd end_of(const model::Cluster& cluster) {
  model::serving::ClusterOutcome outcome(cluster);
  const auto transport = pdes::make_single_transport();
  pdes::Engine engine(cluster, blocks_of(cluster.lp_count(), cluster.atom_shift())(1, 1),
                      {.sync = pdes::Sync::sequential}, *transport, &outcome);
  engine.run();
  const model::serving::Serving& serving = *cluster.served()[0];
  AtTheEnd out;
  engine.visit([&](core::LpId lp, const void* state) {
    if (!cluster.is_scheduler(lp) || lp == serving.router()) return;
    const auto& s = *static_cast<const model::serving::Replica::State*>(state);
    out.left += s.held + s.holders + s.waiting.size() + s.running.size() + s.flight.size() +
                s.leaving.size() + s.ahead.size() + s.offers.size() + s.arriving.size();
  });
  for (std::size_t i = 0; i < serving.spec().requests.size(); ++i) {
    out.done += outcome.of(0).is_done(i) ? 1 : 0;
  }
  return out;
}

TEST(RandomPools, AgreeWithTheSequentialRunAndKeepNothing) {
  const char* wanted = std::getenv("EXAWARP_PROPERTY_CASES");
  const std::uint64_t cases = wanted == nullptr ? 16 : std::strtoull(wanted, nullptr, 10);
  for (const std::uint64_t seed : case_seeds(1, cases)) {
    PoolDraw draw(seed);
    const std::vector<Pool> pools = draw();
    std::vector<model::WorkloadGraph> graphs;
    for (const Pool& pool : pools) graphs.push_back(model::serving::pool_graph(pool));
    std::vector<model::Job> jobs;
    for (std::size_t j = 0; j < pools.size(); ++j) {
      jobs.push_back({.name = std::to_string(j), .graph = &graphs[j], .pool = &pools[j]});
    }
    const model::Cluster cluster(jobs, round_accelerator(), round_fabric(), draw.network());
    const AtTheEnd end = end_of(cluster);
    ASSERT_EQ(end.left, 0u) << "seed " << seed;
    ASSERT_EQ(end.done, pools[0].spec.requests.size()) << "seed " << seed;
    const core::Digest expected = run_cluster(cluster).result.digest;
    const RunCase run = random_case(seed);
    ASSERT_EQ(to_hex(run_cluster(cluster, run).result.digest), to_hex(expected))
        << "seed " << seed << ' ' << run.text();
    ASSERT_EQ(to_hex(run_cluster(cluster, audited_case(5_ms, 0.1)).result.digest),
              to_hex(expected))
        << "seed " << seed << " audited";
  }
}

}  // namespace
}  // namespace exawarp::tests
