// The program of one pipeline stage; see transformer_stage.h.
//
// A layer and micro-batch, with sequence parallelism (a star: on the tensor stream):
//   forward   norm  *AG  qkv  rotary  attention  projection  *RS  residual
//             norm  *AG  ffn_in  activation  ffn_out  *RS  residual
//   backward  *AG(dY)  ffn_out.dx  ffn_out.dw  activation  *AG(x)  ffn_in.dx  *RS(dX)  ffn_in.dw
//             norm  residual
//             *AG(dY)  projection.dx  projection.dw  attention  rotary  *AG(x)  qkv.dx  *RS(dX)
//             qkv.dw  norm  residual
// Six all-gathers of a shard and four reduce-scatters of the whole. AG(x) starts when its product's
// backward starts and runs beside dX; RS(dX) runs beside dW: as Megatron-LM does it. Without
// sequence parallelism four all-reduces of the whole stand in for all ten: after projection and
// ffn_out forward, and of dX backward.
#include "model/workload/transformer_stage.h"

#include <algorithm>

namespace exawarp::model {
namespace {

constexpr std::uint64_t kAdamFlops = 10;       // a parameter; at least 10 (docs/model.md)
constexpr std::uint64_t kAdamStateBytes = 12;  // fp32 master weight and two moments, a parameter
constexpr std::uint64_t kNormBytes = 4;        // the gradient norm: one fp32 scalar

constexpr std::array<std::pair<const char*, schema::StreamKind>, 9> kStreams{{
    {"compute", schema::StreamKind::COMPUTE},
    {"tensor", schema::StreamKind::COMMUNICATION},
    {"data", schema::StreamKind::COMMUNICATION},
    {"pipeline", schema::StreamKind::COMMUNICATION},
    {"embedding", schema::StreamKind::COMMUNICATION},
    {"receive forward", schema::StreamKind::COMMUNICATION},
    {"send forward", schema::StreamKind::COMMUNICATION},
    {"receive gradient", schema::StreamKind::COMMUNICATION},
    {"send gradient", schema::StreamKind::COMMUNICATION},
}};

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

}  // namespace

StageWriter::StageWriter(const TransformerPlan& plan, std::uint32_t stage,
                         WorkloadBuilder& workload, ProgramBuilder& program)
    : plan_(plan),
      costs_(plan.costs),
      stage_(stage),
      workload_(workload),
      program_(program),
      slots_(schedule_1f1b(plan.shape, stage)),
      losses_(plan.shape.micro_batches) {
  static_assert(kStreams.size() == kStreamRoles);
  std::uint32_t layer = 0;
  for (const std::uint32_t layers : plan.chunk_layers) {
    first_layer_.push_back(layer);
    layer += layers;
  }
  // Streams of collectives come first, in one order, so that every stage numbers them alike:
  // members of a group run its collectives on the same stream (device/supported.h).
  stream(kCompute);
  if (plan.spec.parallel.tensor > 1) stream(kTensor);
  if (plan.spec.parallel.data > 1) stream(kData);
  if (plan.spec.parallel.pipeline > 1) stream(kPipeline);
  if (ties_embeddings_across_stages()) stream(kEmbedding);
  plan_buckets();
}

void StageWriter::write() {
  for (std::int64_t i = 0; i < plan_.spec.steps; ++i) step();
}

void StageWriter::step() {
  context_ = {.data_type = plan_.spec.precision};
  layers_finished_ = 0;
  buckets_reduced_ = 0;
  last_reduced_.reset();
  marker("step.begin", {step_end_});
  for (const Slot& slot : slots_) {
    context_.micro_batch = static_cast<std::uint16_t>(slot.micro_batch);
    if (slot.is_forward) {
      forward(slot);
    } else {
      backward(slot);
    }
  }
  finish_step();
}

void StageWriter::forward(const Slot& slot) {
  context_.phase = schema::Phase::FORWARD;
  Node input;
  if (!is_first(slot.chunk)) input = receive(true, slot.chunk);
  marker("forward", {input});
  if (is_first(slot.chunk)) input = forward_embedding();
  const std::uint32_t chunk = model_chunk(slot.chunk);
  for (std::uint32_t i = 0; i < plan_.chunk_layers[chunk]; ++i) {
    context_.layer = static_cast<std::uint16_t>(first_layer_[chunk] + i);
    input = forward_layer(input);
  }
  context_.layer = kNoLayer;
  if (is_last(slot.chunk)) {
    forward_head(input, slot.micro_batch);
  } else {
    send(true, slot.chunk, input);
  }
}

void StageWriter::backward(const Slot& slot) {
  context_.phase = schema::Phase::BACKWARD;
  last_micro_batch_ = slot.micro_batch + 1 == plan_.shape.micro_batches;
  Node gradient = is_last(slot.chunk) ? losses_[slot.micro_batch] : receive(false, slot.chunk);
  marker("backward", {gradient});
  if (is_last(slot.chunk)) gradient = backward_head(slot.micro_batch);
  const std::uint32_t chunk = model_chunk(slot.chunk);
  for (std::uint32_t i = plan_.chunk_layers[chunk]; i-- > 0;) {
    context_.layer = static_cast<std::uint16_t>(first_layer_[chunk] + i);
    gradient = backward_layer(gradient);
    if (last_micro_batch_) layer_finished();
  }
  context_.layer = kNoLayer;
  if (is_first(slot.chunk)) {
    backward_embedding(gradient);
  } else {
    send(false, slot.chunk, gradient);
  }
  // The first stage's last bucket holds the embedding, too.
  if (last_micro_batch_ && is_first(slot.chunk)) reduce_bucket();
}

StageWriter::Node StageWriter::forward_layer(Node input) {
  std::uint32_t last = compute(costs_.norm.forward, {input});
  compute(costs_.qkv.forward, {gather(last)});
  compute(costs_.rotary.forward);
  compute(costs_.attention.forward);
  last = compute(costs_.projection.forward);
  compute(costs_.residual.forward, {reduce(last)});
  last = compute(costs_.norm.forward);
  compute(costs_.ffn_in.forward, {gather(last)});
  compute(costs_.activation.forward);
  last = compute(costs_.ffn_out.forward);
  return compute(costs_.residual.forward, {reduce(last)});
}

StageWriter::Node StageWriter::backward_layer(Node gradient) {
  backward_row(costs_.ffn_out, gradient);
  std::uint32_t last = compute(costs_.activation.backward);
  Node reduced = backward_column(costs_.ffn_in, last);
  compute(costs_.norm.backward, {reduced});
  last = compute(costs_.residual.backward);
  backward_row(costs_.projection, last);
  compute(costs_.attention.backward);
  last = compute(costs_.rotary.backward);
  reduced = backward_column(costs_.qkv, last);
  compute(costs_.norm.backward, {reduced});
  return compute(costs_.residual.backward);
}

void StageWriter::backward_row(const GemmCosts& gemm, Node gradient) {
  compute(gemm.input_gradient, {gather(gradient)});
  compute(gemm.weight_gradient);
}

StageWriter::Node StageWriter::backward_column(const GemmCosts& gemm, std::uint32_t produced_by) {
  const Node gathered = gather(produced_by);
  const std::uint32_t input_gradient = compute(gemm.input_gradient);
  const Node reduced = reduce(input_gradient);
  compute(gemm.weight_gradient, {gathered});
  return reduced;
}

StageWriter::Node StageWriter::forward_embedding() {
  return reduce(compute(costs_.embedding.forward));
}

void StageWriter::backward_embedding(Node gradient) {
  compute(costs_.embedding.backward, {gather(gradient)});
}

// The vocabulary is split over the tensor group: the softmax needs the group's maximum, the logit
// of the right token, and the group's sum of exponentials.
void StageWriter::forward_head(Node input, std::uint32_t micro_batch) {
  const std::uint32_t normed = compute(costs_.norm.forward, {input});
  compute(costs_.head.forward, {gather(normed)});
  std::uint32_t last = compute(costs_.loss_maximum);
  if (plan_.tensor > 1) {
    const auto exchange = [this](const char* what, std::uint32_t after) {
      return collective({what, schema::CollectiveType::ALL_REDUCE, kTensor, plan_.tensor_group,
                         costs_.loss_bytes, schema::DataType::FP32},
                        {after});
    };
    const std::uint32_t maximum = exchange("loss.maximum.all_reduce", last);
    last = compute(costs_.loss_sum, {maximum});
    exchange("loss.logit.all_reduce", last);
    last = exchange("loss.sum.all_reduce", last);
  } else {
    last = compute(costs_.loss_sum);
  }
  losses_[micro_batch] = last;
}

StageWriter::Node StageWriter::backward_head(std::uint32_t micro_batch) {
  const std::uint32_t last = compute(costs_.loss_gradient, {losses_[micro_batch]});
  const Node reduced = backward_column(costs_.head, last);
  return compute(costs_.norm.backward, {reduced});
}

// Buckets hold this stage's layers in the order in which their backward ends; the head goes with
// the first, the embedding with the last.
void StageWriter::plan_buckets() {
  std::uint32_t layers = 0;
  std::uint64_t edges_first = 0;
  std::uint64_t edges_last = 0;
  const bool shares_embedding = plan_.spec.model.tied_embeddings && plan_.shape.stages == 1;
  for (std::uint32_t chunk = 0; chunk < plan_.shape.chunks; ++chunk) {
    layers += plan_.chunk_layers[model_chunk(chunk)];
    if (is_first(chunk)) edges_last += costs_.embedding_parameters;
    if (!is_last(chunk)) continue;
    edges_first += costs_.final_norm_parameters;
    if (!shares_embedding) edges_first += costs_.embedding_parameters;
  }
  const auto count =
      static_cast<std::uint32_t>(std::min<std::int64_t>(plan_.spec.gradient_buckets, layers));
  std::uint32_t begin = 0;
  std::uint64_t total = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto end = static_cast<std::uint32_t>(std::uint64_t{layers} * (i + 1) / count);
    Bucket bucket{end, (end - begin) * costs_.layer_parameters};
    if (i == 0) bucket.parameters += edges_first;
    if (i + 1 == count) bucket.parameters += edges_last;
    buckets_.push_back(bucket);
    total += bucket.parameters;
    begin = end;
  }
  program_.set_parameter_count(total);
}

