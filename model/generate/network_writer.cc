#include "model/generate/network_writer.h"

#include "model/workload/validate.h"

namespace exawarp::model {

NetworkLayer network_layer(const LayerNames& names, schema::Operation operation,
                           const LayerShape& s, std::uint64_t element_bytes) {
  const std::uint64_t flops = 2 * s.rows * s.inner * s.columns;
  const std::uint64_t in = element_bytes * s.inputs;
  const std::uint64_t weights = element_bytes * s.inner * s.columns;
  const std::uint64_t out = element_bytes * s.rows * s.columns;
  NetworkLayer layer;
  layer.product = {{operation, names.forward, flops, in + weights, out},
                   {operation, names.input_gradient, flops, out + weights, in},
                   {operation, names.weight_gradient, flops, in + out, weights}};
  // Of the products that a convolution is computed by. Others have none: their times are not those
  // of measured kernels.
  if (operation == schema::Operation::CONVOLUTION) {
    layer.product.forward.shape = GemmShape{.m = s.rows, .n = s.columns, .k = s.inner};
    layer.product.input_gradient.shape = GemmShape{.m = s.rows, .n = s.inner, .k = s.columns};
    layer.product.weight_gradient.shape = GemmShape{.m = s.inner, .n = s.columns, .k = s.rows};
  }
  const std::uint64_t each = 5 * s.rows * s.columns;
  layer.activation = {
      {schema::Operation::ELEMENTWISE, names.activation, each, out, out},
      {schema::Operation::ELEMENTWISE, names.activation_backward, each, 2 * out, out}};
  layer.parameters = s.inner * s.columns;
  layer.outputs = 2 * s.rows * s.columns;  // before and after what is not linear
  return layer;
}

void write_forward(ProgramWriter& out, const NetworkLayer& layer) {
  out.compute(layer.product.forward);
  out.compute(layer.activation.forward);
}

void write_backward(ProgramWriter& out, const NetworkLayer& layer, bool with_input) {
  out.compute(layer.activation.backward);
  if (with_input) out.compute(layer.product.input_gradient);
  out.compute(layer.product.weight_gradient);
}

void GradientBuckets::add(std::uint64_t parameters) {
  waiting_ += parameters;
  if (waiting_ * kGradientBytes >= bucket_bytes_) flush();
}

GradientBuckets::Node GradientBuckets::flush() {
  if (waiting_ != 0 && ranks_ > 1) {
    reduced_ = out_.collective({"gradient.all_reduce", schema::CollectiveType::ALL_REDUCE, kData,
                                group_, kGradientBytes * waiting_, schema::DataType::FP32},
                               {out_.last_compute()});
  }
  waiting_ = 0;
  return reduced_;
}

OperationCost sgd_cost(std::uint64_t parameters, std::uint64_t element_bytes) {
  return {schema::Operation::OPTIMIZER, "sgd", 4 * parameters, 3 * 4 * parameters,
          (2 * 4 + element_bytes) * parameters};
}

WorkloadGraph finish_training(WorkloadBuilder& workload, const NetworkTraining& training) {
  const auto samples = static_cast<std::uint64_t>(training.samples);
  workload.set_training({.tokens_per_step = samples,
                         .model_flops_per_step = training.model_flops,
                         .parameters = training.parameters,
                         .sequences_per_step = samples,
                         .micro_batches = 1,
                         .steps = static_cast<std::uint32_t>(training.steps)});
  WorkloadGraph graph = workload.build();
  validate(graph);
  return graph;
}

}  // namespace exawarp::model
