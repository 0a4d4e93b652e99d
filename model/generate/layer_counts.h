// How many layers of a decoder are of what kind, in any order.
#pragma once

#include <cstdint>

#include "model/generate/transformer_spec.h"

namespace exawarp::model {

// Of model.pattern's letters; without a pattern each layer counts as one of attention, and as one
// of the two others that its second block is.
struct LayerCounts {
  std::uint64_t attention = 0;
  std::uint64_t windowed = 0;  // of those, through model.window
  std::uint64_t mamba = 0, feed_forward = 0, experts = 0;
  [[nodiscard]] std::uint64_t blocks() const { return attention + mamba + feed_forward + experts; }
};

[[nodiscard]] LayerCounts layer_counts(const ModelSpec& model);

}  // namespace exawarp::model
