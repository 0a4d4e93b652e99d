// Inside the transformer generator: bytes of device memory that a program holds, over its first
// step. Steps are alike.
//
// What stays: weights, gradients, optimizer state, each whole or a share of it by
// parallel.sharding. What comes and goes: activations, from a micro-batch's forward pass through a
// chunk to the end of its backward pass (of its weight gradients, where they come apart);
// parameters that zero3 has gathered; and the workspace of the pass that runs: one layer's gathered
// input and gradient, and in backward what recomputation brings back for one layer.
#pragma once

#include <cstdint>

#include "model/generate/transformer_costs.h"
#include "model/generate/transformer_plan.h"
#include "model/generate/transformer_state.h"
#include "model/workload/builder.h"

namespace exawarp::model {

class ActivationMemory {
 public:
  ActivationMemory(const TransformerPlan& plan, const TransformerCosts& costs, std::uint32_t stage,
                   const StateWriter& state);

  // A pass, and another one `beside` it if there is any, begin or are over before node number
  // `node`.
  void begin(const Slot& slot, const Slot* beside, std::uint32_t node);
  void end(const Slot& slot, const Slot* beside, std::uint32_t node);
  // The program's memory: call after the first step.
  [[nodiscard]] ProgramMemory take();

 private:
  [[nodiscard]] std::uint64_t saved(std::uint32_t chunk) const;
  [[nodiscard]] std::uint64_t workspace(const Slot& slot) const;
  // Communicators that a device of the stage is in, and a pair of neighbours along the pipeline.
  [[nodiscard]] std::uint64_t communicators() const;
  void point(std::uint32_t node, std::uint64_t bytes);

  const TransformerPlan& plan_;
  const TransformerCosts& costs_;
  std::uint32_t stage_;
  std::uint64_t activations_ = 0;
  std::uint64_t gathered_ = 0;
  ProgramMemory memory_;
};

// Of layer `index`, the `in_chunk`-th of its chunk: whether it runs forward again in backward.
bool recomputes_layer(const TransformerSpec& spec, std::uint32_t in_chunk);

}  // namespace exawarp::model
