// Parameters and gradients of one stage; see transformer_state.h.
//
// A bucket is a part of the stage's layers, in the order in which their backward passes end; the
// head goes with the first, the embedding with the last. With zero3, and where gradients are
// reduced after each micro-batch, a layer is a unit of its own.
#include "model/generate/transformer_state.h"

#include <algorithm>
#include <utility>

#include "model/generate/transformer_memory.h"
#include "model/generate/transformer_table.h"

namespace exawarp::model {
namespace {

constexpr std::uint64_t kAdamFlops = 10;  // a parameter; at least 10 (docs/guide/training.md)
constexpr std::uint64_t kSgdFlops = 4;
constexpr std::uint64_t kNormBytes = 4;    // the gradient norm: one fp32 scalar
constexpr std::uint64_t kMasterBytes = 4;  // a parameter or gradient in fp32

// Of kernels that were measured: in bf16, each time but the first. A product's gradient takes
// longer to add the fewer tokens it sums up; of a layer with experts, as many as most of it does.
Shape accumulation_shape(const TransformerSpec& spec, const ParameterCount& count, bool is_first) {
  using Kernel = schema::StreamKernel;
  const bool to_fp32 = spec.gradient_precision == schema::DataType::FP32;
  const bool to_bf16 = spec.gradient_precision == schema::DataType::BF16;
  if (is_first || reduces_each_micro_batch(spec)) return {};
  if (spec.precision != schema::DataType::BF16 || !(to_fp32 || to_bf16)) return {};
  const std::uint64_t all = count.dense + count.experts;
  if (spec.kernels.accumulation == Accumulation::kSeparate) {
    return to_fp32 ? Table::stream(Kernel::ACCUMULATE, 1, all) : Shape{};
  }
  std::int64_t summed = spec.micro_batch_sequences * tokens_of(spec) / spec.parallel.context;
  if (count.experts > count.dense) {  // tokens of an expert, were all equally busy
    const std::int64_t copies =
        spec.model.moe.top_k * spec.parallel.expert * expert_tensor_of(spec.parallel);
    summed = summed * copies / (spec.model.moe.experts * spec.parallel.tensor);
  }
  return Table::stream(to_fp32 ? Kernel::PRODUCT_ADD_FP32 : Kernel::PRODUCT_ADD_BF16,
                       wide(std::max<std::int64_t>(summed, 1)), all);
}

}  // namespace

StateWriter::StateWriter(const TransformerPlan& plan, const TransformerCosts& costs,
                         std::uint32_t stage, const std::vector<Slot>& slots, ProgramWriter& writer)
    : plan_(plan), costs_(costs), stage_(stage), out_(writer) {
  plan_buckets();
  if (gathers_units()) plan_units(slots);
}

// Streams of collectives come first, in one order, so that every stage numbers them alike: members
// of a group run its collectives on the same stream (device/supported.h).
void StateWriter::begin_program() {
  out_.stream(kCompute);
  if (plan_.tensor() > 1) out_.stream(kTensor);
  if (plan_.mesh.dense.shards > 1) out_.stream(kData);
  if (plan_.shape.stages > 1) out_.stream(kPipeline);
  if (ties_embeddings()) out_.stream(kEmbedding);
  out_.program().set_parameter_count(total_.dense + total_.experts);
}

void StateWriter::begin_step(std::int64_t step) {
  step_ = step;
  layers_finished_ = 0;
  buckets_reduced_ = 0;
  gathered_ = used_ = 0;
  reduced_ = {};
  out_.marker("step.begin", {step_end_, checkpoint_});
  checkpoint_.reset();
}

// ---- planning

ParameterCount StateWriter::parameters_of(std::uint32_t unit) const {
  switch (unit) {
    case kEmbeddingUnit:
    case kDecoderEmbeddingUnit:
      return {costs_.embedding_parameters, 0};
    case kHeadUnit:
      return {costs_.final_norm_parameters + (plan_.shares_table() ? 0 : costs_.head_parameters),
              0};
    default:
      return {costs_.layer(unit).parameters, costs_.layer(unit).expert_parameters};
  }
}

std::uint64_t StateWriter::largest_unit() const {
  std::uint64_t largest = 0;
  for (const std::uint32_t unit : uses_) {
    const ParameterCount count = parameters_of(unit);
    largest = std::max(largest, count.dense + count.experts);
  }
  return largest;
}

void StateWriter::plan_buckets() {
  std::vector<ParameterCount> layers;  // in the order in which they finish
  ParameterCount first, last;
  chunk_start_.resize(plan_.shape.chunks);
  for (std::uint32_t chunk = plan_.shape.chunks; chunk-- > 0;) {
    const std::uint32_t at = model_chunk(chunk);
    chunk_start_[chunk] = static_cast<std::uint32_t>(layers.size());
    for (std::uint32_t i = plan_.chunk_layers[at]; i-- > 0;) {
      layers.push_back(parameters_of(plan_.first_layer[at] + i));
    }
    if (at == 0) last += parameters_of(kEmbeddingUnit);
    if (plan_.starts_decoder(at) && plan_.stage_of(0) != stage_) {
      last += parameters_of(kDecoderEmbeddingUnit);
    }
    if (at + 1 == plan_.chunk_layers.size()) first += parameters_of(kHeadUnit);
  }
  std::size_t begin = 0;
  const std::vector<std::size_t> ends = bucket_ends(layers);
  for (const std::size_t end : ends) {
    Bucket bucket{.layers_end = static_cast<std::uint32_t>(end), .parameters = {}};
    if (buckets_.empty()) bucket.parameters += first;
    for (; begin < end; ++begin) bucket.parameters += layers[begin];
    if (buckets_.size() + 1 == ends.size()) bucket.parameters += last;
    total_ += bucket.parameters;
    buckets_.push_back(bucket);
  }
}

// By bucket, how many layers are over with it.
std::vector<std::size_t> StateWriter::bucket_ends(const std::vector<ParameterCount>& layers) const {
  std::vector<std::size_t> ends;
  const auto least = static_cast<std::uint64_t>(plan_.spec.gradient_bucket_parameters);
  if (least == 0 || layers.empty()) {
    const auto asked = static_cast<std::size_t>(plan_.spec.gradient_buckets);
    const std::size_t count = std::max<std::size_t>(1, std::min(asked, layers.size()));
    for (std::size_t i = 0; i < count; ++i) ends.push_back(layers.size() * (i + 1) / count);
    return ends;
  }
  std::uint64_t sum = 0;
  for (std::size_t i = 1; i <= layers.size(); ++i) {
    sum += layers[i - 1].dense + layers[i - 1].experts;
    const bool chunk_ends =
        std::find(chunk_start_.begin(), chunk_start_.end(), i) != chunk_start_.end();
    if (sum < least && !chunk_ends && i != layers.size()) continue;
    ends.push_back(i);
    sum = 0;
  }
  return ends;
}

bool StateWriter::gathers_units() const {
  return plan_.spec.parallel.sharding == Sharding::kZero3 &&
         (plan_.mesh.dense.shards > 1 || plan_.mesh.experts.shards > 1);
}

void StateWriter::plan_units(const std::vector<Slot>& slots) {
  const auto add = [this](std::uint32_t unit) {
    if (!plan_.spec.parallel.reshard_after_forward &&
        std::find(uses_.begin(), uses_.end(), unit) != uses_.end()) {
      return;
    }
    uses_.push_back(unit);
  };
  for (const Slot& slot : slots) {
    const std::uint32_t at = model_chunk(slot.chunk);
    const std::uint32_t begin = plan_.first_layer[at];
    const std::uint32_t end = begin + plan_.chunk_layers[at];
    const bool has_head = at + 1 == plan_.chunk_layers.size();
    if (slot.pass == Pass::forward) {
      if (at == 0) add(kEmbeddingUnit);
      for (std::uint32_t layer = begin; layer < end; ++layer) add(layer);
      if (has_head) add(kHeadUnit);
    } else if (slot.pass != Pass::weight_gradient) {
      if (has_head) add(kHeadUnit);
      for (std::uint32_t layer = end; layer-- > begin;) {
        add(layer);
        if (regathers(layer - begin)) add(layer);
      }
    }
  }
}

bool StateWriter::regathers(std::uint32_t in_chunk) const {
  return plan_.spec.parallel.regather_after_recompute && recomputes_layer(plan_.spec, in_chunk);
}

// ---- parameters

void StateWriter::use(std::uint32_t unit) {
  if (used_ == uses_.size() || uses_[used_] != unit) return;  // there already
  const auto ahead = static_cast<std::size_t>(plan_.spec.parallel.prefetch_layers);
  while (gathered_ < uses_.size() && gathered_ <= used_ + ahead) gather_unit(uses_[gathered_]);
  for (const Node& node : ready_[used_]) out_.wait_for(node);
  ++used_;
  if (!plan_.spec.parallel.list_copies) return;
  const std::uint64_t bytes = bytes_of_unit(unit, parameter_precision_of(plan_.spec));
  out_.compute({schema::Operation::ELEMENTWISE, "parameter.copy", 0, bytes, 2 * bytes});
}

std::uint64_t StateWriter::bytes_of_unit(std::uint32_t unit, schema::DataType type) const {
  const ParameterCount count = parameters_of(unit);
  return (count.dense + count.experts) * width_of(type);
}

void StateWriter::gather_unit(std::uint32_t unit) {
  const ParameterCount count = parameters_of(unit);
  ready_.resize(std::max(ready_.size(), gathered_ + 1));
  const NodeFields before = out_.context();
  out_.context().layer = kNoLayer;
  const auto parts = static_cast<std::uint64_t>(plan_.spec.parallel.layer_collectives);
  std::array<Node, 2>& ready = ready_[gathered_++];
  for (std::uint64_t i = 0; i < parts; ++i) {
    const ParameterCount part{divide_up(count.dense, parts), divide_up(count.experts, parts)};
    ready[0] = gather_in(plan_.mesh.dense, part.dense, false,
                         members_handled(plan_.mesh.dense, part.dense, ready[0]));
    ready[1] = gather_in(plan_.mesh.experts, part.experts, true,
                         members_handled(plan_.mesh.experts, part.experts, ready[1]));
  }
  out_.context() = before;
}

StateWriter::Node StateWriter::members_handled(const ParameterGroup& group,
                                               std::uint64_t parameters, Node before) {
  const std::int64_t each = plan_.spec.parallel.member_time.ps;
  if (each == 0 || group.shards == 1 || parameters == 0) return out_.last_compute();
  const std::uint64_t all = static_cast<std::uint64_t>(each) * group.shards;
  return out_.host_wait("host.members", all, {before});
}

StateWriter::Node StateWriter::gather_in(const ParameterGroup& group, std::uint64_t parameters,
                                         bool experts, Node after) {
  if (group.shards == 1 || parameters == 0) return {};
  const bool apart = group.gather != group.reduce;
  const StreamRole stream =
      experts ? (apart ? kExpertGather : kExpertData) : (apart ? kDataGather : kData);
  const schema::DataType type = parameter_precision_of(plan_.spec);
  return out_.collective(
      {experts ? "expert_parameter.all_gather" : "parameter.all_gather",
       schema::CollectiveType::ALL_GATHER, stream, group.gather,
       divide_up(parameters, group.shards) * width_of(type), type},
      {after});
}

void StateWriter::gather_bucket(Bucket& bucket, Node after) {
  bucket.gathered = {
      gather_in(plan_.mesh.dense, bucket.parameters.dense, false, after),
      gather_in(plan_.mesh.experts, bucket.parameters.experts, true, after)};
}

void StateWriter::use_chunk(std::uint32_t chunk) {
  if (!plan_.spec.overlap.parameters) return;
  for (const Bucket& bucket : buckets_) {  // gathers go from the last bucket to the first
    if (bucket.layers_end <= chunk_start_[chunk] && &bucket != &buckets_.back()) continue;
    for (const Node& node : bucket.gathered) out_.wait_for(node);
    return;
  }
}

// ---- gradients

// Fused: of what a product does, the traffic that its arithmetic does not hide (it comes at the end
// of each tile of the result), less that of the narrow gradient which it writes no more and which
// its time has; the first micro-batch reads nothing. Where gradients are reduced after each
// micro-batch, they are converted before, and the reduced share is added.
void StateWriter::accumulate(std::uint32_t unit, bool first_micro_batch) {
  const TransformerSpec& spec = plan_.spec;
  if (spec.kernels.accumulation == Accumulation::kNone) return;
  const std::uint64_t from = width_of(spec.precision);
  const std::uint64_t to = width_of(spec.gradient_precision);
  const ParameterCount count = parameters_of(unit);
  const std::uint64_t all = count.dense + count.experts;
  const std::uint64_t added = first_micro_batch ? 0 : to;
  std::uint64_t read = 0, written = 0;
  if (reduces_each_micro_batch(spec)) {
    const std::uint64_t share = share_of(count);
    if (from != to) read = all * from, written = all * to;
    read += share * 2 * added;
    written += share * added;
  } else if (from != to || !first_micro_batch) {
    const bool separate = spec.kernels.accumulation == Accumulation::kSeparate;
    read = all * (added + (separate ? from : 0));
    written = all * (separate ? to : to - std::min(from, to));
  }
  if (read + written == 0) return;
  const schema::Phase phase = std::exchange(out_.context().phase, schema::Phase::ACCUMULATE);
  out_.compute({.operation = schema::Operation::ELEMENTWISE,
                .name = "accumulate",
                .flops = first_micro_batch ? 0 : all,
                .bytes_read = read,
                .bytes_written = written,
                .shape = accumulation_shape(spec, count, first_micro_batch)});
  out_.context().phase = phase;
}

void StateWriter::finished(std::uint32_t unit, bool last_micro_batch) {
  if (reduces_each_micro_batch(plan_.spec)) return reduce_unit(unit, last_micro_batch);
  if (!last_micro_batch || unit >= kEmbeddingUnit) return;
  ++layers_finished_;
  if (!plan_.spec.overlap.gradients) return;
  const bool is_stage_last = buckets_reduced_ + 1 == buckets_.size();
  if (is_stage_last && model_chunk(0) == 0) return;  // waits for the embedding: backward_over()
  if (layers_finished_ == buckets_[buckets_reduced_].layers_end) reduce_bucket();
}

void StateWriter::backward_over() {
  if (reduces_each_micro_batch(plan_.spec)) return;
  while (buckets_reduced_ < buckets_.size()) reduce_bucket();
}

void StateWriter::reduce_unit(std::uint32_t unit, bool last) {
  const ParameterCount count = parameters_of(unit);
  const auto parts = static_cast<std::uint64_t>(plan_.spec.parallel.layer_collectives);
  if (plan_.spec.parallel.list_copies) {
    const std::uint64_t bytes = 2 * bytes_of_unit(unit, plan_.spec.gradient_precision);
    out_.compute({schema::Operation::ELEMENTWISE, "gradient.copy", count.dense + count.experts,
                  bytes, bytes});
  }
  for (std::uint64_t i = 0; i < parts; ++i) {
    reduce({divide_up(count.dense, parts), divide_up(count.experts, parts)},
           last && i + 1 == parts);
  }
  if (plan_.spec.overlap.gradients) return;
  for (const Node& node : reduced_) out_.wait_for(node);
}

void StateWriter::reduce_bucket() { reduce(buckets_[buckets_reduced_++].parameters, true); }

void StateWriter::reduce(const ParameterCount& what, bool last) {
  const NodeFields before = out_.context();
  out_.context().layer = kNoLayer;
  reduce_in(plan_.mesh.dense, what.dense, last, false);
  reduce_in(plan_.mesh.experts, what.experts, last, true);
  out_.context() = before;
}

// Reduce-scatter: after it each rank holds the sum of its own share, padded to equal shares as
// Megatron-LM's distributed optimizer does. Copies of a share are then summed, once a step.
void StateWriter::reduce_in(const ParameterGroup& group, std::uint64_t parameters, bool last,
                            bool experts) {
  if (group.ranks() == 1 || parameters == 0) return;
  const schema::DataType type = plan_.spec.gradient_precision;
  const std::uint64_t share = divide_up(parameters, group.shards);
  const std::size_t which = experts ? 1 : 0;
  const StreamRole stream = experts ? kExpertData : kData;
  if (group.shards > 1) {
    const bool whole = plan_.spec.parallel.sharding == Sharding::kNone;
    const char* const name =
        whole ? (experts ? "expert_gradient.all_reduce" : "gradient.all_reduce")
              : (experts ? "expert_gradient.reduce_scatter" : "gradient.reduce_scatter");
    reduced_[which] = out_.collective(
        {name, whole ? schema::CollectiveType::ALL_REDUCE : schema::CollectiveType::REDUCE_SCATTER,
         stream, group.reduce, (whole ? parameters : share * group.shards) * width_of(type), type},
        {reduces_each_micro_batch(plan_.spec) ? members_handled(group, parameters, reduced_[which])
                                              : out_.last_compute()});
  }
  if (group.replicas == 1 || !last) return;
  const Node summed = group.shards > 1 ? reduced_[which] : out_.last_compute();
  reduced_[2 + which] = out_.collective(
      {"gradient.replica.all_reduce", schema::CollectiveType::ALL_REDUCE,
       experts ? kExpertReplica : kDataReplica, group.replica, share * width_of(type), type},
      {summed});
}

// ---- the end of a step

bool StateWriter::ties_embeddings() const {
  const std::vector<std::uint32_t>& stages = plan_.embedding_stages;
  return stages.size() > 1 && std::find(stages.begin(), stages.end(), stage_) != stages.end();
}

std::uint64_t StateWriter::share_of(const ParameterCount& what) const {
  if (plan_.spec.parallel.sharding == Sharding::kNone) return what.dense + what.experts;
  return divide_up(what.dense, plan_.mesh.dense.shards) +
         divide_up(what.experts, plan_.mesh.experts.shards);
}

std::uint64_t StateWriter::share() const {
  std::uint64_t sum = 0;
  for (const Bucket& bucket : buckets_) sum += share_of(bucket.parameters);
  return sum;
}

// One axis after the other, as a collective library's tree over the machine's levels would: a ring
// over tens of thousands of ranks takes as many steps for its one scalar.
StateWriter::Node StateWriter::sum_over_ranks(Node local) {
  struct Axis {
    std::uint32_t size;
    StreamRole stream;
    std::uint16_t group;
  };
  const bool whole = plan_.spec.parallel.sharding == Sharding::kNone;
  const TransformerMesh& mesh = plan_.mesh;
  const std::array<Axis, 3> axes{{{plan_.tensor(), kTensor, mesh.tensor},
                                  {plan_.shape.stages, kPipeline, mesh.pipeline},
                                  {whole ? 1 : mesh.dense.shards, kData, mesh.dense.reduce}}};
  for (const Axis& axis : axes) {
    if (axis.size == 1) continue;
    local = out_.collective({"gradient_norm.all_reduce", schema::CollectiveType::ALL_REDUCE,
                             axis.stream, axis.group, kNormBytes, schema::DataType::FP32},
                            {local});
  }
  return local;
}

StateWriter::Node StateWriter::reduce_tied_embedding(Node ready) {
  const schema::DataType type = plan_.spec.gradient_precision;
  return out_.collective({"embedding.all_reduce", schema::CollectiveType::ALL_REDUCE, kEmbedding,
                          plan_.mesh.embedding, costs_.embedding_parameters * width_of(type), type},
                         {ready, out_.last_compute()});
}

std::uint64_t StateWriter::final_gradient_width() const {
  return unscales() ? kMasterBytes : width_of(plan_.spec.gradient_precision);
}

bool StateWriter::unscales() const {
  return plan_.spec.kernels.unscale && plan_.spec.precision == schema::DataType::FP16;
}

// Unscaling copies gradients to fp32 ones and multiplies those, looking for overflows.
StateWriter::Node StateWriter::read_gradients(Node ready) {
  const TransformerSpec& spec = plan_.spec;
  const std::uint64_t mine = share();
  if (unscales()) {
    ready = out_.compute(
        {schema::Operation::ELEMENTWISE, "gradients.unscale", 2 * mine,
         mine * (width_of(spec.gradient_precision) + kMasterBytes), mine * 2 * kMasterBytes},
        {ready});
  }
  if (!spec.optimizer.gradient_norm) return ready;
  const std::uint64_t bytes = mine * final_gradient_width();
  ready = out_.compute(
      {schema::Operation::ELEMENTWISE, "gradient_norm", 2 * mine, bytes, kNormBytes}, {ready});
  ready = sum_over_ranks(ready);
  if (!spec.kernels.clip) return ready;
  return out_.compute({schema::Operation::ELEMENTWISE, "gradients.clip", mine, bytes, bytes},
                      {ready});
}

StateWriter::Node StateWriter::update(Node ready) {
  const TransformerSpec& spec = plan_.spec;
  const std::uint64_t mine = share();
  const auto state = static_cast<std::uint64_t>(state_bytes_of(spec.optimizer));
  const std::uint64_t weight = width_of(spec.precision);
  const bool copies = spec.kernels.copies && spec.precision != schema::DataType::FP32;
  const bool adam = spec.optimizer.kind == OptimizerKind::kAdam;
  ready = out_.compute(
      {schema::Operation::OPTIMIZER, adam ? "adam" : "sgd", (adam ? kAdamFlops : kSgdFlops) * mine,
       (state + final_gradient_width()) * mine, (state + (copies ? 0 : weight)) * mine},
      {ready});
  if (!copies) return ready;
  return out_.compute(
      {schema::Operation::ELEMENTWISE, "weights.copy", 0, kMasterBytes * mine, weight * mine});
}

// Once a step: sum of tied gradients, norm of all gradients, the optimizer on this rank's share,
// then the new parameters to all data-parallel ranks.
void StateWriter::finish_step() {
  const TransformerSpec& spec = plan_.spec;
  out_.context() = {.phase = schema::Phase::OPTIMIZER, .data_type = spec.precision};
  if (plan_.both_ways() || plan_.shape.together) out_.marker("optimizer", {});
  Node ready = reduced_[0];
  if (ties_embeddings()) ready = reduce_tied_embedding(ready);
  for (std::size_t i = 1; i < reduced_.size(); ++i) out_.wait_for(reduced_[i]);
  const Node updated = update(read_gradients(ready));
  write_checkpoint(updated);
  std::array<Node, 2> gathered;
  const bool gathers =
      spec.parallel.sharding == Sharding::kZero1 || spec.parallel.sharding == Sharding::kZero2;
  for (std::size_t i = 0; gathers && i < buckets_.size(); ++i) {
    Bucket& bucket = buckets_[spec.overlap.parameters ? buckets_.size() - 1 - i : i];
    gather_bucket(bucket, updated);
    if (!spec.overlap.parameters) gathered = bucket.gathered;
  }
  out_.context() = {};
  if (spec.host_time.ps > 0) {
    out_.host_wait("host", static_cast<std::uint64_t>(spec.host_time.ps), {});
  }
  step_end_ = out_.marker("step.end", {gathered[0], gathered[1]});
  out_.host_waits_for(*step_end_);
}

// Every rank writes its share of master weights, optimizer state and weights, so that all of them
// together write each once.
void StateWriter::write_checkpoint(Node updated) {
  const StorageSpec& storage = plan_.spec.storage;
  if (storage.checkpoint_every == 0 || (step_ + 1) % storage.checkpoint_every != 0) return;
  const std::uint64_t once = divide_up(total_.dense, plan_.mesh.dense.ranks()) +
                             divide_up(total_.experts, plan_.mesh.experts.ranks());
  const std::uint64_t each = static_cast<std::uint64_t>(state_bytes_of(plan_.spec.optimizer)) +
                             width_of(plan_.spec.precision);
  const Node written = out_.storage("checkpoint.write", 0, once * each, {updated});
  if (storage.checkpoint_wait) checkpoint_ = written;
}

}  // namespace exawarp::model
