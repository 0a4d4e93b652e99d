// Inside transformer.cc: writes the program of one pipeline stage, slot by slot.
#pragma once

#include <cstdint>
#include <vector>

#include "model/generate/program_writer.h"
#include "model/generate/transformer_costs.h"
#include "model/generate/transformer_layer.h"
#include "model/generate/transformer_memory.h"
#include "model/generate/transformer_plan.h"
#include "model/generate/transformer_state.h"
#include "model/workload/builder.h"

namespace exawarp::model {

class StageWriter {
 public:
  // `costs` of the stage's devices (they may differ by their experts).
  StageWriter(const TransformerPlan& plan, const TransformerCosts& costs, std::uint32_t stage,
              WorkloadBuilder& workload, ProgramBuilder& program);
  StageWriter(const StageWriter&) = delete;  // its parts refer to each other
  StageWriter& operator=(const StageWriter&) = delete;
  ~StageWriter() = default;

  // All steps.
  void write();
  // What write() says of memory, and nothing else: in place of it.
  [[nodiscard]] ProgramMemory memory();
  [[nodiscard]] const std::string& name() { return out_.program().name(); }

 private:
  using Node = ProgramWriter::Node;

  void step(std::int64_t index);
  void pass(const Slot& slot);
  void forward(const Slot& slot);
  void backward(const Slot& slot);
  void weights(const Slot& slot);
  Node forward_embedding(std::uint32_t unit);
  void backward_embedding(std::uint32_t unit, Node gradient);
  void forward_head(Node input, std::uint32_t micro_batch);
  void forward_prediction(std::uint32_t micro_batch);
  std::uint32_t backward_prediction(std::uint32_t gradient, bool with_weights);
  void forward_loss(std::uint32_t micro_batch);
  Node backward_head(std::uint32_t micro_batch, bool with_weights);
  void read_data(const Slot& slot);
  // A layer of this pass is over; `unit` may be an embedding or the head.
  void finished(std::uint32_t unit);

  Node receive(bool is_forward, std::uint32_t chunk);
  void send(bool is_forward, std::uint32_t chunk, Node after);
  std::uint32_t transfer(schema::NodeKind kind, bool is_forward, std::uint32_t chunk, Node after);
  // Bytes between a chunk of the model and the one before it.
  [[nodiscard]] std::uint64_t boundary_bytes(std::uint32_t model_chunk) const;

  [[nodiscard]] schema::Phase phase_of(schema::Phase alone) const {
    return overlapped_ ? schema::Phase::OVERLAPPED : alone;
  }
  [[nodiscard]] std::uint32_t model_chunk(std::uint32_t chunk) const {
    return plan_.model_chunk(stage_, chunk);
  }
  [[nodiscard]] bool is_first(std::uint32_t chunk) const { return model_chunk(chunk) == 0; }
  [[nodiscard]] bool is_last(std::uint32_t chunk) const {
    return model_chunk(chunk) + 1 == plan_.chunk_layers.size();
  }

  const TransformerPlan& plan_;
  const TransformerCosts& costs_;
  std::uint32_t stage_;
  std::vector<Slot> slots_;
  ProgramWriter out_;
  LayerWriter layers_;
  StateWriter state_;
  ActivationMemory memory_;
  std::vector<Node> losses_;  // by micro-batch: the last node of its forward pass
  std::vector<Node> reads_;   // by micro-batch: its data is there
  bool first_micro_batch_ = false, last_micro_batch_ = false;
  bool overlapped_ = false;  // the pass that is being written runs beside another one
};

}  // namespace exawarp::model
