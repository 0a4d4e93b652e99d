// Prompts and decodes in pools of their own under a closed loop: what benchmarks of disaggregated
// serving measure (closed_loop.h has the clients).
//
//   a worker of prompts that is free takes the first ones that wait, whole; one that is through
//   gives its first token and goes to the worker of decodes that has the fewest, if one has room,
//   and joins its next iteration. Keys and values move in no time.
#pragma once

#include <cstdint>

#include "model/serving/closed_loop.h"

namespace exawarp::model::serving {

struct LoopPool {
  const IterationTime* time = nullptr;
  std::uint32_t workers = 1;   // >= 1
  std::uint32_t requests = 1;  // of a worker at once, at most; >= 1
};

struct PooledLoop {
  ClosedLoop clients;  // `batch_tokens_max` and `mixes` are not used
  LoopPool prompts, decodes;
};

// A function of its argument alone. Requires what the comments say.
[[nodiscard]] ClosedLoopOutcome run_pooled_loop(const PooledLoop& loop);

}  // namespace exawarp::model::serving
