// The program of one pipeline stage; see transformer_stage.h. What a layer does is in
// transformer_layer.cc, what happens to parameters and gradients in transformer_state.cc.
#include "model/generate/transformer_stage.h"

#include <algorithm>
#include <array>

#include "core/check.h"

namespace exawarp::model {
namespace {

// Of a chunk that shares its stages with another one whose messages come and go the other way, each
// has streams of its own: neither waits behind the other.
StreamRole stream_of(bool is_send, bool is_forward, bool is_far) {
  if (is_far) {
    return is_send ? (is_forward ? kSendForwardFar : kSendGradientFar)
                   : (is_forward ? kReceiveForwardFar : kReceiveGradientFar);
  }
  return is_send ? (is_forward ? kSendForward : kSendGradient)
                 : (is_forward ? kReceiveForward : kReceiveGradient);
}

}  // namespace

StageWriter::StageWriter(const TransformerPlan& plan, const TransformerCosts& costs,
                         std::uint32_t stage, WorkloadBuilder& workload, ProgramBuilder& program)
    : plan_(plan),
      costs_(costs),
      stage_(stage),
      slots_(slots_of(plan.spec.schedule.kind, plan.shape, stage)),
      out_(workload, program),
      layers_(plan, out_),
      state_(plan, costs, stage, slots_, out_),
      memory_(plan, costs, stage, state_),
      losses_(plan.shape.micro_batches) {}

void StageWriter::write() {
  const HostSpec& host = plan_.spec.host;
  out_.launch(host.launch, static_cast<std::uint64_t>(host.pending));
  state_.begin_program();
  for (std::int64_t i = 0; i < plan_.spec.steps; ++i) step(i);
  out_.program().set_memory(memory_.take());
}

ProgramMemory StageWriter::memory() {
  std::uint32_t passes = 0;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    const Slot* const beside = slot.with_next ? &slots_[++i] : nullptr;
    memory_.begin(slot, beside, passes++);
    memory_.end(slot, beside, passes);
  }
  return memory_.take();
}

void StageWriter::step(std::int64_t index) {
  out_.context() = {.data_type = plan_.spec.precision};
  state_.begin_step(index);
  reads_.assign(plan_.shape.micro_batches, {});
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    const Slot* const beside = slot.with_next ? &slots_[++i] : nullptr;
    if (index == 0) memory_.begin(slot, beside, out_.node_count());
    overlapped_ = beside != nullptr;
    if (overlapped_) {
      out_.together([&] { pass(slot); }, [&] { pass(*beside); });
    } else {
      pass(slot);
    }
    if (index == 0) memory_.end(slot, beside, out_.node_count());
  }
  state_.backward_over();
  state_.finish_step();
}

// ---- passes

void StageWriter::pass(const Slot& slot) {
  const std::uint32_t count = plan_.micro_batches_of_chunk();
  out_.context().micro_batch = static_cast<std::uint16_t>(slot.micro_batch);
  first_micro_batch_ = slot.micro_batch % count == 0;
  last_micro_batch_ = (slot.micro_batch + 1) % count == 0;
  switch (slot.pass) {
    case Pass::forward:
      return forward(slot);
    case Pass::backward:
    case Pass::input_gradient:
      return backward(slot);
    case Pass::weight_gradient:
      return weights(slot);
  }
}

