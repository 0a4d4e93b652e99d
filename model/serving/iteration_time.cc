// Prices of a decoder's kernels at grids of sizes; see iteration_time.h.
#include "model/serving/iteration_time.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/check.h"
#include "model/compute/compute_models.h"
#include "model/generate/layer_counts.h"
#include "model/generate/spec.h"
#include "model/generate/spec_range.h"
#include "model/generate/transformer.h"
#include "model/generate/transformer_mamba.h"

namespace exawarp::model::serving {
namespace {

using schema::DataType;
using Op = schema::Operation;

constexpr std::int64_t kTensorMax = 1024;
constexpr std::uint64_t kTokensGridMax = 1 << 15;
constexpr std::uint64_t kDecodesGridMax = 1 << 10;
constexpr std::uint64_t kContextGridMax = 1 << 17;
constexpr std::uint64_t kElement = 2;  // activations, keys and values: bf16

// 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, ...: four points an octave.
std::vector<std::uint64_t> quarter_octaves(std::uint64_t last) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t x = 1; x <= last; x += std::max<std::uint64_t>(1, std::bit_floor(x) / 4)) {
    out.push_back(x);
  }
  return out;
}

// Prices of the kernels of one device's share, in picoseconds.
class KernelPrices {
 public:
  KernelPrices(const IterationSpec& spec, const Accelerator& accelerator)
      : spec_(spec),
        m_(spec.model),
        models_(accelerator, {.fidelity = ComputeFidelity::table}),
        t_(unsign(spec.tensor)),
        group_(t_ / unsign(spec.attention_data)),
        hidden_(unsign(m_.hidden)),
        counts_(layer_counts(m_)) {}

  // All of a batch of `n` tokens but attention cores and the head, and, where groups of devices
  // have requests of their own, what is in grouped().
  [[nodiscard]] std::int64_t linear(std::uint64_t n) const {
    std::int64_t ps = m_.pattern.empty() ? whole_layers(n) : layers_of_one_block(n);
    ps += times(counts_.feed_forward, ffn(n, unsign(m_.ffn)));
    if (counts_.experts != 0) ps += times(counts_.experts, experts(n));
    return ps + element_wise(Op::EMBEDDING, n * hidden_, n * hidden_);
  }

  // All layers: what the devices of a group do apart with `n` tokens, but attention cores.
  [[nodiscard]] std::int64_t grouped(std::uint64_t n) const {
    return times(unsign(m_.layers), grouped_in_layer(n));
  }

  // The last norm, the logits of `n` sequences, gathered, and a token chosen of each.
  [[nodiscard]] std::int64_t head(std::uint64_t n) const {
    const std::uint64_t vocabulary = unsign(m_.vocabulary);
    std::int64_t ps = norm(n) + gemm(DataType::BF16, n, hidden_, vocabulary / t_) +
                      element_wise(Op::SOFTMAX, n * vocabulary, n);
    if (t_ > 1) ps += gather(kElement * n * vocabulary);
    return ps;
  }

  // `n` tokens of one prompt, alone: all layers without a window, and all with one.
  [[nodiscard]] std::int64_t prompt_core(std::uint64_t n) const {
    return times(counts_.attention - counts_.windowed, prompt_core_of_layer(n, 0));
  }
  [[nodiscard]] std::int64_t windowed_prompt_core(std::uint64_t n) const {
    return times(counts_.windowed, prompt_core_of_layer(n, unsign(m_.window)));
  }

  // `n` tokens of one prompt: convolutions and scans of state-space layers.
  [[nodiscard]] std::int64_t prompt_scan(std::uint64_t n) const {
    TransformerSpec share;
    share.model = m_;
    share.parallel.tensor = spec_.tensor;
    share.parallel.sequence_parallel = false;
    const auto tokens = static_cast<std::int64_t>(n);
    const MambaCosts layer = mamba_block(share, sizes_of(share, tokens), Table(share));
    std::int64_t ps = kernel(layer.convolution.forward);
    for (const OperationCost& cost : layer.scan) ps += kernel(cost);
    return times(counts_.mamba, ps);
  }

