// Inside the transformer generator: how many tokens each expert gets.
//
// A token slot is one token at one of its K experts. Experts' shares are the same for all ranks
// that send, all micro-batches and all steps; layers take one of a few patterns in turn, so that
// tables of all-to-all sizes stay few. Balanced routing has one pattern and no tables.
#pragma once

#include <cstdint>
#include <vector>

#include "model/generate/transformer_spec.h"

namespace exawarp::model {

constexpr std::uint32_t kRoutingPatterns = 4;  // of imbalanced routing

struct ExpertRouting {
  std::uint32_t ranks = 1;       // x: that share the experts of a layer
  std::uint64_t slots_sent = 0;  // by each of them, dropped ones included
  bool balanced = true;
  // By pattern and expert: slots that it computes, of one all-to-all (a t_e-th of what its rank
  // does once slots are gathered over the expert-tensor group).
  std::vector<std::vector<std::uint64_t>> slots;

  // Slots that go to the experts of `rank`.
  [[nodiscard]] std::uint64_t slots_of(std::uint32_t pattern, std::uint32_t rank) const;
  // Slots from a rank to each other rank, source * ranks + target.
  [[nodiscard]] std::vector<std::uint64_t> table(std::uint32_t pattern) const;
};

// Requires a spec that check() accepts, except for sizes.
ExpertRouting route_experts(const TransformerSpec& spec);

// Nodes and expert-parallel ranks that the experts of one token are in, on average, where experts
// are equally busy. With E experts over n nodes, K of them drawn from those of the M <= n nodes
// that a token may go to:
//   nodes = M (1 - C(M E/n - E/n, K) / C(M E/n, K)), and so for ranks.
struct TokenReach {
  double nodes = 1, ranks = 1;
};
// `node_ranks`: expert-parallel ranks of a node, a divisor of parallel.expert.
TokenReach reach_of_token(const TransformerSpec& spec, std::int64_t node_ranks);

// Whether layer `index` has experts. How many have: layer_counts.h.
bool has_experts(const ModelSpec& model, std::int64_t index);

}  // namespace exawarp::model
