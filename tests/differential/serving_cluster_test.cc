// Serving on a cluster: one digest in every mode, under audit and when made anew, at each fidelity;
// and what holds at the end of every run.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/error.h"
#include "model/serving/outcome.h"
#include "model/serving/pool.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using namespace core::literals;
using core::Time;
using model::Cluster;
using model::ClusterOptions;
using model::Job;
using model::PlacementKind;
using model::WorkloadGraph;
using model::serving::Pool;
using model::serving::PoolLayout;
using model::serving::Policy;
using model::serving::Replica;
using model::serving::Router;
using model::serving::Serving;

Pool pool_of(const PoolLayout& layout, Policy policy, std::uint32_t requests = 8) {
  Pool pool;
  pool.layout = layout;
  pool.model.layers = 2;
  pool.model.hidden = 256;
  pool.model.heads = 4;
  pool.model.kv_heads = 2;
  pool.model.vocabulary = 1000;
  model::serving::Spec& spec = pool.spec;
  spec.requests = model::serving::poisson_requests({.requests = requests,
                                                    .mean_interval = 150_us,
                                                    .prefill = {.least = 1, .most = 100},
                                                    .decode = {.least = 1, .most = 8}},
                                                   5);
  spec.replicas = layout.replicas;
  spec.stages = layout.pipeline;
  spec.router = Router::least_outstanding;
  spec.latency = 1_us;
  spec.policy = policy;
  spec.request_tokens_max = 128;
  spec.batch_tokens_max = 128;
  spec.chunk_tokens = 48;
  spec.batch_requests_max = 8;
  spec.blocks = 20;
  spec.time = {.base = 40_us, .per_token = 500_ns, .per_context = 1_ns, .per_pair_half = 0_ps};
  return pool;
}

// A training job, a pool of one layout, one that hands over to another of another layout, whose
// attention is data-parallel, and one that does so layer by layer, of a model with experts that are
// not equally busy, from groups of one device.
class ServingCluster : public testing::Test {
 protected:
  ServingCluster() {
    pools_.push_back(pool_of({.tensor = 2, .pipeline = 2, .replicas = 2}, Policy::sarathi));
    pools_.push_back(pool_of({.tensor = 2, .pipeline = 1, .replicas = 2}, Policy::vllm));
    pools_.push_back(
        pool_of({.tensor = 4, .pipeline = 2, .replicas = 1, .attention_data = 2}, Policy::sarathi));
    pools_[2].continues = true;
    pools_.push_back(
        pool_of({.tensor = 2, .pipeline = 2, .replicas = 2, .attention_data = 2}, Policy::sarathi));
    pools_[3].layers_per_message = 1;
    pools_[3].spec.chunk_tokens = 32;
    pools_.push_back(pool_of({.tensor = 1, .pipeline = 2, .replicas = 2}, Policy::vllm));
    pools_[4].continues = true;
    for (Pool* pool : {&pools_[3], &pools_[4]}) {
      pool->model.moe.experts = 4;
      pool->exchange = {.on = true, .imbalance = 0.5};
    }
    for (const Pool& pool : pools_) graphs_.push_back(model::serving::pool_graph(pool));
    jobs_ = {{.name = "training", .graph = &training_},
             {.name = "together", .graph = &graphs_[0], .start = Time{2'000'000},
              .pool = &pools_[0]},
             {.name = "prompts",
              .graph = &graphs_[1],
              .placement = {.kind = PlacementKind::random, .seed = 3},
              .pool = &pools_[1]},
             {.name = "decodes", .graph = &graphs_[2], .pool = &pools_[2]},
             {.name = "prompts by layer",
              .graph = &graphs_[3],
              .placement = {.kind = PlacementKind::random, .seed = 4},
              .pool = &pools_[3]},
             {.name = "decodes by layer", .graph = &graphs_[4], .pool = &pools_[4]}};
  }
  [[nodiscard]] Cluster cluster_with(ClusterOptions options) const {
    options.devices = 48;
    return {jobs_, round_accelerator(), round_fabric(), options};
  }

  const WorkloadGraph training_ = small_training_step({.tensor = 2, .data = 2, .pipeline = 2});
  std::vector<Pool> pools_;
  std::vector<WorkloadGraph> graphs_;
  std::vector<Job> jobs_;
};