  // One token each of `n` sequences of `context` tokens, all layers.
  [[nodiscard]] std::int64_t decode_core(std::uint64_t n, std::uint64_t context) const {
    const std::uint64_t sight = std::min(context, unsign(m_.window));
    std::int64_t ps = times(counts_.attention - counts_.windowed, decode_core_of_layer(n, context));
    if (counts_.windowed != 0) ps += times(counts_.windowed, decode_core_of_layer(n, sight));
    if (counts_.mamba != 0) ps += times(counts_.mamba, state_updates(n));
    return ps;
  }

 private:
  // But their feed-forward blocks and experts.
  [[nodiscard]] std::int64_t whole_layers(std::uint64_t n) const {
    const bool apart = group_ != t_;
    std::int64_t ps =
        times(counts_.attention, (apart ? 0 : grouped_in_layer(n)) + all_reduce(n, t_));
    if (m_.blocks != BlockOrder::kSequential) ps += times(counts_.attention, summed_blocks(n));
    return ps;
  }
  // The same of a model by letters: each has a norm and a sum of its own.
  [[nodiscard]] std::int64_t layers_of_one_block(std::uint64_t n) const {
    std::int64_t ps = times(counts_.blocks(), norm(n) + all_reduce(n, t_));
    ps += times(counts_.attention, attention_products(n));
    return counts_.mamba == 0 ? ps : ps + times(counts_.mamba, mamba_products(n));
  }

  // Of a state-space layer all but convolution and scan.
  [[nodiscard]] std::int64_t mamba_products(std::uint64_t n) const {
    const MambaWidths widths = mamba_widths(m_.mamba, t_);
    const std::uint64_t channels = to_count(widths.channels);
    return gemm(spec_.precision, n, hidden_, to_count(widths.in())) +
           element_wise(Op::NORM, 2 * n * channels, n * channels) +
           gemm(spec_.precision, n, channels, hidden_);
  }
  // One token each of `n` sequences, of a layer: their states are read and written, of convolution
  // and scan in turn; an element of the scan's decays, takes in and gives out.
  [[nodiscard]] std::int64_t state_updates(std::uint64_t n) const {
    const MambaState state = mamba_state(m_.mamba);
    const std::uint64_t scan = n * to_count(state.scan) / t_;
    const std::uint64_t convolution = n * to_count(state.convolution) / t_;
    constexpr std::uint64_t kStateElement = 4;
    return price({.operation = Op::CONVOLUTION,
                  .data_type = DataType::BF16,
                  .flops = 2 * convolution,
                  .bytes = 2 * kElement * convolution}) +
           price({.operation = Op::SCAN,
                  .data_type = DataType::BF16,
                  .flops = 6 * scan,
                  .bytes = 2 * kStateElement * scan});
  }
  [[nodiscard]] std::int64_t kernel(const OperationCost& cost) const {
    return price({.operation = cost.operation,
                  .data_type = DataType::BF16,
                  .flops = cost.flops,
                  .bytes = cost.bytes_read + cost.bytes_written});
  }

  // `window`: tokens that a query sees at most; 0: all.
  [[nodiscard]] std::int64_t prompt_core_of_layer(std::uint64_t n, std::uint64_t window) const {
    const std::uint64_t sight = window == 0 ? n : std::min(window, n);
    AttentionShape shape{.batch = 1, .new_tokens = n, .heads = heads(), .causal = true};
    std::uint64_t width = 0;  // of a head's keys and values
    if (latent()) {
      shape.key_value_heads = heads();
      shape.head_dim = unsign(m_.mla.nope_dim + m_.mla.rope_dim);
      shape.value_dim = unsign(m_.mla.value_dim);
    } else {
      shape.key_value_heads = key_heads();
      shape.head_dim = shape.value_dim = unsign(head_dim_of(m_));
    }
    width = shape.head_dim + shape.value_dim;
    // A kernel knows one new token as a decode; a prompt of one token costs as one of two.
    shape.new_tokens = std::max<std::uint64_t>(n, 2);
    if (sight < shape.new_tokens) shape.window = window;
    const ComputeOperation operation{
        .operation = Op::ATTENTION,
        .data_type = DataType::BF16,
        .flops = twice_attended(n, sight) * heads() * width,
        .bytes = kElement * n * width * (heads() + shape.key_value_heads),
        .shape = shape};
    return price(operation);
  }