void StageWriter::forward(const Slot& slot) {
  out_.context().phase = phase_of(schema::Phase::FORWARD);
  Node input;
  if (!is_first(slot.chunk)) input = receive(true, slot.chunk);
  if (is_first(slot.chunk)) read_data(slot);
  out_.marker("forward", {input});
  if (first_micro_batch_) state_.use_chunk(slot.chunk);
  if (is_first(slot.chunk)) input = forward_embedding(kEmbeddingUnit);
  const std::uint32_t chunk = model_chunk(slot.chunk);
  EXAWARP_CHECK(chunk < plan_.chunk_layers.size(), chunk, plan_.chunk_layers.size());
  for (std::uint32_t i = 0; i < plan_.chunk_layers[chunk]; ++i) {
    const std::uint32_t layer = plan_.first_layer[chunk] + i;
    if (costs_.decoder_embedding && layer == plan_.decoder_begin) {
      out_.wait_for(input);
      input = forward_embedding(kDecoderEmbeddingUnit);
    }
    state_.use(layer);
    out_.context().layer = static_cast<std::uint16_t>(layer);
    if (first_micro_batch_ && costs_.layer(layer).weight_cast) {
      out_.compute(*costs_.layer(layer).weight_cast);
    }
    input = layers_.forward(costs_.layer(layer), input);
    out_.context().layer = kNoLayer;
  }
  if (is_last(slot.chunk)) {
    forward_head(input, slot.micro_batch);
  } else {
    send(true, slot.chunk, input);
  }
}

// The first micro-batch waits for its data; the next one's is read meanwhile.
void StageWriter::read_data(const Slot& slot) {
  const std::int64_t each = plan_.spec.storage.bytes_per_sequence;
  if (each == 0) return;
  const auto bytes = divide_up(static_cast<std::uint64_t>(each * plan_.spec.micro_batch_sequences),
                               plan_.context());
  const std::uint32_t count = plan_.micro_batches_of_chunk();
  const std::uint32_t end = std::min(slot.micro_batch + 2, (slot.micro_batch / count + 1) * count);
  for (std::uint32_t i = slot.micro_batch; i < end; ++i) {
    if (!reads_[i]) reads_[i] = out_.storage("data.read", bytes, 0, {out_.last_compute()});
  }
  out_.wait_for(reads_[slot.micro_batch]);
}

void StageWriter::backward(const Slot& slot) {
  const bool with_weights = slot.pass == Pass::backward;
  EXAWARP_CHECK(slot.micro_batch < losses_.size(), slot.micro_batch, losses_.size());
  out_.context().phase = phase_of(schema::Phase::BACKWARD);
  Node gradient = is_last(slot.chunk) ? losses_[slot.micro_batch] : receive(false, slot.chunk);
  out_.marker(with_weights ? "backward" : "backward.input", {gradient});
  if (is_last(slot.chunk)) {
    gradient = backward_head(slot.micro_batch, with_weights);
    if (with_weights) finished(kHeadUnit);
  }
  const std::uint32_t chunk = model_chunk(slot.chunk);
  for (std::uint32_t i = plan_.chunk_layers[chunk]; i-- > 0;) {
    const std::uint32_t layer = plan_.first_layer[chunk] + i;
    state_.use(layer);
    out_.context().layer = static_cast<std::uint16_t>(layer);
    if (recomputes_layer(plan_.spec, i)) {
      out_.context().phase = schema::Phase::RECOMPUTE;
      layers_.forward(costs_.layer(layer), {});
      out_.context().phase = phase_of(schema::Phase::BACKWARD);
      if (state_.regathers(i)) state_.use(layer);
    }
    gradient = layers_.backward(costs_.layer(layer), gradient, with_weights);
    if (costs_.decoder_embedding && layer == plan_.decoder_begin) {
      out_.context().layer = kNoLayer;
      backward_embedding(kDecoderEmbeddingUnit, gradient);
    }
    if (with_weights) finished(layer);
  }
  out_.context().layer = kNoLayer;
  if (is_first(slot.chunk)) {
    backward_embedding(kEmbeddingUnit, gradient);
  } else {
    send(false, slot.chunk, gradient);
  }
}

