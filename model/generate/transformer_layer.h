// Inside the transformer generator: writes one layer of a program, forward and backward.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/generate/program_writer.h"
#include "model/generate/transformer_costs.h"
#include "model/generate/transformer_plan.h"

namespace exawarp::model {

class LayerWriter {
 public:
  using Node = ProgramWriter::Node;

  LayerWriter(const TransformerPlan& plan, ProgramWriter& writer) : plan_(plan), out_(writer) {}

  // Returns what the consumer of the layer's output, or of its input's gradient, waits for.
  Node forward(const LayerCosts& layer, Node input);
  Node backward(const LayerCosts& layer, Node gradient, bool with_weights);
  // What backward() without weights left out.
  void weights(const LayerCosts& layer);

  // A column-parallel product, whose input is gathered from shards of `shard_bytes`, and the two of
  // its backward pass: x is gathered again for dW and dX is reduced, both during the products.
  // `sum`: of the gradients of several products' inputs, where these are the same.
  void column_forward(const std::vector<GemmCosts>& products, std::uint64_t shard_bytes,
                      Node input);
  Node column_backward(const std::vector<GemmCosts>& products, std::uint64_t shard_bytes,
                       Node produced_by, bool with_weights,
                       const std::vector<OperationCost>& sum = {});
  void column_weights(const std::vector<GemmCosts>& products, std::uint64_t shard_bytes);

  // A product that each rank does whole on its own tokens. Backward returns its input's gradient.
  std::uint32_t product(const GemmCosts& gemm, Node after = {});
  std::uint32_t product_backward(const GemmCosts& gemm, Node gradient, bool with_weights);

  // Over the tensor group: all-gather of a shard (sequence parallelism alone), and what follows a
  // row-parallel product (reduce-scatter, or all-reduce).
  Node gather(Node after, std::uint64_t shard_bytes);
  Node reduce(Node after, std::uint64_t whole_bytes);

 private:
  // Layers whose two blocks stand side by side; transformer_parallel_blocks.cc.
  Node parallel_forward(const LayerCosts& layer, Node input);
  Node parallel_backward(const LayerCosts& layer, Node gradient, bool with_weights);
  void parallel_weights(const LayerCosts& layer);
  void parallel_out_backward(const LayerCosts& layer, Node gradient, bool with_weights);

  // State-space blocks; transformer_mamba_layer.cc.
  Node mamba_forward(const MambaCosts& m, const LayerCosts& layer, Node input);
  Node mamba_backward(const MambaCosts& m, const LayerCosts& layer, Node gradient,
                      bool with_weights);
  void mamba_weights(const MambaCosts& m, const LayerCosts& layer);
  // From a rank's tokens and all of its heads to all tokens and a share of its heads, or back.
  void exchange_heads(const char* name, std::uint64_t bytes);

  Node attention_forward(const AttentionCosts& a, const LayerCosts& layer, Node input);
  Node attention_backward(const AttentionCosts& a, const LayerCosts& layer, Node gradient,
                          bool with_weights);
  void core_forward(const AttentionCosts& a);
  void core_again(const AttentionCosts& a);  // with Recompute::kSelective
  void core_backward(const AttentionCosts& a);
  void ring(const AttentionCosts& a, const std::vector<OperationCost>& kernels, bool is_backward);
  // A kernel of the forward pass once more, with Recompute::kLatent.
  void again(const OperationCost& cost);
  // The first kernel waits for `after`. Returns the last one.
  std::uint32_t kernels(const std::vector<OperationCost>& kernels, Node after = {},
                        std::uint32_t parts = 1);
  // A product, or a part of it, with the conversion of its operand before it.
  std::uint32_t product(const OperationCost& cost, const std::optional<OperationCost>& cast,
                        Node after = {}, std::uint32_t parts = 1);
  // The end of a block: dropout, and the sum with its input. And of its backward pass the start:
  // returns the gradient of what the block's last product wrote.
  Node add_residual(const LayerCosts& layer, Node reduced);
  Node enter_block(const LayerCosts& layer, Node gradient);
  std::uint32_t activate(const FfnCosts& ffn);
  std::uint32_t activate_backward(const FfnCosts& ffn);
  Node block_backward(const LayerCosts& layer, Node gradient, bool with_weights);
  Node ffn_forward(const FfnCosts& ffn, const LayerCosts& layer, Node normed);
  Node ffn_backward(const FfnCosts& ffn, const LayerCosts& layer, Node gradient, bool with_weights);
  Node experts_forward(const LayerCosts& layer, Node normed);
  Node experts_backward(const LayerCosts& layer, Node gradient, bool with_weights);
  // A row-parallel product: its output is reduced; in backward its gradient is gathered before.
  Node row_forward(const GemmCosts& gemm, std::uint64_t whole_bytes);
  void row_backward(const GemmCosts& gemm, std::uint64_t shard_bytes, Node gradient,
                    bool with_weights);
  // The all-to-alls to the experts, or back from them: inside nodes, and between them. They go on
  // at the same time, as of tokens in small parts.
  using Exchange = std::array<Node, 2>;
  Exchange exchange(const ExpertCosts& moe, bool to_experts, Node after);
  // All slots of an expert that is split over several ranks; and the sum of its parts.
  Node gather_slots(const ExpertCosts& moe, const Exchange& after);
  // What arrived, sorted by expert, and what experts computed in the order that it came in.
  Node sorted(const ExpertCosts& moe, Node arrived);
  std::uint32_t sorted_back(const ExpertCosts& moe, std::uint32_t computed);
  Node reduce_slots(const ExpertCosts& moe, Node after);
  Node context_collective(const char* name, schema::CollectiveType type, std::uint64_t bytes,
                          Node after);
  [[nodiscard]] std::uint32_t parts() const;
  // A communicator has one stream.
  [[nodiscard]] StreamRole expert_tensor_stream() const {
    return plan_.mesh.expert_tensor == plan_.mesh.tensor ? kTensor : kExpertTensor;
  }

  const TransformerPlan& plan_;
  ProgramWriter& out_;
};

}  // namespace exawarp::model
