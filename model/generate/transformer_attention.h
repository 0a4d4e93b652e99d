// Inside the transformer generator: what an attention block costs on one rank and micro-batch.
#pragma once

#include "model/generate/transformer_costs.h"
#include "model/generate/transformer_table.h"

namespace exawarp::model {

OperationPair norm_of(const Sizes& s, const Table& table);
// `window`: tokens that a query sees at most, causal; 0: all.
AttentionCosts self_attention(const TransformerSpec& spec, const Sizes& s, const Table& table,
                              bool causal, Wide window);
// `memory`: the stack that `s` looks at.
AttentionCosts cross_attention(const TransformerSpec& spec, const Sizes& s, const Sizes& memory,
                               const Table& table);

}  // namespace exawarp::model
