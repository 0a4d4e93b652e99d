// Small pools of serving replicas, and their runs.
#pragma once

#include <functional>

#include "model/serving/cluster_outcome.h"
#include "model/serving/pool.h"
#include "pdes/transport.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {

// 4 layers; 2 heads of keys and values.
inline model::ModelSpec small_model(std::int64_t head_dim = 100) {
  model::ModelSpec model;
  model.layers = 4;
  model.hidden = 1000;
  model.heads = 8;
  model.kv_heads = 2;
  model.head_dim = head_dim;
  model.vocabulary = 500;
  return model;
}

// One request of `prompt` tokens; an iteration computes for 1 ms and 1 us a token.
inline model::serving::Pool pool_of(const model::serving::PoolLayout& layout, std::uint32_t prompt,
                                    std::uint32_t output) {
  using namespace core::literals;
  model::serving::Pool pool;
  pool.layout = layout;
  pool.model = small_model();
  pool.spec.requests = {{.arrival = 0_ps, .prefill = prompt, .decode = output}};
  pool.spec.replicas = layout.replicas;
  pool.spec.stages = layout.pipeline;
  pool.spec.latency = 10_us;
  pool.spec.request_tokens_max = 128;
  pool.spec.batch_tokens_max = 128;
  pool.spec.batch_requests_max = 16;
  pool.spec.blocks = 40;
  pool.spec.time = {.base = 1_ms, .per_token = 1_us, .per_context = 0_ps, .per_pair_half = 0_ps};
  return pool;
}

// To its end, sequentially; `look` sees what is left then.
inline void run_served(const model::Cluster& cluster, model::serving::ClusterOutcome& outcome,
                       const std::function<void(pdes::Engine&)>& look = {}) {
  const auto transport = pdes::make_single_transport();
  pdes::Engine engine(cluster, blocks_of(cluster.lp_count(), cluster.atom_shift())(1, 1),
                      {.sync = pdes::Sync::sequential}, *transport, &outcome);
  engine.run();
  if (look) look(engine);
}

}  // namespace exawarp::tests
