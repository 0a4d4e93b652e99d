// One training step as a profiler recorded it on one GPU: operators in the order in which they ran,
// each with its time and the tensors that it read and wrote. io/formats/single_gpu/ reads it;
// layouts.h and guests/triosim/ say what it becomes on many.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace exawarp::model {

struct RecordedTensor {
  std::string id;
  std::uint64_t bytes = 0;
  std::uint64_t rows = 0;    // extent of the first dimension: a batch's, if it is activations'
  bool is_gradient = false;  // by the role of the last mention
  bool is_parameter = false;  // a weight or a bias, by any mention
};

enum class RecordedPhase : std::uint8_t { forward, backward, optimizer };

struct RecordedOperator {
  std::uint64_t id = 0;
  std::string name;
  std::vector<std::uint32_t> inputs, outputs;  // indices of tensors
  double time_us = 0;  // on the GPU, without what overlapped another operator; >= 0 and finite
  RecordedPhase phase = RecordedPhase::forward;
  bool splits = false;  // a product that tensor parallelism divides
};

struct RecordedStep {
  std::vector<RecordedTensor> tensors;
  std::vector<RecordedOperator> operators;  // at least one
};

// The tensors that the optimizer updates, ascending: those of the updates of PyTorch's Adam
// (_foreach_addcdiv_), less the moments that the operators before it (_foreach_add_,
// _foreach_lerp_) write.
[[nodiscard]] std::vector<std::uint32_t> updated_tensors(const RecordedStep& step);

}  // namespace exawarp::model