void StageWriter::layer_finished() {
  ++layers_finished_;
  const bool is_stage_last = buckets_reduced_ + 1 == buckets_.size();
  if (is_stage_last && is_first(0)) return;  // backward() does it, after the embedding
  if (layers_finished_ == buckets_[buckets_reduced_].layers_end) reduce_bucket();
}

// Reduce-scatter: after it each data-parallel rank holds the sum of its own share, padded to equal
// shares as Megatron-LM's distributed optimizer does.
void StageWriter::reduce_bucket() {
  const Bucket& bucket = buckets_[buckets_reduced_++];
  if (plan_.data == 1) return;
  const schema::DataType type = plan_.spec.gradient_precision;
  const std::uint64_t share = divide_up(bucket.parameters, plan_.data);
  const NodeFields before = context_;
  context_.layer = kNoLayer;
  last_reduced_ = collective(
      {"gradient.reduce_scatter", schema::CollectiveType::REDUCE_SCATTER, kData, plan_.data_group,
       share * plan_.data * static_cast<std::uint64_t>(bytes_of(type)), type},
      {last_compute_});
  context_ = before;
}

bool StageWriter::ties_embeddings_across_stages() const {
  return plan_.spec.model.tied_embeddings && plan_.shape.stages > 1 &&
         (stage_ == 0 || stage_ + 1 == plan_.shape.stages);
}

