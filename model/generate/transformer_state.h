// Inside the transformer generator: what happens to parameters and gradients on one stage.
// Gradients are reduced as they become ready, the optimizer works on this rank's share, and
// parameters are gathered: once a step, or (zero3) layer by layer where they are used.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/generate/program_writer.h"
#include "model/generate/transformer_costs.h"
#include "model/generate/transformer_plan.h"

namespace exawarp::model {

// Parameters that are gathered, or whose gradients are reduced, together.
struct ParameterCount {
  std::uint64_t dense = 0;
  std::uint64_t experts = 0;
  ParameterCount& operator+=(const ParameterCount& other) {
    dense += other.dense;
    experts += other.experts;
    return *this;
  }
};

// A unit of zero3: a layer, by its index, or
constexpr std::uint32_t kEmbeddingUnit = 0xfffffffd;
constexpr std::uint32_t kDecoderEmbeddingUnit = 0xfffffffe;
constexpr std::uint32_t kHeadUnit = 0xffffffff;

class StateWriter {
 public:
  using Node = ProgramWriter::Node;

  StateWriter(const TransformerPlan& plan, const TransformerCosts& costs, std::uint32_t stage,
              const std::vector<Slot>& slots, ProgramWriter& writer);

  // Starts the streams that a communicator of several stages uses, in the same order everywhere.
  void begin_program();
  void begin_step(std::int64_t step);
  // The computations that follow use these parameters.
  void use(std::uint32_t unit);
  // The parameters of the chunk's layer `in_chunk` are gathered again after its recomputation.
  [[nodiscard]] bool regathers(std::uint32_t in_chunk) const;
  // A chunk's forward pass in the first micro-batch begins.
  void use_chunk(std::uint32_t chunk);
  // What products wrote comes into the step's gradients of the unit.
  void accumulate(std::uint32_t unit, bool first_micro_batch);
  // The gradients of the unit are complete for this micro-batch.
  void finished(std::uint32_t unit, bool last_micro_batch);
  // The step's last backward pass is over.
  void backward_over();
  // Reads what is left of gradients, updates, gathers. Returns what ends the step.
  void finish_step();

  [[nodiscard]] ParameterCount parameters() const { return total_; }
  [[nodiscard]] ParameterCount parameters_of(std::uint32_t unit) const;
  [[nodiscard]] std::uint64_t largest_unit() const;  // parameters, of both kinds
  // Of all, those that a rank updates.
  [[nodiscard]] std::uint64_t share() const;

 private:
  struct Bucket {
    std::uint32_t layers_end = 0;  // it is complete when so many layers have finished backward
    ParameterCount parameters;
    std::array<Node, 2> gathered{};  // its new parameters are there
  };

  void plan_units(const std::vector<Slot>& slots);
  void plan_buckets();
  [[nodiscard]] std::vector<std::size_t> bucket_ends(
      const std::vector<ParameterCount>& layers) const;
  void reduce_bucket();
  void reduce(const ParameterCount& what, bool last);
  void reduce_in(const ParameterGroup& group, std::uint64_t parameters, bool last, bool experts);
  void gather_bucket(Bucket& bucket, Node after);
  Node gather_in(const ParameterGroup& group, std::uint64_t parameters, bool experts, Node after);
  void gather_unit(std::uint32_t unit);
  [[nodiscard]] std::uint64_t bytes_of_unit(std::uint32_t unit, schema::DataType type) const;
  // One micro-batch's gradients of a unit.
  void reduce_unit(std::uint32_t unit, bool last);
  // What a collective among `group` waits for: the last computation, or, after the collective
  // `before`, the host, which handles members one by one.
  Node members_handled(const ParameterGroup& group, std::uint64_t parameters, Node before);
  // The sum of a scalar over all ranks.
  Node sum_over_ranks(Node local);
  Node reduce_tied_embedding(Node ready);
  void write_checkpoint(Node updated);
  // Of the share of the gradients that this rank updates: their norm, and what the framework does
  // with them before and after the optimizer. Each returns its last node.
  Node read_gradients(Node ready);
  Node update(Node ready);
  [[nodiscard]] bool unscales() const;
  [[nodiscard]] std::uint64_t final_gradient_width() const;  // of an element, in the optimizer
  [[nodiscard]] bool gathers_units() const;
  [[nodiscard]] bool ties_embeddings() const;
  [[nodiscard]] std::uint32_t model_chunk(std::uint32_t chunk) const {
    return plan_.model_chunk(stage_, chunk);
  }
  [[nodiscard]] std::uint64_t share_of(const ParameterCount& what) const;

  const TransformerPlan& plan_;
  const TransformerCosts& costs_;
  std::uint32_t stage_;
  ProgramWriter& out_;
  std::vector<Bucket> buckets_;
  ParameterCount total_;
  std::vector<std::uint32_t> chunk_start_;  // by chunk: layers that finish before its own
  std::uint32_t layers_finished_ = 0;
  std::size_t buckets_reduced_ = 0;
  std::int64_t step_ = 0;
  std::array<Node, 4> reduced_;  // the last reduction: dense, experts, and of each over replicas
  Node step_end_, checkpoint_;

  // zero3: units in the order of a step, how many of them were gathered and used, and by what the
  // gathers end.
  std::vector<std::uint32_t> uses_;
  std::size_t gathered_ = 0, used_ = 0;
  std::vector<std::array<Node, 2>> ready_;
};

}  // namespace exawarp::model
