// Inside the transformer generator: feed-forward blocks, and the layers of experts in their place.
#pragma once

#include "model/generate/transformer_table.h"

namespace exawarp::model {

FfnCosts dense_ffn(const TransformerSpec& spec, const Sizes& s, const Table& table);
// All shared experts as one block.
FfnCosts shared_ffn(const TransformerSpec& spec, const Sizes& s, const Table& table);

// Of a rank among those that share a layer's experts, of one pattern of the routing.
ExpertCosts experts_of(const TransformerSpec& spec, const Sizes& s, const Table& table,
                       const ExpertRouting& routing, std::uint32_t rank, std::uint32_t pattern);

}  // namespace exawarp::model
