// Prices operations by measured kernels: which table an operation belongs to, and what is derived
// from a measured neighbour by its work.
#include "model/compute/table_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>

#include "model/compute/stream_tables.h"

namespace exawarp::model {
namespace {

// Of a measured time itself, by which the same kernel on another day differs.
constexpr double kMeasuredError = 0.02;
// Beyond the grid, and by a ratio of work: added to the error of interpolation.
constexpr double kExtrapolatedError = 0.05;
constexpr double kDerivedError = 0.10;
// Where no backward pass was measured: 10 FLOPs a pair and element of flash attention for 4.
constexpr double kBackwardRatio = 2.5;
constexpr double kBackwardError = 0.15;
// Of what a device's lower clock adds: layers differ by a fifth. A device that is idle for less or
// for longer than was guessed is slowed down by half as much again, or half.
constexpr double kSlowdownSpread = 0.2;
constexpr double kGuessedSlowdownSpread = 0.5;

double real(std::uint64_t value) { return static_cast<double>(value); }

// The names of tables that hold `type`, the first one first.
std::span<const char* const> table_types(schema::DataType type) {
  static constexpr const char* kBrain[] = {"bfloat16"};
  static constexpr const char* kHalf[] = {"float16", "bfloat16"};
  static constexpr const char* kSingle[] = {"float32"};
  static constexpr const char* kInteger[] = {"int8"};
  static constexpr const char* kEighth[] = {"fp8", "fp8_block"};
  static constexpr const char* kFourBits[] = {"nvfp4"};
  switch (type) {
    case schema::DataType::BF16:
      return kBrain;
    case schema::DataType::FP16:
      return kHalf;
    case schema::DataType::FP32:
      return kSingle;
    case schema::DataType::INT8:
      return kInteger;
    case schema::DataType::FP8:
      return kEighth;
    case schema::DataType::NVFP4:
      return kFourBits;
    default:
      return {};
  }
}

void worsen(Provenance& provenance, double& error, Provenance to, double by) {
  provenance = std::max(provenance, to);
  error = std::hypot(error, by);
}

// The slice of the least cost; `cost` says infinity for what does not fit.
template <class Cost>
std::optional<std::size_t> best_slice(const KernelTable& table, const Cost& cost) {
  std::optional<std::size_t> best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t s = 0; s < table.slice_count(); ++s) {
    const double c = cost(table.key(s));
    if (c < least) {
      least = c;
      best = s;
    }
  }
  return best;
}

double distance(double a, double b) { return std::abs(std::log(a / b)); }

// How long heads of one width take over those of another. Products go with the width, exponentials
// do not: about half of the time is taken to stay where heads get narrower. Heads of 64 take 0.62
// of those of 128 on H100, 0.69 on H200, 0.77 to 0.91 on GB200 (their tables, 4,096 tokens and up).
double by_width(double width, double measured_width) {
  const double ratio = width / measured_width;
  return ratio < 1 ? 0.5 * (1 + ratio) : ratio;
}

}  // namespace

const KernelTable* TableModel::find(std::string_view operation, schema::DataType type) const {
  for (const char* name : table_types(type)) {
    if (const KernelTable* table = tables_.find(std::string(operation), name)) return table;
  }
  return nullptr;
}

std::optional<TableModel::Time> TableModel::estimate(const KernelTable& table, std::size_t slice,
                                                     const KernelTable::Point& point) {
  const auto found = table.estimate(slice, point);
  if (!found) return std::nullopt;
  Time time{.us = found->us,
            .provenance = found->provenance,
            .relative_error = kMeasuredError,
            .watts = found->watts};
  if (found->provenance != Provenance::measured) {
    time.relative_error = std::max(table.error(found->us), kMeasuredError);
  }
  if (found->provenance == Provenance::extrapolated) {
    time.relative_error = std::hypot(time.relative_error, kExtrapolatedError);
  }
  if (table.derived()) {
    worsen(time.provenance, time.relative_error, Provenance::derived, kDerivedError);
  }
  return time;
}

std::optional<TableModel::Time> TableModel::of(const GemmShape& shape,
                                               schema::DataType type) const {
  const KernelTable* table = shape.converted ? find("gemm_converted", type) : nullptr;
  if (table == nullptr) table = find("gemm", type);
  if (table == nullptr) return std::nullopt;
  return estimate(*table, 0, {real(shape.m) * real(shape.batch), real(shape.n), real(shape.k)});
}

// How many products of `shape` a node is, by its FLOPs: experts' are one after another.
double TableModel::products_of(const GemmShape& shape, std::uint64_t flops) {
  const double one = 2 * real(shape.m) * real(shape.n) * real(shape.k) * real(shape.batch);
  return std::max(1.0, std::round(real(flops) / one));
}

std::optional<TableModel::Time> TableModel::of(const StreamShape& shape,
                                               schema::DataType type) const {
  const StreamTable* stream = stream_table(shape.kernel);
  const KernelTable* table = stream == nullptr ? nullptr : find(stream->name, type);
  if (table == nullptr) return std::nullopt;
  return estimate(*table, 0, stream->point(shape));
}