void StageWriter::weights(const Slot& slot) {
  out_.context().phase = schema::Phase::WEIGHTS;
  out_.marker("backward.weights", {});
  if (is_last(slot.chunk)) {
    if (costs_.is_vision) {
      out_.compute(costs_.head.weight_gradient);
    } else {
      for (std::int64_t i = 0; i <= plan_.spec.model.predictions; ++i) {
        layers_.column_weights({costs_.head}, costs_.shard_bytes);
        if (i > 0) out_.compute(costs_.prediction->weight_gradient);
      }
    }
    finished(kHeadUnit);
  }
  const std::uint32_t chunk = model_chunk(slot.chunk);
  for (std::uint32_t i = plan_.chunk_layers[chunk]; i-- > 0;) {
    const std::uint32_t layer = plan_.first_layer[chunk] + i;
    out_.context().layer = static_cast<std::uint16_t>(layer);
    layers_.weights(costs_.layer(layer));
    finished(layer);
  }
  out_.context().layer = kNoLayer;
}

void StageWriter::finished(std::uint32_t unit) {
  state_.accumulate(unit, first_micro_batch_);
  state_.finished(unit, last_micro_batch_);
}

// ---- embedding, head, loss

StageWriter::Node StageWriter::forward_embedding(std::uint32_t unit) {
  state_.use(unit);
  if (costs_.is_vision) return out_.compute(costs_.embedding.forward);
  if (unit == kDecoderEmbeddingUnit) {
    return layers_.reduce(out_.compute(costs_.decoder_embedding->forward), costs_.whole_bytes);
  }
  const bool encodes = costs_.decoder_embedding.has_value();
  return layers_.reduce(out_.compute(costs_.embedding.forward),
                        encodes ? costs_.encoder_whole_bytes : costs_.whole_bytes);
}

void StageWriter::backward_embedding(std::uint32_t unit, Node gradient) {
  if (costs_.is_vision) {
    out_.compute(costs_.embedding.backward, {gradient});
  } else if (unit == kDecoderEmbeddingUnit) {
    out_.compute(costs_.decoder_embedding->backward,
                 {layers_.gather(gradient, costs_.shard_bytes)});
  } else {
    const bool encodes = costs_.decoder_embedding.has_value();
    out_.compute(
        costs_.embedding.backward,
        {layers_.gather(gradient, encodes ? costs_.encoder_shard_bytes : costs_.shard_bytes)});
  }
  finished(unit);
}

void StageWriter::forward_head(Node input, std::uint32_t micro_batch) {
  state_.use(kHeadUnit);
  const std::uint32_t normed = out_.compute(costs_.norm.forward, {input});
  if (costs_.is_vision) {
    out_.compute(costs_.head.forward);
    losses_[micro_batch] = out_.compute(costs_.loss_sum);
    return;
  }
  layers_.column_forward({costs_.head}, costs_.shard_bytes, normed);
  forward_loss(micro_batch);
  for (std::int64_t i = 0; i < plan_.spec.model.predictions; ++i) forward_prediction(micro_batch);
}

// What came before, and the embedding of the token that follows, each behind a norm.
void StageWriter::forward_prediction(std::uint32_t micro_batch) {
  out_.compute(costs_.norm.forward, {losses_[micro_batch]});
  out_.compute(costs_.norm.forward);
  layers_.product(*costs_.prediction);
  layers_.column_forward({costs_.head}, costs_.shard_bytes, out_.compute(costs_.norm.forward));
  forward_loss(micro_batch);
}

// From one loss's gradient to that of the loss before it.
std::uint32_t StageWriter::backward_prediction(std::uint32_t gradient, bool with_weights) {
  const Node reduced =
      layers_.column_backward({costs_.head}, costs_.shard_bytes, gradient, with_weights);
  out_.compute(costs_.norm.backward, {reduced});
  layers_.product_backward(*costs_.prediction, {}, with_weights);
  out_.compute(costs_.norm.backward);
  out_.compute(costs_.norm.backward);
  return out_.compute(costs_.loss_gradient);
}

