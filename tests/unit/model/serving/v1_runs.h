// Replicas of vllm_v1 so small that each schedule can be written down: a batch takes 10 ms.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "model/serving/kv_pool.h"
#include "model/serving/outcome.h"
#include "model/serving/token_gaps.h"
#include "partition/block.h"
#include "pdes/engine.h"
#include "pdes/transport.h"

namespace exawarp::tests::v1 {

using namespace core::literals;

inline std::int64_t whole(core::Time time, core::Time unit) { return time.ps / unit.ps; }

struct Ran {
  std::unique_ptr<model::serving::Serving> serving;
  std::unique_ptr<model::serving::Outcome> outcome;
  std::uint64_t found = 0, forgotten = 0, tokens = 0, batches = 0, swaps = 0, accepted = 0;
  std::uint64_t held_most = 0;  // blocks of a replica
  core::WidePs present_ps = 0;
  model::serving::TokenGaps gaps;
  // In batches; the router is a picosecond away.
  [[nodiscard]] std::int64_t first_token(std::size_t r) const {
    return whole(outcome->first_token(r), 10_ms);
  }
  [[nodiscard]] std::int64_t end(std::size_t r) const { return whole(outcome->end(r), 10_ms); }
  [[nodiscard]] std::uint64_t restarts(std::size_t r) const { return outcome->restarts_of(r); }
};

inline model::serving::Spec small(std::vector<model::serving::Request> requests) {
  model::serving::Spec spec;
  spec.requests = std::move(requests);
  spec.policy = model::serving::Policy::vllm_v1;
  spec.latency = 1_ps;
  spec.blocks = 1000;
  spec.block_tokens = 4;
  spec.request_tokens_max = 64;
  spec.batch_tokens_max = 64;
  spec.time = {.base = 10_ms, .per_token = 0_ps, .per_context = 0_ps, .per_pair_half = 0_ps};
  return spec;
}

inline Ran run(model::serving::Spec spec, core::Time end = core::Time::max()) {
  Ran out;
  out.serving = std::make_unique<model::serving::Serving>(std::move(spec));
  out.outcome = std::make_unique<model::serving::Outcome>(out.serving->spec());
  const auto transport = pdes::make_single_transport();
  const core::Placement placement =
      partition::place_in_blocks({.atoms = out.serving->processes(), .partitions_per_rank = 1});
  pdes::Engine engine(*out.serving, placement, {.sync = pdes::Sync::sequential, .end = end},
                      *transport, out.outcome.get());
  engine.run();
  engine.visit([&](core::LpId lp, const void* state) {
    if (lp.value == out.serving->spec().replicas) return;
    const auto& s = *static_cast<const model::serving::Replica::State*>(state);
    out.found += s.found_tokens;
    out.forgotten += s.forgotten;
    out.tokens += s.tokens;
    out.batches += s.batches;
    out.swaps += s.swaps;
    out.accepted += s.accepted;
    out.present_ps += s.present.ps();
    out.held_most = std::max<std::uint64_t>(out.held_most, s.held_most);
    model::serving::count_gaps(s, out.gaps);
    EXPECT_EQ(s.held, 0u);
    EXPECT_EQ(model::serving::cached_in_use(s), 0u);
  });
  for (std::size_t i = 0; i < out.serving->spec().requests.size(); ++i)
    EXPECT_TRUE(out.outcome->is_done(i)) << i;
  return out;
}

inline model::serving::Request at(core::Time arrival, std::uint32_t prefill,
                                  std::uint32_t decode, std::uint32_t class_id = 0) {
  return {.arrival = arrival, .prefill = prefill, .decode = decode, .class_id = class_id};
}

}  // namespace exawarp::tests::v1
