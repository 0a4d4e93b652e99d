// Inside the generators of data-parallel networks (dlrm, resnet): layers of one product and what
// follows it, the sum of their gradients in buckets, and the optimizer.
#pragma once

#include <cstdint>
#include <vector>

#include "model/generate/program_writer.h"
#include "model/generate/transformer_costs.h"

namespace exawarp::model {

// Names of a layer's operations: forward, gradient of the input, of the weights, what follows, and
// its backward.
struct LayerNames {
  const char *forward, *input_gradient, *weight_gradient, *activation, *activation_backward;
};

struct NetworkLayer {
  GemmCosts product;         // a GEMM or a convolution
  OperationPair activation;  // a normalisation, a bias, what is not linear
  std::uint64_t parameters = 0;
  std::uint64_t outputs = 0;  // elements, of all samples: what backward needs
};

struct LayerShape {
  std::uint64_t rows = 0;     // of the product: samples, or their pixels
  std::uint64_t inner = 0;    // inputs of an output
  std::uint64_t columns = 0;  // outputs
  std::uint64_t inputs = 0;   // elements read; a convolution's are fewer than rows * inner
};
NetworkLayer network_layer(const LayerNames& names, schema::Operation operation,
                           const LayerShape& shape, std::uint64_t element_bytes);

void write_forward(ProgramWriter& out, const NetworkLayer& layer);
// Of the first layer nobody wants the gradient of the input.
void write_backward(ProgramWriter& out, const NetworkLayer& layer, bool with_input);

constexpr std::uint64_t kGradientBytes = 4;  // fp32

// All-reduces gradients over `group` as they become ready, so many bytes or more at a time.
class GradientBuckets {
 public:
  using Node = ProgramWriter::Node;
  GradientBuckets(ProgramWriter& out, std::uint16_t group, std::uint32_t ranks,
                  std::uint64_t bucket_bytes)
      : out_(out), group_(group), ranks_(ranks), bucket_bytes_(bucket_bytes) {}
  void add(std::uint64_t parameters);
  // Sends what is left. Returns what the optimizer waits for.
  Node flush();

 private:
  ProgramWriter& out_;
  std::uint16_t group_;
  std::uint32_t ranks_;
  std::uint64_t bucket_bytes_;
  std::uint64_t waiting_ = 0;  // parameters
  Node reduced_;
};

// Stochastic gradient descent with momentum: 4 FLOPs a parameter; gradient, momentum and fp32
// weight read, the latter two and the weight in `element_bytes` written.
OperationCost sgd_cost(std::uint64_t parameters, std::uint64_t element_bytes);

// Of all devices together.
struct NetworkTraining {
  std::int64_t samples = 0;    // a step
  double model_flops = 0;      // a step
  std::uint64_t parameters = 0;
  std::int64_t steps = 1;
};
// The validated graph of what was added, a training.
WorkloadGraph finish_training(WorkloadBuilder& workload, const NetworkTraining& training);

}  // namespace exawarp::model
