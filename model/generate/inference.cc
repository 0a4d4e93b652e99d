// Inference with a fixed batch; see inference.h. One program a pipeline stage; a pass is written by
// the same lines for prefill and decode, which differ in their tokens alone.
#include "model/generate/inference.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/time.h"
#include "model/generate/program_writer.h"
#include "model/generate/spec_range.h"
#include "model/generate/transformer.h"
#include "model/workload/builder.h"
#include "model/workload/validate.h"

namespace exawarp::model {
namespace {

using schema::CollectiveType;
using Op = schema::Operation;

constexpr std::int64_t kTokensMax = 1 << 24;
constexpr std::int64_t kBatchMax = 1 << 16;
constexpr std::int64_t kOverheadMaxPs = 3'600 * core::kPicosecondsPerSecond;
constexpr std::uint64_t kTokenBytes = 4;  // a token's number

struct InferenceSizes {
  std::uint64_t hidden, ffn, ffn_matrices, query, key, vocabulary, tensor, sequences;
  std::uint64_t element, cached_element;
};

InferenceSizes sizes_of(const InferenceSpec& spec) {
  const ModelSpec& m = spec.model;
  const std::int64_t width = head_dim_of(m);
  const schema::DataType cached =
      spec.cache_precision == schema::DataType::NONE ? spec.precision : spec.cache_precision;
  return {.hidden = unsign(m.hidden),
          .ffn = unsign(m.ffn),
          .ffn_matrices = m.gated_ffn ? 2u : 1u,
          .query = unsign(m.heads * width),
          .key = unsign(kv_heads_of(m) * width),
          .vocabulary = unsign(m.vocabulary),
          .tensor = unsign(spec.parallel.tensor),
          .sequences = unsign(spec.batch),
          .element = width_of(spec.precision),
          .cached_element = width_of(cached)};
}

// Of a layer, on one rank.
std::uint64_t layer_parameters(const InferenceSizes& s, const ModelSpec& model) {
  const std::uint64_t norms = model.blocks == BlockOrder::kParallel ? 1 : 2;
  return s.hidden * (2 * s.query + 2 * s.key + (s.ffn_matrices + 1) * s.ffn) / s.tensor +
         norms * s.hidden;
}

// New tokens of a sequence, and all of it after the pass.
struct TokenPass {
  std::uint64_t index = 0;  // 0: prefill
  std::uint64_t new_tokens = 0;
  std::uint64_t context = 0;
};

// Tokens that stay in sight of the last of `tokens` in layer `index`.
std::uint64_t in_sight(const ModelSpec& model, std::int64_t index, std::uint64_t tokens) {
  return is_windowed(model, index) ? std::min(unsign(model.window), tokens) : tokens;
}

struct StageGroups {
  std::uint16_t index = 0;
  std::uint8_t pipeline_axis = 0;
};

class InferenceStage {
 public:
  using Node = ProgramWriter::Node;

  InferenceStage(const InferenceSpec& spec, WorkloadBuilder& workload, ProgramBuilder& program,
                 StageGroups tensor, std::int64_t stage)
      : spec_(spec), s_(sizes_of(spec)), tensor_(tensor), out_(workload, program) {
    const std::int64_t stages = spec.parallel.pipeline;
    first_layer_ = spec.model.layers * stage / stages;
    layers_ = spec.model.layers * (stage + 1) / stages - first_layer_;
    is_first_ = stage == 0;
    is_last_ = stage == stages - 1;
  }

  void write() {
    out_.context() = {.phase = schema::Phase::FORWARD, .data_type = spec_.precision};
    out_.marker("step.begin", {});
    if (is_first_ && spec_.request_overhead_ps > 0) {
      NodeFields overhead = out_.context();
      overhead.kind = schema::NodeKind::COMPUTE;
      overhead.stream = out_.stream(kCompute);
      overhead.name = out_.name("request");
      overhead.duration_ps = unsign(spec_.request_overhead_ps);
      out_.add(overhead, {});
    }
    const std::uint64_t prompt = unsign(spec_.input_tokens);
    pass({.index = 0, .new_tokens = prompt, .context = prompt});
    for (std::uint64_t i = 1; i < unsign(spec_.output_tokens); ++i) {
      pass({.index = i, .new_tokens = 1, .context = prompt + i});
    }
    out_.context() = {};
    out_.marker("step.end", {});
    count();
  }