  // Keys and values of fp8 are read in the time of half as many of bf16, of which measurements are.
  [[nodiscard]] std::int64_t decode_core_of_layer(std::uint64_t n, std::uint64_t context) const {
    const std::uint64_t read =
        spec_.cache_precision == DataType::FP8 ? (context + 1) / 2 : context;
    ComputeOperation operation{.operation = Op::ATTENTION, .data_type = DataType::BF16};
    if (latent()) {
      // Each head's query against the latent and the rotary key, which all heads share.
      const std::uint64_t rank = unsign(m_.mla.key_value_rank), rope = unsign(m_.mla.rope_dim);
      operation.flops = 2 * n * context * heads() * (2 * rank + rope);
      operation.bytes = kElement * n * (read * (rank + rope) + heads() * (2 * rank + rope));
    } else {
      const std::uint64_t width = unsign(head_dim_of(m_));
      operation.flops = 4 * n * context * heads() * width;
      operation.bytes = kElement * n * 2 * width * (read * key_heads() + heads());
      operation.shape = AttentionShape{.batch = n,
                                       .new_tokens = 1,
                                       .past_tokens = read,
                                       .heads = heads(),
                                       .key_value_heads = key_heads(),
                                       .head_dim = width,
                                       .value_dim = width,
                                       .causal = true};
    }
    return price(operation);
  }

  [[nodiscard]] bool latent() const { return m_.mla.key_value_rank != 0; }
  [[nodiscard]] std::uint64_t heads() const { return unsign(m_.heads) / group_; }
  // Each device has a whole one at least, where there are fewer than devices.
  [[nodiscard]] std::uint64_t key_heads() const {
    return std::max<std::uint64_t>(1, unsign(kv_heads_of(m_)) / group_);
  }

  static std::int64_t times(std::uint64_t n, std::int64_t ps) {
    return core::time_to_end(core::WidePs{ps} * n).ps;
  }
  [[nodiscard]] std::int64_t price(const ComputeOperation& operation) const {
    return models_.price(operation).duration.ps;
  }
  // Of elements of activations that are read and written.
  [[nodiscard]] std::int64_t element_wise(Op kind, std::uint64_t read,
                                          std::uint64_t written) const {
    return price({.operation = kind,
                  .data_type = DataType::BF16,
                  .flops = 5 * read,
                  .bytes = kElement * (read + written)});
  }
  // Some products of few bits were measured along with the conversion of their input, whose kernels
  // wait for the host (14 us, at least, on B200): not more than of a wider type, which reads more.
  [[nodiscard]] std::int64_t gemm(DataType type, std::uint64_t m, std::uint64_t k,
                                  std::uint64_t n) const {
    std::int64_t ps = gemm_alone(type, m, k, n);
    if (type == DataType::NVFP4) ps = std::min(ps, gemm_alone(DataType::FP8, m, k, n));
    if (type != DataType::BF16) ps = std::min(ps, gemm_alone(DataType::BF16, m, k, n));
    return ps;
  }
  [[nodiscard]] std::int64_t gemm_alone(DataType type, std::uint64_t m, std::uint64_t k,
                                        std::uint64_t n) const {
    return price({.operation = Op::GEMM,
                  .data_type = type,
                  .flops = 2 * m * k * n,
                  .bytes = weight_bytes(type, m * k + k * n) + kElement * m * n,
                  .shape = GemmShape{.m = m, .n = n, .k = k}});
  }
  // With the residual, which is read and written too.
  [[nodiscard]] std::int64_t norm(std::uint64_t n) const {
    return element_wise(Op::NORM, 2 * n * hidden_, 2 * n * hidden_);
  }

