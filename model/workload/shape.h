// The sizes of a computation (workload.capnp, Shape), as generators give them and compute models
// read them. All counts are of one device's share.
#pragma once

#include <compare>
#include <cstdint>
#include <variant>

#include "model/workload/workload.capnp.h"

namespace exawarp::model {

// `batch` times (m x k) times (k x n).
struct GemmShape {
  std::uint64_t m = 1, n = 1, k = 1, batch = 1;
  bool converted = false;  // operands come in the product's type: other nodes convert them
  friend auto operator<=>(const GemmShape&, const GemmShape&) = default;
};

// Scores, softmax and values of `new_tokens` queries in each of `batch` sequences.
struct AttentionShape {
  std::uint64_t batch = 1, new_tokens = 1, past_tokens = 0;
  std::uint64_t heads = 1, key_value_heads = 1, head_dim = 1, value_dim = 1;
  std::uint64_t window = 0;  // 0: none
  bool causal = false;
  bool backward = false;
  friend auto operator<=>(const AttentionShape&, const AttentionShape&) = default;
};

// One product of a layer of experts.
struct ExpertShape {
  std::uint64_t tokens = 1;  // that enter the layer, on all `expert` devices
  std::uint64_t hidden = 1, inner = 1, top_k = 1, experts = 1;
  std::uint64_t tensor = 1, expert = 1;  // devices: of one expert, and of all of them
  bool gated = false;
  // Each device has the tokens of all, as engines have that serve; not in files. Else its share.
  bool all_tokens = false;
  friend auto operator<=>(const ExpertShape&, const ExpertShape&) = default;
};

// A kernel that moves memory (workload.capnp, StreamKernel).
struct StreamShape {
  schema::StreamKernel kernel = schema::StreamKernel::ADD;
  std::uint64_t rows = 1, width = 1;
  friend auto operator<=>(const StreamShape&, const StreamShape&) = default;
};

using Shape = std::variant<std::monostate, GemmShape, AttentionShape, ExpertShape, StreamShape>;

constexpr std::uint64_t kShapeSizeMax = std::uint64_t{1} << 40;  // of each number, exclusive

// Of bytes from a file: anything may be in it.
Shape read_shape(schema::Shape::Reader in);
void write_shape(schema::Shape::Builder out, const Shape& shape);

}  // namespace exawarp::model