  // Of this rank, all passes.
  [[nodiscard]] double flops() const { return flops_; }

 private:
  void pass(const TokenPass& p) {
    out_.context().micro_batch = static_cast<std::uint16_t>(p.index);
    Node input;
    const std::uint64_t tokens = s_.sequences * p.new_tokens;
    const std::uint64_t width = s_.element * tokens * s_.hidden;
    if (is_first_) {
      if (p.index != 0 && !is_last_) input = receive("tokens.receive", stages() - 1, token_bytes());
      out_.compute({Op::EMBEDDING, "embedding", 0, width, width}, {input});
    } else {
      input = receive("pipeline.receive", -1, width);
      out_.wait_for(input);
    }
    for (std::int64_t l = 0; l < layers_; ++l) {
      out_.context().layer = static_cast<std::uint16_t>(first_layer_ + l);
      layer(p, tokens, first_layer_ + l);
    }
    out_.context().layer = kNoLayer;
    if (!is_last_) return send("pipeline.send", 1, width);
    head();
    const bool more = p.index + 1 < unsign(spec_.output_tokens);
    if (more && !is_first_) send("tokens.send", 1 - stages(), token_bytes());
  }

  // Blocks side by side are summed before they are reduced (transformer_parallel_blocks.cc).
  void layer(const TokenPass& p, std::uint64_t tokens, std::int64_t index) {
    const std::uint64_t t = s_.tensor;
    const BlockOrder order = spec_.model.blocks;
    norm(tokens);
    gemm("qkv", tokens, s_.hidden, (s_.query + 2 * s_.key) / t);
    const std::uint64_t turned = s_.element * tokens * (s_.query + 2 * s_.key) / t;
    out_.compute(
        {Op::ELEMENTWISE, "rotary", 0, turned,
         s_.element * tokens * s_.query / t + s_.cached_element * tokens * 2 * s_.key / t});
    attention(p, tokens, in_sight(spec_.model, index, p.context));
    gemm("projection", tokens, s_.query / t, s_.hidden);
    if (order == BlockOrder::kSequential) join(tokens);
    if (order != BlockOrder::kParallel) norm(tokens);
    gemm("ffn_in", tokens, s_.hidden, s_.ffn_matrices * s_.ffn / t);
    const std::uint64_t active = s_.element * tokens * s_.ffn / t;
    out_.compute(
        {Op::ELEMENTWISE, "activation", 5 * tokens * s_.ffn / t, s_.ffn_matrices * active, active});
    gemm("ffn_out", tokens, s_.ffn / t, s_.hidden);
    if (order != BlockOrder::kSequential) {
      const std::uint64_t width = s_.element * tokens * s_.hidden;
      out_.compute({Op::ELEMENTWISE, "blocks.sum", tokens * s_.hidden, 2 * width, width});
    }
    join(tokens);
  }

  void attention(const TokenPass& p, std::uint64_t tokens, std::uint64_t sight) {
    const std::uint64_t seen = p.index == 0 ? twice_attended(p.new_tokens, sight) : 2 * sight;
    const std::uint64_t flops = 2 * s_.sequences * seen * s_.query / s_.tensor;
    const std::uint64_t out = s_.element * tokens * s_.query / s_.tensor;
    const std::uint64_t read = p.index == 0 ? p.context : sight;
    const std::uint64_t cached = s_.cached_element * s_.sequences * read * 2 * s_.key / s_.tensor;
    flops_ += static_cast<double>(flops);
    out_.compute({Op::ATTENTION, "attention", flops, out + cached, out});
  }