// The vocabulary is split over the tensor group: the softmax needs the group's maximum, the logit
// of the right token, and the group's sum of exponentials.
void StageWriter::forward_loss(std::uint32_t micro_batch) {
  std::uint32_t last = out_.compute(costs_.loss_maximum);
  if (plan_.tensor() > 1) {
    const auto exchange = [this](const char* what, std::uint32_t after) {
      return out_.collective({what, schema::CollectiveType::ALL_REDUCE, kTensor, plan_.mesh.tensor,
                              costs_.loss_bytes, schema::DataType::FP32},
                             {after});
    };
    const std::uint32_t maximum = exchange("loss.maximum.all_reduce", last);
    last = out_.compute(costs_.loss_sum, {maximum});
    exchange("loss.logit.all_reduce", last);
    last = exchange("loss.sum.all_reduce", last);
  } else {
    last = out_.compute(costs_.loss_sum);
  }
  losses_[micro_batch] = last;
}

StageWriter::Node StageWriter::backward_head(std::uint32_t micro_batch, bool with_weights) {
  std::uint32_t last = out_.compute(costs_.loss_gradient, {losses_[micro_batch]});
  state_.use(kHeadUnit);
  for (std::int64_t i = 0; i < plan_.spec.model.predictions; ++i) {
    last = backward_prediction(last, with_weights);
  }
  Node reduced;
  if (costs_.is_vision) {
    out_.compute(costs_.head.input_gradient);
    if (with_weights) out_.compute(costs_.head.weight_gradient);
  } else {
    reduced = layers_.column_backward({costs_.head}, costs_.shard_bytes, last, with_weights);
  }
  return out_.compute(costs_.norm.backward, {reduced});
}

// ---- between stages

StageWriter::Node StageWriter::receive(bool is_forward, std::uint32_t chunk) {
  return transfer(schema::NodeKind::RECEIVE, is_forward, chunk, {});
}

void StageWriter::send(bool is_forward, std::uint32_t chunk, Node after) {
  const std::uint32_t node = transfer(schema::NodeKind::SEND, is_forward, chunk, after);
  if (!plan_.spec.overlap.pipeline) out_.wait_for(node);
}

// What the encoder said goes with the decoder's activations to all of its stages; so do their
// gradients on the way back.
std::uint64_t StageWriter::boundary_bytes(std::uint32_t chunk) const {
  if (!costs_.decoder_embedding) return costs_.boundary_bytes;
  const bool decodes = plan_.first_layer[chunk] > plan_.decoder_begin;
  return costs_.encoder_boundary_bytes + (decodes ? costs_.boundary_bytes : 0);
}

// Activations come from the chunk of the model before this one, gradients from that after it, and
// each goes on the other way; whatever stage that is on, and an axis does not wrap around. Tags
// name the receiver's chunk and the direction.
std::uint32_t StageWriter::transfer(schema::NodeKind kind, bool is_forward, std::uint32_t chunk,
                                    Node after) {
  const bool is_send = kind == schema::NodeKind::SEND;
  const std::uint32_t here = model_chunk(chunk);
  const std::uint32_t there = is_send == is_forward ? here + 1 : here - 1;
  const std::uint32_t peer =
      neighbour_of(plan_.spec.schedule.kind, plan_.shape, stage_, chunk, there);
  NodeFields fields = out_.context();
  fields.kind = kind;
  fields.stream = out_.stream(stream_of(is_send, is_forward, plan_.both_ways() && chunk == 1));
  fields.peer_axis = plan_.mesh.pipeline_axis;
  fields.peer = static_cast<std::int32_t>(peer) - static_cast<std::int32_t>(stage_);
  fields.tag = 2 * (is_send ? plan_.chunk_at(there) : chunk) + (is_forward ? 0 : 1);
  fields.name = out_.name(is_send ? "pipeline.send" : "pipeline.receive");
  // The boundary is that before the later of the two chunks.
  fields.comm_bytes = boundary_bytes(std::max(here, there));
  return out_.add(fields, {after});
}

}  // namespace exawarp::model