// Kernels from a share of the peak on draw all that the limit allows (PowerSpec), and below it
// nearly in proportion.
double TableModel::sustained_factor(const ComputeOperation& operation, double us) const {
  const double peak = accelerator_.matrix_flops_per_s.at(
      static_cast<std::size_t>(operation.data_type));
  const double slowdown = accelerator_.sustained_slowdown();
  if (slowdown == 1 || !(peak > 0)) return 1;
  const double reached = real(operation.flops) / (us * 1e-6 * peak);
  const double share = std::min(1.0, reached / accelerator_.power.compute_saturation);
  return 1 + (slowdown - 1) * share;
}

// Of heads of 192 for queries and keys (of them 64 rotary) and 128 for values; no keys.
std::optional<TableModel::Time> TableModel::latent(const AttentionShape& shape,
                                                   schema::DataType type, Pass pass) const {
  if (shape.head_dim != 192 || shape.value_dim != 128 || shape.new_tokens == 1) {
    return std::nullopt;
  }
  const KernelTable* table = find(pass == Pass::backward ? "mla_backward" : "mla", type);
  if (table == nullptr) return std::nullopt;
  return estimate(*table, 0, {real(shape.heads), real(shape.batch), real(shape.new_tokens)});
}

// Keys: width of heads, window, key-value heads (0: as many as heads).
std::optional<TableModel::Time> TableModel::plain(const AttentionShape& shape,
                                                  schema::DataType type, Pass pass) const {
  const bool decodes = shape.new_tokens == 1;
  const KernelTable* table = pass == Pass::backward ? find("prefill_backward", type)
                                                    : find(decodes ? "decode" : "prefill", type);
  if (table == nullptr) return std::nullopt;
  const double width = 0.5 * (real(shape.head_dim) + real(shape.value_dim));
  const bool grouped = shape.key_value_heads != shape.heads;
  const auto slice = best_slice(*table, [&](std::span<const std::uint32_t> key) {
    if (key.size() != 3 || key[0] == 0 || key[1] != shape.window) {
      return std::numeric_limits<double>::infinity();
    }
    const double own = key[2] == 0 ? real(shape.heads) : key[2];
    const bool same_kind = (key[2] != 0) == grouped;
    return 10 * distance(key[0], width) + distance(own, real(shape.key_value_heads)) +
           (same_kind ? 0 : 0.01);
  });
  if (!slice) return std::nullopt;
  const double tokens = decodes ? std::max(real(shape.past_tokens), 1.0) : real(shape.new_tokens);
  auto time = estimate(*table, *slice, {real(shape.heads), real(shape.batch), tokens});
  const double measured_width = table->key(*slice)[0];
  if (time && measured_width != width) {
    time->us *= by_width(width, measured_width);
    worsen(time->provenance, time->relative_error, Provenance::derived, kDerivedError);
  }
  return time;
}

std::optional<TableModel::Time> TableModel::known(const AttentionShape& shape,
                                                  schema::DataType type, Pass pass) const {
  auto time = latent(shape, type, pass);
  if (!time) time = plain(shape, type, pass);
  if (!time || shape.new_tokens == 1) return time;
  const double measured_pairs = 0.5 * real(shape.new_tokens);
  const double seen = real(shape.past_tokens) + (shape.causal ? 0.5 : 1.0) * real(shape.new_tokens);
  if (seen != measured_pairs) {
    time->us *= seen / measured_pairs;
    worsen(time->provenance, time->relative_error, Provenance::derived, kDerivedError);
  }
  return time;
}

std::optional<TableModel::Time> TableModel::of(const AttentionShape& shape,
                                               schema::DataType type) const {
  auto time = known(shape, type, Pass::forward);
  if (!shape.backward) return time;
  if (auto measured = known(shape, type, Pass::backward)) {
    // Where its watts were not measured, it draws what the forward pass draws.
    if (measured->watts == 0 && time) {
      measured->watts = time->watts;
      measured->watts_of_another = true;
    }
    return measured;
  }
  if (time) {
    time->us *= kBackwardRatio;
    worsen(time->provenance, time->relative_error, Provenance::derived, kBackwardError);
  }
  return time;
}