std::vector<ClusterOptions> fidelities() {
  std::vector<ClusterOptions> all(3);
  all[0].analytical_network = true;
  all[1].slow_devices = {{.devices = {9}, .factor_ppm = 2'000'000}};
  all[1].compute_jitter = 0.1;
  all[2].packets.emplace();
  return all;
}

// All cases at message fidelity, some at the others.
TEST_F(ServingCluster, EveryModeGivesTheSequentialDigest) {
  for (const ClusterOptions& options : fidelities()) {
    const Cluster cluster = cluster_with(options);
    const ClusterRun expected = run_cluster(cluster);
    ASSERT_EQ(expected.outcome.unfinished(), 0u);
    const bool at_messages = !options.packets && !options.analytical_network;
    std::uint64_t rolled_back = 0, cases = 0;
    for (const RunCase& how : differential_cases(20_us)) {
      if (!at_messages && ++cases % 6 != 0) continue;
      const ClusterRun result = run_cluster(cluster, how);
      EXPECT_EQ(result.result.digest, expected.result.digest) << how.text();
      rolled_back += result.result.total.rolled_back_events;
    }
    EXPECT_GT(rolled_back, 0u);
  }
}

TEST_F(ServingCluster, PassesTheRollbackAuditAndIsMadeAnew) {
  for (const ClusterOptions& options : fidelities()) {
    const Cluster cluster = cluster_with(options);
    const auto expected = run_cluster(cluster).result.digest;
    const auto audited = run_cluster(cluster, audited_case(1_ms, 0.1));
    EXPECT_EQ(audited.result.digest, expected);
    EXPECT_GT(audited.result.total.audited_events, 500u);
    RunCase anew{.sync = pdes::Sync::optimistic, .ranks = 2, .partitions_per_rank = 2};
    anew.rebuild_events = 100;
    EXPECT_EQ(run_cluster(cluster, anew).result.digest, expected);
  }
}

// The same with the rules of vllm_v1 in the two pools that hand over: priorities, drafts, caches.
class EngineOnCluster : public ServingCluster {
 protected:
  EngineOnCluster() {
    for (const std::size_t i : {1u, 2u}) {
      model::serving::Spec& spec = pools_[i].spec;
      spec.policy = Policy::vllm_v1;
      spec.order = model::serving::Order::priority;
      spec.priorities = {2, 0};
      for (std::size_t r = 0; r < spec.requests.size(); ++r) spec.requests[r].class_id = r % 2;
      spec.prefixes.shared_tokens = 16;
      spec.prefix_cache = true;
      spec.blocks = 14;
      if (i == 2) spec.speculation = {.tokens = 3, .acceptance = 0.5, .draft = 2_us};
      graphs_[i] = model::serving::pool_graph(pools_[i]);
    }
  }
};

TEST_F(EngineOnCluster, EveryModeGivesTheSequentialDigest) {
  for (const ClusterOptions& options : fidelities()) {
    const Cluster cluster = cluster_with(options);
    const ClusterRun expected = run_cluster(cluster);
    ASSERT_EQ(expected.outcome.unfinished(), 0u);
    std::uint64_t rolled_back = 0, cases = 0;
    for (const RunCase& how : differential_cases(20_us)) {
      if (++cases % 6 != 0) continue;
      const ClusterRun result = run_cluster(cluster, how);
      EXPECT_EQ(result.result.digest, expected.result.digest) << how.text();
      rolled_back += result.result.total.rolled_back_events;
    }
    EXPECT_GT(rolled_back, 0u);
  }
}

TEST_F(EngineOnCluster, PassesTheRollbackAuditAndIsMadeAnew) {
  const Cluster cluster = cluster_with(fidelities()[1]);
  const auto expected = run_cluster(cluster).result.digest;
  EXPECT_EQ(run_cluster(cluster, audited_case(1_ms, 0.1)).result.digest, expected);
  RunCase anew{.sync = pdes::Sync::optimistic, .ranks = 2, .partitions_per_rank = 2};
  anew.rebuild_events = 100;
  EXPECT_EQ(run_cluster(cluster, anew).result.digest, expected);
}

}  // namespace
}  // namespace exawarp::tests