  // The tensor group's partial sums, and the residual stream.
  void join(std::uint64_t tokens) {
    const std::uint64_t width = s_.element * tokens * s_.hidden;
    Node reduced = out_.last_compute();
    if (s_.tensor > 1) {
      reduced = out_.collective({"all_reduce", CollectiveType::ALL_REDUCE, kTensor, tensor_.index,
                                 width, spec_.precision},
                                {reduced});
    }
    out_.compute({Op::ELEMENTWISE, "residual", tokens * s_.hidden, 2 * width, width}, {reduced});
  }

  // Of the last token of each sequence.
  void head() {
    norm(s_.sequences);
    const std::uint64_t share = s_.vocabulary / s_.tensor;
    gemm("head", s_.sequences, s_.hidden, share);
    Node logits = out_.last_compute();
    if (s_.tensor > 1) {
      logits = out_.collective({"logits", CollectiveType::ALL_GATHER, kTensor, tensor_.index,
                                s_.element * s_.sequences * share, spec_.precision},
                               {logits});
    }
    const std::uint64_t all = s_.sequences * s_.vocabulary;
    out_.compute({Op::SOFTMAX, "sample", all, s_.element * all, token_bytes()}, {logits});
  }

  void norm(std::uint64_t tokens) {
    const std::uint64_t width = s_.element * tokens * s_.hidden;
    out_.compute({Op::NORM, "norm", 5 * tokens * s_.hidden, width, width});
  }

  void gemm(const char* name, std::uint64_t m, std::uint64_t k, std::uint64_t n) {
    flops_ += 2.0 * static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n);
    out_.compute({Op::GEMM, name, 2 * m * k * n, s_.element * (m * k + k * n), s_.element * m * n});
  }

  [[nodiscard]] std::int64_t stages() const { return spec_.parallel.pipeline; }
  [[nodiscard]] std::uint64_t token_bytes() const { return kTokenBytes * s_.sequences; }

  Node receive(const char* name, std::int64_t peer, std::uint64_t bytes) {
    return transfer(schema::NodeKind::RECEIVE, kReceiveForward, name, peer, bytes, {});
  }
  void send(const char* name, std::int64_t peer, std::uint64_t bytes) {
    transfer(schema::NodeKind::SEND, kSendForward, name, peer, bytes, out_.last_compute());
  }
  Node transfer(schema::NodeKind kind, StreamRole role, const char* name, std::int64_t peer,
                std::uint64_t bytes, Node after) {
    NodeFields fields = out_.context();
    fields.kind = kind;
    fields.stream = out_.stream(role);
    fields.peer_axis = tensor_.pipeline_axis;
    fields.peer = static_cast<std::int32_t>(peer);
    fields.name = out_.name(name);
    fields.comm_bytes = bytes;
    return out_.add(fields, {after});
  }

  void count() {
    const std::uint64_t edges = (is_first_ ? 1u : 0u) + (is_last_ ? 1u : 0u);
    const std::uint64_t tables = spec_.model.tied_embeddings && edges == 2 ? 1 : edges;
    const std::uint64_t parameters = unsign(layers_) * layer_parameters(s_, spec_.model) +
                                     tables * s_.vocabulary * s_.hidden / s_.tensor +
                                     (is_last_ ? s_.hidden : 0);
    out_.program().set_parameter_count(parameters);
    const std::uint64_t tokens = unsign(spec_.input_tokens + spec_.output_tokens - 1);
    std::uint64_t kept = 0;  // tokens, in all layers: of a window's nothing beyond it
    for (std::int64_t l = 0; l < layers_; ++l) {
      kept += in_sight(spec_.model, first_layer_ + l, tokens);
    }
    const std::uint64_t cache = s_.cached_element * s_.sequences * kept * 2 * s_.key / s_.tensor;
    const std::uint64_t widest =
        2 * s_.hidden + (s_.ffn_matrices + 1) * s_.ffn / s_.tensor;  // alive at once, a token
    const std::uint64_t prompt = s_.sequences * unsign(spec_.input_tokens);
    out_.program().set_memory(
        {.weights = s_.element * parameters,
         .timeline = {{0, cache + s_.element * prompt * widest}}});
  }