// One axis after the other, as a collective library's tree over the machine's levels would: a ring
// over tens of thousands of ranks takes as many steps for its one scalar.
StageWriter::Node StageWriter::sum_over_ranks(Node local) {
  struct Axis {
    std::uint32_t size;
    StreamRole stream;
    std::uint16_t group;
  };
  const std::array<Axis, 3> axes{{{plan_.tensor, kTensor, plan_.tensor_group},
                                  {plan_.shape.stages, kPipeline, plan_.pipeline_group},
                                  {plan_.data, kData, plan_.data_group}}};
  for (const Axis& axis : axes) {
    if (axis.size == 1) continue;
    local = collective({"gradient_norm.all_reduce", schema::CollectiveType::ALL_REDUCE, axis.stream,
                        axis.group, kNormBytes, schema::DataType::FP32},
                       {local});
  }
  return local;
}

// Once a step: sum of tied gradients, norm of all gradients, Adam on this rank's share, then the
// new parameters to all data-parallel ranks.
void StageWriter::finish_step() {
  context_ = {.phase = schema::Phase::OPTIMIZER, .data_type = plan_.spec.precision};
  const schema::DataType type = plan_.spec.gradient_precision;
  const auto gradient_bytes = static_cast<std::uint64_t>(bytes_of(type));
  const auto weight_bytes = static_cast<std::uint64_t>(bytes_of(plan_.spec.precision));
  std::uint64_t share = 0;
  for (const Bucket& bucket : buckets_) share += divide_up(bucket.parameters, plan_.data);
  Node ready = last_reduced_;
  if (ties_embeddings_across_stages()) {
    ready = collective({"embedding.all_reduce", schema::CollectiveType::ALL_REDUCE, kEmbedding,
                        plan_.embedding_group, costs_.embedding_parameters * gradient_bytes, type},
                       {ready, last_compute_});
  }
  Node norm = compute({schema::Operation::ELEMENTWISE, "gradient_norm", 2 * share,
                       share * gradient_bytes, kNormBytes},
                      {ready});
  norm = sum_over_ranks(norm);
  const std::uint32_t updated = compute(
      {schema::Operation::OPTIMIZER, "adam", kAdamFlops * share,
       (kAdamStateBytes + gradient_bytes) * share, (kAdamStateBytes + weight_bytes) * share},
      {norm});
  Node gathered;
  for (std::size_t i = 0; i < buckets_.size() && plan_.data > 1; ++i) {
    gathered = collective(
        {"parameter.all_gather", schema::CollectiveType::ALL_GATHER, kData, plan_.data_group,
         divide_up(buckets_[i].parameters, plan_.data) * weight_bytes, plan_.spec.precision},
        {updated});
  }
  context_ = {};
  step_end_ = marker("step.end", {gathered});
}