// Keys: hidden, inner, top_k, experts, tensor, expert. Of all the type's tables the nearest slice;
// of equal ones that with factors for blocks, as published checkpoints of experts in fp8 have.
std::optional<TableModel::Time> TableModel::served(const ExpertShape& shape,
                                                   schema::DataType type) const {
  const std::array<double, 6> wanted{real(shape.hidden),  real(shape.inner),  real(shape.top_k),
                                     real(shape.experts), real(shape.tensor), real(shape.expert)};
  const auto apart = [&](std::span<const std::uint32_t> key) {
    if (key.size() != wanted.size()) return std::numeric_limits<double>::infinity();
    double sum = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (key[i] == 0) return std::numeric_limits<double>::infinity();
      sum += distance(key[i], wanted[i]);
    }
    return sum;
  };
  std::optional<Time> best;
  double least = std::numeric_limits<double>::infinity();
  for (const char* name : table_types(type)) {
    const KernelTable* table = tables_.find("experts", name);
    const auto slice = table == nullptr ? std::nullopt : best_slice(*table, apart);
    if (!slice || apart(table->key(*slice)) > least) continue;
    auto time = estimate(*table, *slice, {real(shape.tokens)});
    if (!time) continue;
    const auto key = table->key(*slice);
    least = apart(key);
    if (least != 0) {
      const auto work = [](const auto& v) { return 1.0 * v[0] * v[1] * v[2] / v[4] / v[5]; };
      time->us *= work(wanted) / work(key);
      worsen(time->provenance, time->relative_error, Provenance::derived, kDerivedError);
    }
    best = time;
  }
  return best;
}

// The same keys.
std::optional<TableModel::Time> TableModel::of(const ExpertShape& shape,
                                               const ComputeOperation& operation) const {
  if (shape.all_tokens) return served(shape, operation.data_type);
  const KernelTable* table = find("experts", operation.data_type);
  if (table == nullptr) return std::nullopt;
  const std::array<double, 6> wanted{real(shape.hidden),  real(shape.inner),  real(shape.top_k),
                                     real(shape.experts), real(shape.tensor), real(shape.expert)};
  const auto slice = best_slice(*table, [&](std::span<const std::uint32_t> key) {
    if (key.size() != wanted.size()) return std::numeric_limits<double>::infinity();
    // Where experts were measured apart, each device still read, sorted and summed up the tokens of
    // all, which takes ten times as long as its products. In training an all-to-all brings a device
    // its own share alone, and that is of the layer as one device runs it whole: as many tokens an
    // expert, fewer experts.
    constexpr double kOnlyIfThereIsNoOther = 1e3;
    double sum = key.back() == 1 ? 0 : kOnlyIfThereIsNoOther;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (key[i] == 0) return std::numeric_limits<double>::infinity();
      if (i + 1 < wanted.size() || key.back() != 1) sum += distance(key[i], wanted[i]);
    }
    return sum;
  });
  if (!slice) return std::nullopt;
  auto time = estimate(*table, *slice, {real(shape.tokens)});
  if (!time) return std::nullopt;
  const auto work = [](const auto& v) { return 1.0 * v[0] * v[1] * v[2] / v[4] / v[5]; };
  const auto key = table->key(*slice);
  const double ratio = work(wanted) / work(key);
  time->us *= ratio;
  // Also where the layer is the measured one: of its products no one was measured by itself, and
  // none of the backward pass.
  worsen(time->provenance, time->relative_error, Provenance::derived,
         std::hypot(kDerivedError, kDerivedError * std::log(ratio)));
  // All products of the layer: gate, up and down.
  const double whole = 2 * work(wanted) * real(shape.tokens) * (shape.gated ? 3 : 2);
  time->us *= std::min(1.0, real(operation.flops) / whole);
  return time;
}

std::optional<Priced> TableModel::price(const ComputeOperation& operation) const {
  std::optional<Time> time;
  // A convolution's kernels are not those of the product that it amounts to.
  if (operation.moves_memory || operation.operation == schema::Operation::CONVOLUTION) {
    return std::nullopt;
  }
  if (const auto* gemm = std::get_if<GemmShape>(&operation.shape)) {
    time = of(*gemm, operation.data_type);
    if (time) time->us *= products_of(*gemm, operation.flops);
  } else if (const auto* attention = std::get_if<AttentionShape>(&operation.shape)) {
    time = of(*attention, operation.data_type);
  } else if (const auto* experts = std::get_if<ExpertShape>(&operation.shape)) {
    time = of(*experts, operation);
  } else if (const auto* stream = std::get_if<StreamShape>(&operation.shape)) {
    time = of(*stream, operation.data_type);
  }
  constexpr double kPsPerUs = 1e6;
  constexpr double kDurationMaxPs = 1e18;
  if (!time || !(time->us * kPsPerUs < kDurationMaxPs)) return std::nullopt;
  const double sustained = sustained_factor(operation, time->us);
  time->us *= sustained;
  const double spread = accelerator_.idle_share_known ? kSlowdownSpread : kGuessedSlowdownSpread;
  time->relative_error = std::hypot(time->relative_error, spread * (sustained - 1) / sustained);
  const core::Time runs{static_cast<std::int64_t>(std::ceil(time->us * kPsPerUs))};
  return Priced{.duration = accelerator_.launch_latency + runs,
                .provenance = time->provenance,
                .relative_error = time->relative_error,
                .watts = time->watts,
                .watts_provenance = time->watts_of_another
                                        ? std::max(time->provenance, Provenance::derived)
                                        : time->provenance};
}

}  // namespace exawarp::model