  [[nodiscard]] std::int64_t moved(double bytes) const {
    const double ps = bytes / static_cast<double>(spec_.all_reduce.bytes_per_s) * 1e12;
    return spec_.all_reduce.latency.ps + static_cast<std::int64_t>(std::ceil(ps));
  }
  static double others(std::uint64_t devices) {
    return static_cast<double>(devices - 1) / static_cast<double>(devices);
  }
  [[nodiscard]] std::int64_t all_reduce(std::uint64_t n, std::uint64_t devices) const {
    if (devices == 1) return 0;
    return moved(2 * others(devices) * static_cast<double>(kElement * n * hidden_));
  }
  [[nodiscard]] std::int64_t gather(std::uint64_t bytes) const {
    return moved(others(t_) * static_cast<double>(bytes));
  }

  [[nodiscard]] std::int64_t grouped_in_layer(std::uint64_t n) const {
    const std::int64_t norms = times(m_.blocks == BlockOrder::kParallel ? 1 : 2, norm(n));
    // Blocks side by side of one group are reduced together.
    const bool together = m_.blocks != BlockOrder::kSequential && group_ == t_;
    return attention_products(n) + norms + (together ? 0 : all_reduce(n, group_));
  }

  // Blocks side by side: their outputs' sum, before the one all-reduce.
  [[nodiscard]] std::int64_t summed_blocks(std::uint64_t n) const {
    return element_wise(Op::ELEMENTWISE, 2 * n * hidden_, n * hidden_);
  }

  [[nodiscard]] std::int64_t attention_products(std::uint64_t n) const {
    const DataType type = spec_.precision;
    if (!latent()) {
      const std::uint64_t width = unsign(head_dim_of(m_));
      const std::uint64_t all = (heads() + 2 * key_heads()) * width;
      return gemm(type, n, hidden_, all) + element_wise(Op::ELEMENTWISE, n * all, n * all) +
             gemm(type, n, heads() * width, hidden_);
    }
    const MlaSpec& mla = m_.mla;
    const std::uint64_t key = unsign(mla.nope_dim + mla.rope_dim);
    const std::uint64_t rank = unsign(mla.key_value_rank);
    const std::uint64_t latents = unsign(mla.query_rank) + rank + unsign(mla.rope_dim);
    std::int64_t ps = gemm(type, n, hidden_, latents) +
                      element_wise(Op::NORM, n * latents, n * latents) +
                      gemm(type, n, unsign(mla.query_rank), heads() * key) +
                      element_wise(Op::ELEMENTWISE, n * heads() * key, n * heads() * key);
    // From latents to keys and values of heads, or of decodes queries to latents and back: as much
    // work, on the same weights.
    ps += gemm(type, n, rank, heads() * unsign(mla.nope_dim + mla.value_dim));
    return ps + gemm(type, n, heads() * unsign(mla.value_dim), hidden_);
  }

  [[nodiscard]] std::int64_t ffn(std::uint64_t n, std::uint64_t inner) const {
    const std::uint64_t share = inner / t_, parts = m_.gated_ffn ? 2 : 1;
    return gemm(spec_.precision, n, hidden_, parts * share) +
           element_wise(Op::ELEMENTWISE, parts * n * share, n * share) +
           gemm(spec_.precision, n, share, hidden_);
  }

  [[nodiscard]] std::int64_t experts(std::uint64_t n) const {
    const MoeSpec& moe = m_.moe;
    const DataType type =
        spec_.expert_precision == DataType::NONE ? spec_.precision : spec_.expert_precision;
    const std::uint64_t all = unsign(moe.experts), chosen = unsign(moe.top_k);
    const std::uint64_t matrices = m_.gated_ffn ? 3 : 2;
    const std::uint64_t width = unsign(expert_width_of(m_));
    const std::uint64_t whole = matrices * width * unsign(moe.ffn);  // of one expert
    const double busy = static_cast<double>(all) *
                        (1 - std::pow(1 - static_cast<double>(chosen) / static_cast<double>(all),
                                      static_cast<double>(n)));
    const auto weights = static_cast<std::uint64_t>(std::ceil(busy)) * whole / t_;
    const ComputeOperation routed{
        .operation = Op::GEMM,
        .data_type = type,
        .flops = 2 * n * chosen * whole / t_,
        .bytes = weight_bytes(type, weights) + 2 * kElement * n * chosen * width / t_,
        .shape = ExpertShape{.tokens = n,
                             .hidden = width,
                             .inner = unsign(moe.ffn),
                             .top_k = chosen,
                             .experts = all,
                             .tensor = t_ / unsign(spec_.expert),
                             .expert = unsign(spec_.expert),
                             .gated = m_.gated_ffn,
                             .all_tokens = true}};
    std::int64_t ps = gemm(DataType::BF16, n, hidden_, all) +
                      element_wise(Op::ELEMENTWISE, n * all, n * chosen) + price(routed);
    if (moe.shared_ffn != 0) ps += ffn(n, unsign(moe.shared_ffn));
    if (moe.latent != 0) {  // whole on each device
      ps += gemm(spec_.precision, n, hidden_, width) + gemm(spec_.precision, n, width, hidden_);
    }
    return ps;
  }