std::uint32_t StageWriter::compute(const OperationCost& cost, std::initializer_list<Node> after) {
  NodeFields fields = context_;
  fields.kind = schema::NodeKind::COMPUTE;
  fields.stream = stream(kCompute);
  fields.operation = cost.operation;
  fields.name = name(cost.name);
  fields.flops = cost.flops;
  fields.bytes_read = cost.bytes_read;
  fields.bytes_written = cost.bytes_written;
  const std::uint32_t node = add(fields, after);
  last_compute_ = node;
  return node;
}

std::uint32_t StageWriter::collective(const Collective& what, std::initializer_list<Node> after) {
  NodeFields fields = context_;
  fields.kind = schema::NodeKind::COLLECTIVE;
  fields.stream = stream(what.stream);
  fields.collective = what.type;
  fields.group = what.group;
  fields.name = name(what.name);
  fields.comm_bytes = what.bytes;
  fields.data_type = what.data_type;
  return add(fields, after);
}

StageWriter::Node StageWriter::gather(Node after) {
  if (plan_.tensor == 1 || !plan_.spec.parallel.sequence_parallel) return after;
  return collective({"tensor.all_gather", schema::CollectiveType::ALL_GATHER, kTensor,
                     plan_.tensor_group, costs_.shard_bytes, plan_.spec.precision},
                    {after});
}

