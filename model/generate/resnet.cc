// Residual convolutional networks; see resnet.h.
//
// A convolution of k x k is a product with rows = pixels of its output and inner = k k channels;
// each is followed by a batch normalisation and, but before a sum, a ReLU, taken as one operation.
// Parameters are those of products and two a channel of the normalisations: 25.6 M for ResNet-50.
#include "model/generate/resnet.h"

#include <fmt/format.h>

#include "model/generate/network_writer.h"
#include "model/generate/spec_range.h"
#include "model/workload/builder.h"
#include "model/workload/validate.h"

namespace exawarp::model {
namespace {

using Op = schema::Operation;

constexpr std::int64_t kImageMax = 4096;
constexpr std::uint32_t kBlocksMax = 100;  // a stage
constexpr std::uint64_t kExpansion = 4;    // of a block's width to its output

constexpr LayerNames kConvolution{"conv", "conv.dx", "conv.dw", "normalise", "normalise.backward"};
constexpr LayerNames kClassifier{"classify", "classify.dx", "classify.dw", "loss", "loss.gradient"};

// Layers in the order of the forward pass; `sums` marks those after which a block's input is added.
struct Network {
  std::vector<NetworkLayer> layers;
  std::vector<bool> sums;
  std::vector<OperationPair> residuals;  // by layer; empty names where none
};

class Layout {
 public:
  explicit Layout(const ResnetSpec& spec)
      : samples_(unsign(spec.global_batch / spec.devices)),
        element_(unsign(bytes_of(spec.precision))),
        edge_(unsign(spec.image)) {
    convolution(3, 64, 7, 2);
    edge_ /= 2;  // 3 x 3 pooling, of no weight
    std::uint64_t in = 64;
    for (std::size_t stage = 0; stage < spec.blocks.size(); ++stage) {
      const std::uint64_t width = std::uint64_t{64} << stage;
      for (std::uint32_t block = 0; block < spec.blocks[stage]; ++block) {
        bottleneck(in, width, block == 0 && stage > 0 ? 2 : 1);
        in = kExpansion * width;
      }
    }
    const auto classes = unsign(spec.classes);
    add(network_layer(kClassifier, Op::GEMM,
                      {.rows = samples_, .inner = in, .columns = classes, .inputs = samples_ * in},
                      element_),
        false);
  }
  [[nodiscard]] Network take() { return std::move(network_); }

 private:
  void add(NetworkLayer layer, bool sum) {
    const std::uint64_t elements = layer.outputs / 2;
    network_.layers.push_back(layer);
    network_.sums.push_back(sum);
    network_.residuals.push_back(
        {{Op::ELEMENTWISE, "residual", elements, 2 * element_ * elements, element_ * elements},
         {Op::ELEMENTWISE, "residual.backward", elements, 2 * element_ * elements,
          element_ * elements}});
  }
  void convolution(std::uint64_t in, std::uint64_t out, std::uint64_t kernel, std::uint64_t stride,
                   bool sum = false) {
    const std::uint64_t inputs = samples_ * edge_ * edge_ * in;
    edge_ /= stride;
    NetworkLayer layer = network_layer(kConvolution, Op::CONVOLUTION,
                                       {.rows = samples_ * edge_ * edge_,
                                        .inner = kernel * kernel * in,
                                        .columns = out,
                                        .inputs = inputs},
                                       element_);
    layer.parameters += 2 * out;
    add(layer, sum);
  }
  void bottleneck(std::uint64_t in, std::uint64_t width, std::uint64_t stride) {
    const std::uint64_t edge = edge_;
    if (in != kExpansion * width) {  // the block's input, brought to its output's shape
      convolution(in, kExpansion * width, 1, stride);
      edge_ = edge;
    }
    convolution(in, width, 1, 1);
    convolution(width, width, 3, stride);
    convolution(width, kExpansion * width, 1, 1, true);
  }

