// Inside transformer.cc: writes the program of one pipeline stage, node by node.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/workload/builder.h"
#include "model/workload/schedule.h"
#include "model/workload/spec.h"
#include "model/workload/transformer_costs.h"

namespace exawarp::model {

// What all stages share.
struct TransformerPlan {
  const TransformerSpec& spec;
  TransformerCosts costs;
  PipelineShape shape{};
  std::vector<std::uint32_t> chunk_layers{};  // by chunk of the model, p * v of them
  std::uint32_t tensor = 1, data = 1;
  std::uint8_t pipeline_axis = 0;
  std::uint16_t tensor_group = 0, data_group = 0, pipeline_group = 0, embedding_group = 0;
};

// Nodes are added in the order of a step's time line; dependencies are stated where data crosses
// streams, and the order of the compute stream does the rest.
class StageWriter {
 public:
  StageWriter(const TransformerPlan& plan, std::uint32_t stage, WorkloadBuilder& workload,
              ProgramBuilder& program);

  // All steps.
  void write();

 private:
  using Node = std::optional<std::uint32_t>;  // none: nothing to wait for

  // Streams are made when first used. One for each communicator and for each direction of pipeline
  // transfers, so that no transfer waits behind one that needs it.
  enum StreamRole {
    kCompute,
    kTensor,
    kData,
    kPipeline,
    kEmbedding,
    kReceiveForward,
    kSendForward,
    kReceiveGradient,
    kSendGradient,
    kStreamRoles
  };
  struct Collective {
    const char* name;
    schema::CollectiveType type;
    StreamRole stream;
    std::uint16_t group;
    std::uint64_t bytes;
    schema::DataType data_type;
  };
  struct Bucket {
    std::uint32_t layers_end = 0;  // it is complete when so many layers have finished backward
    std::uint64_t parameters = 0;
  };

  void plan_buckets();
  void step();
  void forward(const Slot& slot);
  void backward(const Slot& slot);
  Node forward_layer(Node input);
  Node backward_layer(Node gradient);
  Node forward_embedding();
  void backward_embedding(Node gradient);
  void forward_head(Node input, std::uint32_t micro_batch);
  Node backward_head(std::uint32_t micro_batch);
  // dX and dW of a column-parallel product: its input was gathered, so it is gathered again for dW
  // and dX is reduce-scattered, both beside the products. Returns what dX's consumer waits for.
  Node backward_column(const GemmCosts& gemm, std::uint32_t produced_by);
  // dX and dW of a row-parallel product, whose output's gradient is gathered before.
  void backward_row(const GemmCosts& gemm, Node gradient);
  void layer_finished();
  void reduce_bucket();
  // The sum of a scalar over all ranks.
  Node sum_over_ranks(Node local);
  void finish_step();

  std::uint32_t compute(const OperationCost& cost, std::initializer_list<Node> after = {});
  std::uint32_t collective(const Collective& collective, std::initializer_list<Node> after);
  // Over the tensor group: all-gather of a shard (sequence parallelism alone), and what follows a
  // row-parallel product (reduce-scatter, or all-reduce).
  Node gather(Node after);
  Node reduce(Node after);
  Node receive(bool is_forward, std::uint32_t chunk);
  void send(bool is_forward, std::uint32_t chunk, Node after);
  void transfer(schema::NodeKind kind, bool is_forward, std::uint32_t chunk, std::int32_t peer,
                Node after);
  std::uint32_t marker(const char* text, std::initializer_list<Node> after);
  std::uint32_t add(NodeFields fields, std::initializer_list<Node> after);
  std::uint8_t stream(StreamRole role);
  std::uint32_t name(const char* text);

  [[nodiscard]] std::uint32_t model_chunk(std::uint32_t chunk) const {
    return chunk * plan_.shape.stages + stage_;
  }
  [[nodiscard]] bool is_first(std::uint32_t chunk) const { return model_chunk(chunk) == 0; }
  [[nodiscard]] bool is_last(std::uint32_t chunk) const {
    return model_chunk(chunk) + 1 == plan_.chunk_layers.size();
  }
  [[nodiscard]] bool ties_embeddings_across_stages() const;

  const TransformerPlan& plan_;
  const TransformerCosts& costs_;
  std::uint32_t stage_;
  WorkloadBuilder& workload_;
  ProgramBuilder& program_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> first_layer_;  // of each chunk of the model
  std::array<std::optional<std::uint8_t>, kStreamRoles> streams_;
  std::vector<std::pair<const char*, std::uint32_t>> names_;
  NodeFields context_;        // phase, micro-batch and layer of the nodes being added
  std::vector<Node> losses_;  // by micro-batch: the last node of its forward pass
  std::vector<Bucket> buckets_;
  bool last_micro_batch_ = false;
  std::uint32_t layers_finished_ = 0;
  std::size_t buckets_reduced_ = 0;
  Node last_compute_, last_reduced_, step_end_;
};

}  // namespace exawarp::model