StageWriter::Node StageWriter::reduce(Node after) {
  if (plan_.tensor == 1) return after;
  if (plan_.spec.parallel.sequence_parallel) {
    return collective({"tensor.reduce_scatter", schema::CollectiveType::REDUCE_SCATTER, kTensor,
                       plan_.tensor_group, costs_.whole_bytes, plan_.spec.precision},
                      {after});
  }
  return collective({"tensor.all_reduce", schema::CollectiveType::ALL_REDUCE, kTensor,
                     plan_.tensor_group, costs_.whole_bytes, plan_.spec.precision},
                    {after});
}

// Activations come from the stage before, or, at the first stage, from the last stage's chunk
// before; gradients the other way round. An axis does not wrap around, so the offset tells which.
StageWriter::Node StageWriter::receive(bool is_forward, std::uint32_t chunk) {
  const auto stages = static_cast<std::int32_t>(plan_.shape.stages);
  const bool at_end = is_forward ? stage_ == 0 : stage_ + 1 == plan_.shape.stages;
  const std::int32_t offset = at_end ? stages - 1 : -1;
  transfer(schema::NodeKind::RECEIVE, is_forward, chunk, is_forward ? offset : -offset, {});
  return program_.node_count() - 1;
}

void StageWriter::send(bool is_forward, std::uint32_t chunk, Node after) {
  const auto stages = static_cast<std::int32_t>(plan_.shape.stages);
  const bool at_end = is_forward ? stage_ + 1 == plan_.shape.stages : stage_ == 0;
  const std::int32_t offset = at_end ? 1 - stages : 1;
  const std::uint32_t to = is_forward ? chunk + (at_end ? 1 : 0) : chunk - (at_end ? 1 : 0);
  transfer(schema::NodeKind::SEND, is_forward, to, is_forward ? offset : -offset, after);
}

// Tags name the receiver's chunk and the direction.
void StageWriter::transfer(schema::NodeKind kind, bool is_forward, std::uint32_t chunk,
                           std::int32_t peer, Node after) {
  const bool is_send = kind == schema::NodeKind::SEND;
  NodeFields fields = context_;
  fields.kind = kind;
  fields.stream = stream(is_send ? (is_forward ? kSendForward : kSendGradient)
                                 : (is_forward ? kReceiveForward : kReceiveGradient));
  fields.peer_axis = plan_.pipeline_axis;
  fields.peer = peer;
  fields.tag = 2 * chunk + (is_forward ? 0 : 1);
  fields.name = name(is_send ? "pipeline.send" : "pipeline.receive");
  fields.comm_bytes = costs_.pipeline_bytes;
  add(fields, {after});
}

std::uint32_t StageWriter::marker(const char* text, std::initializer_list<Node> after) {
  NodeFields fields = context_;
  fields.kind = schema::NodeKind::MARKER;
  fields.data_type = schema::DataType::NONE;
  fields.stream = stream(kCompute);
  fields.name = name(text);
  return add(fields, after);
}

// Dependencies on the node's own stream are left out: its order says the same.
std::uint32_t StageWriter::add(NodeFields fields, std::initializer_list<Node> after) {
  std::array<std::uint32_t, 4> nodes{};
  std::size_t count = 0;
  for (const Node& node : after) {
    if (node && program_.stream_of(*node) != fields.stream) nodes[count++] = *node;
  }
  return program_.add_node(fields, std::span(nodes.data(), count));
}

std::uint8_t StageWriter::stream(StreamRole role) {
  std::optional<std::uint8_t>& index = streams_[role];
  if (!index) index = program_.add_stream(kStreams[role].first, kStreams[role].second);
  return *index;
}

// Names are literals, so the same name is the same pointer, or at worst is looked up again.
std::uint32_t StageWriter::name(const char* text) {
  for (const auto& [known, index] : names_) {
    if (known == text) return index;
  }
  return names_.emplace_back(text, workload_.name(text)).second;
}

}  // namespace exawarp::model