  const InferenceSpec& spec_;
  InferenceSizes s_;
  StageGroups tensor_;
  ProgramWriter out_;
  std::int64_t first_layer_ = 0, layers_ = 0;
  bool is_first_ = false, is_last_ = false;
  double flops_ = 0;
};

// The model and its split, as the generator of trainings checks them.
void check_model(const InferenceSpec& spec) {
  if (spec.model.family != ModelFamily::kDecoder) {
    throw SpecProblem("model.family", "of another kind; expected decoder");
  }
  if (spec.model.moe.experts != 0) throw SpecProblem("model.moe", "has experts; expected none");
  if (spec.model.mla.key_value_rank != 0) {
    throw SpecProblem("model.mla", "has latent attention; expected none");
  }
  if (!spec.model.pattern.empty()) throw SpecProblem("model.pattern", "is given; expected none");
  if (spec.model.predictions != 0) throw SpecProblem("model.predictions", "above 0; expected 0");
  check(spec.model, {.tensor = spec.parallel.tensor,
                     .pipeline = spec.parallel.pipeline,
                     .data = spec.parallel.data,
                     .sequence_parallel = false});
}

}  // namespace

void check(const InferenceSpec& spec) {
  check_model(spec);
  in_range("batch", spec.batch, 1, kBatchMax);
  in_range("input_tokens", spec.input_tokens, 1, kTokensMax);
  in_range("output_tokens", spec.output_tokens, 1, kOutputTokensMax);
  in_range("request_overhead", spec.request_overhead_ps, 0, kOverheadMaxPs);
  check_stored("precision", spec.precision);
  if (spec.cache_precision != schema::DataType::NONE) {
    check_stored("cache_precision", spec.cache_precision);
  }
  constexpr double kBytesMax = 0x1p62;  // of an operation, and FLOPs
  const double tokens = static_cast<double>(spec.batch) * static_cast<double>(spec.input_tokens);
  const double widest = static_cast<double>(std::max(spec.model.ffn, spec.model.vocabulary)) * 2;
  if (8 * tokens * (static_cast<double>(spec.input_tokens + spec.output_tokens) + widest) *
          static_cast<double>(spec.model.hidden) >=
      kBytesMax) {
    throw SpecProblem("input_tokens", "an operation has 2^62 FLOPs or more; expected fewer");
  }
}

WorkloadGraph generate_inference(const InferenceSpec& spec, std::uint64_t bytes_max) {
  check(spec);
  const InferenceParallel& split = spec.parallel;
  WorkloadBuilder workload(spec.name.empty() ? spec.model.name + " inference" : spec.name,
                           bytes_max);
  const std::uint8_t tensor = workload.add_axis("tensor", static_cast<std::uint32_t>(split.tensor));
  const std::uint8_t data = workload.add_axis("data", static_cast<std::uint32_t>(split.data));
  static_cast<void>(data);  // copies have nothing to say to one another
  const std::uint8_t pipeline =
      workload.add_axis("pipeline", static_cast<std::uint32_t>(split.pipeline));
  const StageGroups groups{.index = workload.add_group("tensor", {tensor}),
                           .pipeline_axis = pipeline};
  double flops = 0;
  for (std::int64_t stage = 0; stage < split.pipeline; ++stage) {
    ProgramBuilder& program = workload.add_program(fmt::format("stage {}", stage));
    workload.bind_range(program.index(),
                        {.axis = pipeline, .first = static_cast<std::uint32_t>(stage), .count = 1});
    InferenceStage writer(spec, workload, program, groups, stage);
    writer.write();
    flops += writer.flops();
  }
  const std::int64_t sequences = spec.batch * split.data;
  workload.set_training({.tokens_per_step = unsign(sequences * spec.output_tokens),
                         .model_flops_per_step = flops * static_cast<double>(split.tensor) *
                                                 static_cast<double>(split.data),
                         .parameters = parameter_count(spec.model),
                         .sequences_per_step = unsign(sequences),
                         .micro_batches = 1,
                         .steps = 1});
  WorkloadGraph graph = workload.build();
  validate(graph);
  return graph;
}

}  // namespace exawarp::model