  std::uint64_t samples_, element_, edge_;
  Network network_;
};

std::uint64_t parameters_of(const Network& network) {
  std::uint64_t sum = 0;
  for (const NetworkLayer& layer : network.layers) sum += layer.parameters;
  return sum;
}

void write_step(ProgramWriter& out, const ResnetSpec& spec, const Network& network,
                GradientBuckets& gradients, ProgramWriter::Node& step_end) {
  const std::size_t n = network.layers.size();
  out.context() = {.phase = schema::Phase::FORWARD, .data_type = spec.precision};
  out.marker("step.begin", {step_end});
  for (std::size_t i = 0; i < n; ++i) {
    out.context().layer = static_cast<std::uint16_t>(i);
    write_forward(out, network.layers[i]);
    if (network.sums[i]) out.compute(network.residuals[i].forward);
  }
  out.context().phase = schema::Phase::BACKWARD;
  for (std::size_t i = n; i-- > 0;) {
    out.context().layer = static_cast<std::uint16_t>(i);
    if (network.sums[i]) out.compute(network.residuals[i].backward);
    write_backward(out, network.layers[i], i != 0);
    gradients.add(network.layers[i].parameters);
  }
  out.context() = {.phase = schema::Phase::OPTIMIZER, .data_type = spec.precision};
  out.compute(sgd_cost(parameters_of(network), unsign(bytes_of(spec.precision))),
              {gradients.flush()});
  out.context() = {};
  step_end = out.marker("step.end", {});
}

ProgramMemory memory_of(const ResnetSpec& spec, const Network& network) {
  const std::uint64_t parameters = parameters_of(network);
  std::uint64_t outputs = 0;
  for (const NetworkLayer& layer : network.layers) outputs += layer.outputs;
  const auto element = unsign(bytes_of(spec.precision));
  return {.weights = element * parameters,
          .gradients = kGradientBytes * parameters,
          .optimizer = 2 * kGradientBytes * parameters,
          .timeline = {{0, element * outputs}}};
}

}  // namespace

void check(const ResnetSpec& spec) {
  in_range("devices", spec.devices, 1, kDevicesMax);
  in_range("global_batch", spec.global_batch, 1, kGlobalBatchMax);
  in_range("image", spec.image, 32, kImageMax);
  in_range("classes", spec.classes, 1, 1 << 24);
  in_range("bucket_bytes", spec.bucket_bytes, 1, std::int64_t{1} << 40);
  in_range("steps", spec.steps, 1, kStepsMax);
  if (spec.image % 32 != 0) {
    throw SpecProblem("image", fmt::format("{} is no multiple of 32", spec.image));
  }
  if (spec.global_batch % spec.devices != 0) {
    throw SpecProblem("global_batch", fmt::format("{} is no multiple of devices: {}",
                                                  spec.global_batch, spec.devices));
  }
  if (spec.blocks.size() != 4) {
    throw SpecProblem("blocks", fmt::format("has {} entries; expected 4, as in [3, 4, 6, 3]",
                                            spec.blocks.size()));
  }
  for (const std::uint32_t blocks : spec.blocks) in_range("blocks", blocks, 1, kBlocksMax);
  check_stored("precision", spec.precision);
}

WorkloadGraph generate_resnet(const ResnetSpec& spec, std::uint64_t bytes_max) {
  check(spec);
  const Network network = Layout(spec).take();
  WorkloadBuilder workload(spec.name, bytes_max);
  const std::uint8_t axis = workload.add_axis("data", static_cast<std::uint32_t>(spec.devices));
  const std::uint16_t group = workload.add_group("data", {axis});
  ProgramBuilder& program = workload.add_program("device");
  workload.bind_range(
      program.index(),
      {.axis = axis, .first = 0, .count = static_cast<std::uint32_t>(spec.devices)});
  ProgramWriter out(workload, program);
  GradientBuckets gradients(out, group, static_cast<std::uint32_t>(spec.devices),
                            unsign(spec.bucket_bytes));
  ProgramWriter::Node step_end;
  for (std::int64_t i = 0; i < spec.steps; ++i) {
    write_step(out, spec, network, gradients, step_end);
  }
  const std::uint64_t parameters = parameters_of(network);
  program.set_parameter_count(parameters);
  program.set_memory(memory_of(spec, network));
  double flops = 0;
  for (const NetworkLayer& layer : network.layers) {
    flops += static_cast<double>(layer.product.forward.flops);
  }
  flops = 3 * flops - static_cast<double>(network.layers.front().product.forward.flops);
  return finish_training(workload, {.samples = spec.global_batch,
                                    .model_flops = flops * static_cast<double>(spec.devices),
                                    .parameters = parameters,
                                    .steps = spec.steps});
}

}  // namespace exawarp::model
