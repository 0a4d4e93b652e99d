// A replica under a closed loop: so many clients, each of which asks again as soon as it is
// answered. What benchmarks of serving engines measure. An iteration is a step, so that a minute of
// service takes milliseconds.
//
//   all clients ask at time 0; a request's lengths are drawn evenly from least_share of the most
//   to the most; an iteration has one token of each decoding request, then prompts in order in what
//   is left of `batch_tokens_max`, in chunks; engines that do not mix leave decodes out while there
//   are prompts; a prompt begins when the pool of keys and values has room for it, and others wait
//   behind it
#pragma once

#include <cstdint>

#include "core/time.h"
#include "model/serving/iteration_time.h"

namespace exawarp::model::serving {

struct ClosedLoop {
  std::uint32_t clients = 1;   // >= 1
  std::uint32_t requests = 1;  // of all clients, >= 1
  std::uint32_t prompt_most = 1;
  std::uint32_t output_most = 1;
  double least_share = 1;  // (0, 1]
  std::uint32_t batch_tokens_max = 8192;
  bool mixes = true;  // decodes beside prompts in one iteration
  // Requests that have come are looked for before every so many iterations, and before each that
  // would have nothing to do (SGLang's --scheduler-recv-interval).
  std::uint32_t looks_every = 1;
  // While others decode, prompts begin only when so many wait, or one has waited for so many
  // iterations: one for each group of data-parallel attention, which work side by side
  // (TensorRT-LLM's attention_dp_config: enable_balance, timeout_iters).
  std::uint32_t gathers = 1;
  std::uint32_t gathers_for = 0;
  // Tokens whose keys and values fit; 0: any number. A request alone is served, whatever its size.
  std::uint64_t pool_tokens = 0;
  // A request begins when its prompt and its answer fit beside those of all that have begun, as
  // with TensorRT-LLM's GUARANTEED_NO_EVICT. Else when its prompt fits and a hundredth of the pool
  // stays free, as with vLLM's watermark; decodes that find no room then make the request that
  // began last give up what it holds, and compute it anew.
  bool reserves_answers = false;
  std::uint64_t seed = 1;
};

// Over requests; per_token is (end - first token) / (outputs - 1) of a request, 0 where it has one.
struct ClosedLoopOutcome {
  core::Time first_token_mean, per_token_mean;
  core::Time makespan;
  std::uint64_t iterations = 0;
};

// A function of its arguments alone. Requires what the comments say.
[[nodiscard]] ClosedLoopOutcome run_closed_loop(const ClosedLoop& loop, const IterationTime& time);

}  // namespace exawarp::model::serving