  const IterationSpec& spec_;
  const ModelSpec& m_;
  ComputeModels models_;
  std::uint64_t t_, group_, hidden_;  // devices: of the replica, that split attention
  LayerCounts counts_;
};

// Twice the tokens that `tokens` tokens behind `past` others look at through a window: the i-th at
// past + i, but no more than the window.
core::WidePs twice_seen(core::WidePs tokens, core::WidePs past, core::WidePs window) {
  const core::WidePs short_of_it =
      past >= window ? core::WidePs{0} : std::min(tokens, core::WidePs{window - past});
  return short_of_it * (2 * past + short_of_it + 1) + 2 * (tokens - short_of_it) * window;
}

std::int64_t divides(const char* key, std::int64_t whole, std::int64_t part) {
  if (part < 1 || whole % part != 0) throw SpecProblem(key, "does not divide what it splits");
  return whole / part;
}

void check_pattern(const IterationSpec& spec) {
  const ModelSpec& m = spec.model;
  if (spec.attention_data != 1) {
    throw SpecProblem("attention_data", "above 1 with model.pattern; expected 1");
  }
  if (layer_counts(m).attention == 0) {
    throw SpecProblem("model.pattern",
                      "has no attention, and no keys and values; expected a \"*\"");
  }
  if (m.mamba.heads != 0) divides("tensor", m.mamba.groups, spec.tensor);
}

}  // namespace

std::uint64_t weight_bytes(DataType type, std::uint64_t elements) {
  return type == DataType::NVFP4 ? elements * 9 / 16 : elements * width_of(type);
}

void check(const IterationSpec& spec) {
  const ModelSpec& m = spec.model;
  if (m.family != ModelFamily::kDecoder) {
    throw SpecProblem("model.family", "of another kind; expected decoder");
  }
  if (m.predictions != 0) throw SpecProblem("model.predictions", "above 0; expected 0");
  check(m);
  in_range("tensor", spec.tensor, 1, kTensorMax);
  divides("attention_data", spec.tensor, spec.attention_data);
  if (!m.pattern.empty()) check_pattern(spec);
  divides("tensor", m.heads, spec.tensor / spec.attention_data);
  divides("tensor", m.ffn, spec.tensor);
  divides("tensor", m.moe.shared_ffn, spec.tensor);
  if (spec.expert != 1 && spec.expert != spec.tensor) {
    throw SpecProblem("expert", "neither 1 nor as many as `tensor`; expected one of them");
  }
  if (m.moe.experts != 0) {
    divides("expert", m.moe.experts, spec.expert);
    divides("tensor", m.moe.ffn, spec.tensor / spec.expert);
  }
  if (m.mla.key_value_rank != 0 && m.mla.query_rank == 0) {
    throw SpecProblem("model.mla", "has no latent of queries; expected query_rank above 0");
  }
  if (spec.cache_precision != DataType::BF16 && spec.cache_precision != DataType::FP8) {
    throw SpecProblem("cache_precision", "of another type; expected bf16 or fp8");
  }
  if (spec.host.ps < 0) throw SpecProblem("host", "below 0; expected a time");
  if (spec.all_reduce.bytes_per_s < 1 || spec.all_reduce.latency.ps < 0) {
    throw SpecProblem("all_reduce", "not above 0; expected a latency and a bandwidth");
  }
}

GroupWork busiest_group(const IterationWork& work, std::uint64_t groups) {
  const auto share = [](std::uint64_t all, std::uint64_t among) {
    return among == 0 ? 0 : (all + among - 1) / among;
  };
  const std::uint64_t with_prompts = std::min(groups, work.prompts);
  return {.tokens = share(work.prompt_tokens, with_prompts) +
                    share(work.tokens - work.prompt_tokens, groups),
          .decodes = share(work.decodes, groups),
          .with_prompts = with_prompts};
}

IterationTime::IterationTime(const IterationSpec& spec, const Accelerator& accelerator)
    : host_(spec.host) {
  check(spec);
  groups_ = unsign(spec.attention_data);
  window_ = unsign(spec.model.window);
  has_scans_ = spec.model.mamba.heads != 0;
  Accelerator graph = accelerator;
  graph.launch_latency = accelerator.graph_launch_latency;
  graph.sustained.clear();  // decode's kernels, which memory bounds, leave power for prompts'
  const KernelPrices prices(spec, graph);
  for (const std::uint64_t n : quarter_octaves(kTokensGridMax)) {
    linear_.add(n, prices.linear(n));
    if (groups_ > 1) grouped_.add(n, prices.grouped(n));
    prompt_.add(n, prices.prompt_core(n));
    if (window_ != 0) windowed_prompt_.add(n, prices.windowed_prompt_core(n));
    if (has_scans_) scans_.add(n, prices.prompt_scan(n));
  }
  for (const std::uint64_t n : quarter_octaves(kDecodesGridMax)) head_.add(n, prices.head(n));
  for (std::uint64_t n = 1; n <= kDecodesGridMax; n *= 2) {
    TimeCurve& curve = decodes_.add_row(n);
    for (std::uint64_t context = 64; context <= kContextGridMax; context *= 2) {
      curve.add(context, prices.decode_core(n, context));
    }
  }
}

std::int64_t IterationTime::prompt_core_ps(std::uint64_t tokens, std::uint64_t past) const {
  if (tokens == 0) return 0;
  // Each token sees `past` more than the (tokens + 1) / 2 that it sees of its own on average.
  const core::WidePs alone = prompt_.at(tokens);
  auto ps = static_cast<std::int64_t>(alone * (tokens + 1 + 2 * past) / (tokens + 1));
  if (has_scans_) ps += static_cast<std::int64_t>(scans_.at(tokens));
  if (window_ == 0) return ps;
  const core::WidePs windowed = windowed_prompt_.at(tokens);
  return ps + static_cast<std::int64_t>(windowed * twice_seen(tokens, past, window_) /
                                        twice_seen(tokens, 0, window_));
}

std::int64_t IterationTime::decode_core_ps(std::uint64_t decodes, std::uint64_t context) const {
  if (decodes == 0) return 0;
  return decodes_.at(decodes, std::max<std::uint64_t>(1, context / decodes));
}

core::Time IterationTime::of(const IterationWork& work) const {
  core::WidePs ps = host_.ps;
  if (work.tokens != 0) ps += linear_.at(work.tokens);
  if (work.outputs != 0) ps += head_.at(work.outputs);
  if (groups_ > 1) return core::time_to_end(ps + grouped_ps(work));
  ps += decode_core_ps(work.decodes, work.decode_context);
  return core::time_to_end(ps + work.prompt_core_ps);
}

core::WidePs IterationTime::grouped_ps(const IterationWork& work) const {
  const GroupWork most = busiest_group(work, groups_);
  core::WidePs ps = most.tokens == 0 ? 0 : grouped_.at(most.tokens);
  if (most.decodes != 0) {
    ps += decode_core_ps(most.decodes, work.decode_context * most.decodes / work.decodes);
  }
  if (most.with_prompts != 0) {
    ps += work.prompt_core_ps / static_cast<std::int64_t>(most.with_prompts);
  }
  return ps;
}

}  // namespace exawarp::model::serving
