// Points that share a replica share its iteration times; each is then a closed loop of its own.
#include "io/life/serving_validation.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

#include "core/error.h"
#include "io/formats/kernels/csv.h"
#include "io/study/find_config.h"
#include "io/study/system_config.h"
#include "io/study/text_file.h"
#include "io/study/transformer_config.h"
#include "io/study/yaml.h"
#include "model/generate/spec.h"
#include "model/serving/closed_loop.h"
#include "model/serving/iteration_time.h"
#include "model/serving/kv_room.h"
#include "model/serving/pooled_loop.h"

namespace exawarp::io {
namespace {

using model::serving::IterationSpec;
using model::serving::IterationTime;
using model::schema::DataType;

constexpr std::pair<std::string_view, DataType> kPrecisions[] = {
    {"bf16", DataType::BF16}, {"fp8", DataType::FP8}, {"nvfp4", DataType::NVFP4}};

constexpr std::pair<std::string_view, std::string_view> kAcceleratorFiles[] = {
    {"h100", "h100_sxm"}, {"h200", "h200_sxm"}, {"b200", "b200"}, {"b300", "b300"}};

// All-reduces in a node. Hopper: the default. Blackwell: twice the links' rate, and no kernel of
// less latency than Hopper's was measured.
model::serving::AllReduceCost all_reduce_of(const std::string& accelerator) {
  model::serving::AllReduceCost cost;
  if (accelerator.front() == 'b') cost.bytes_per_s *= 2;
  return cost;
}

// Columns of integers, each with where it goes.
constexpr std::pair<const char*, std::uint32_t ServingPoint::*> kCounts[] = {
    {"input_tokens", &ServingPoint::input_tokens},
    {"output_tokens", &ServingPoint::output_tokens},
    {"clients", &ServingPoint::clients},
    {"batch", &ServingPoint::batch}};
constexpr std::pair<const char*, std::uint32_t ServingLayout::*> kLayoutCounts[] = {
    {"tensor", &ServingLayout::tensor},
    {"attention_data", &ServingLayout::attention_data},
    {"expert_tensor", &ServingLayout::expert_tensor},
    {"expert", &ServingLayout::expert}};
constexpr std::pair<const char*, std::string ServingPoint::*> kTexts[] = {
    {"benchmark", &ServingPoint::benchmark},
    {"model", &ServingPoint::model},
    {"accelerator", &ServingPoint::accelerator},
    {"engine", &ServingPoint::engine},
    {"version", &ServingPoint::version},
    {"precision", &ServingPoint::precision},
    {"expert_precision", &ServingPoint::expert_precision},
    {"mode", &ServingPoint::mode}};

// Devices of a replica, and how they split a layer.
struct LayerSplit {
  std::int64_t devices = 1, attention_data = 1, expert = 1;
  friend auto operator<=>(const LayerSplit&, const LayerSplit&) = default;
};

// What a replica's iteration times depend on; the texts are model, accelerator and precisions.
using ReplicaKey = std::tuple<std::string, std::string, std::string, std::string, LayerSplit,
                              std::string, DataType>;

// The source writes a replica of n devices, whose experts are dealt to all, as tensor n n (or
// attention_data n n, of data-parallel attention), expert_tensor n, expert n.
LayerSplit layer_split_of(const ServingLayout& layout) {
  const std::uint32_t attention = std::max(1u, layout.attention_data);
  const std::uint32_t expert = std::max(1u, layout.expert);
  std::uint32_t devices = layout.tensor * attention;
  const bool squared = layout.expert > 1 && layout.expert_tensor == layout.expert;
  if (squared && layout.expert * layout.expert == devices) devices = layout.expert;
  return {devices, std::min(attention, devices), expert};
}

ReplicaKey key_of(const ServingPoint& p, const ServingLayout& layout) {
  return {p.model, p.accelerator, p.precision, p.expert_precision, layer_split_of(layout),
          p.engine, serving_cache(p)};
}

DataType precision_of(const ServingPoint& point, const std::string& name) {
  if (name.empty()) return DataType::NONE;
  for (const auto& [text, type] : kPrecisions) {
    if (text == name) return type;
  }
  throw core::InputError(point.place, "precision: \"" + name + "\" is not known; expected one of: "
                                      "bf16, fp8, nvfp4");
}

std::string accelerator_file(const std::string& name) {
  for (const auto& [text, file] : kAcceleratorFiles) {
    if (text != name) continue;
    return find_below_configs("configs/accelerators/" + std::string(file) + ".yaml");
  }
  return "";
}

std::string model_file(const std::string& name) {
  return find_below_configs("configs/models/" + name + ".yaml");
}

std::string reason_against(const ServingLayout& layout) {
  if (layout.tensor == 0) return "columns are empty";
  const LayerSplit split = layer_split_of(layout);
  if (split.expert != 1 && split.expert != split.devices) return "experts are dealt and split";
  if (split.devices % split.attention_data != 0) return "devices do not divide by attention's";
  return "";
}

std::string reason_against(const ServingPoint& p) {
  if (!std::filesystem::exists(model_file(p.model))) return "no file of the model";
  if (accelerator_file(p.accelerator).empty()) return "no file of the accelerator";
  if (p.clients == 0) return "columns are empty";
  if (p.mode == "agg") return reason_against(p.layout);
  if (p.prefill.workers == 0 || p.decode.workers == 0 || p.decode.batch == 0) {
    return "workers of pools are not said";
  }
  const std::string reason = reason_against(p.prefill.layout);
  return reason.empty() ? reason_against(p.decode.layout) : reason;
}

template <class Read>
auto from_file(const std::string& path, const Read& read) {
  YamlDocument document(path);
  auto out = read(document.root());
  document.finish();
  return out;
}

struct PointReplica {
  IterationTime time;
  std::uint64_t pool_tokens = 0;  // 0: weights alone do not fit, and no limit is known
};

std::unique_ptr<const PointReplica> replica_of(const ServingPoint& p, const ServingLayout& layout) {
  const LayerSplit split = layer_split_of(layout);
  IterationSpec spec;
  spec.model = from_file(model_file(p.model),
                         [](const YamlSection& s) { return model_keys().read(s); });
  spec.tensor = split.devices;
  spec.expert = split.expert;
  spec.attention_data = split.attention_data;
  spec.precision = precision_of(p, p.precision);
  if (spec.model.moe.experts != 0) spec.expert_precision = precision_of(p, p.expert_precision);
  spec.cache_precision = serving_cache(p);
  spec.all_reduce = all_reduce_of(p.accelerator);
  spec.host = serving_host(p.engine);
  const auto accelerator = from_file(accelerator_file(p.accelerator),
                                     [](const YamlSection& s) { return read_accelerator(s); });
  try {
    return std::make_unique<const PointReplica>(
        PointReplica{IterationTime(spec, accelerator),
                     model::serving::room_for_tokens(spec, accelerator, serving_memory(p.engine))});
  } catch (const model::SpecProblem& problem) {
    throw core::InputError(p.place, problem.what());
  }
}

// All that points have.
class Replicas {
 public:
  void add(const ServingPoint& p) {
    for (const ServingLayout* layout : layouts_of(p)) {
      auto& replica = replicas_[key_of(p, *layout)];
      if (!replica) replica = replica_of(p, *layout);
    }
  }
  [[nodiscard]] const PointReplica& of(const ServingPoint& p, const ServingLayout& layout) const {
    return *replicas_.at(key_of(p, layout));
  }

 private:
  static std::vector<const ServingLayout*> layouts_of(const ServingPoint& p) {
    if (p.mode == "agg") return {&p.layout};
    return {&p.prefill.layout, &p.decode.layout};
  }
  std::map<ReplicaKey, std::unique_ptr<const PointReplica>> replicas_;
};

model::serving::ClosedLoopOutcome outcome_of(const ServingPoint& p, const Replicas& replicas) {
  model::serving::ClosedLoop clients{
      .clients = p.clients,
      .requests = p.clients * kServingRequestsPerClient,
      .prompt_most = p.input_tokens,
      .output_most = p.output_tokens,
      .least_share = p.benchmark == "inferencemax" ? kServingLeastShare : 1.0};
  if (p.mode != "agg") {
    const auto pool = [&](const ServingPointPool& of) {
      const auto groups = static_cast<std::uint32_t>(layer_split_of(of.layout).attention_data);
      return model::serving::LoopPool{&replicas.of(p, of.layout).time, of.workers,
                                      std::max(1u, of.batch) * groups};
    };
    return model::serving::run_pooled_loop({clients, pool(p.prefill), pool(p.decode)});
  }
  const auto groups = static_cast<std::uint32_t>(layer_split_of(p.layout).attention_data);
  // Each group of data-parallel attention has a scheduler of its own. SGLang runs prompts by
  // themselves unless it is told to mix (--enable-mixed-chunk).
  clients.batch_tokens_max = serving_batch_tokens(p) * groups;
  clients.mixes = p.engine != "sglang";
  clients.looks_every = serving_looks_every(p);
  if (p.engine == "trtllm" && p.benchmark == "inferencemax") {
    clients.gathers = groups;
    clients.gathers_for = kServingGathersFor;
  }
  const PointReplica& replica = replicas.of(p, p.layout);
  clients.pool_tokens = replica.pool_tokens;
  clients.reserves_answers = p.engine == "trtllm";
  return run_closed_loop(clients, replica.time);
}

ServingPointResult predict_one(const ServingPoint& p, const Replicas& replicas) {
  const auto outcome = outcome_of(p, replicas);
  return {.ttft_ms = static_cast<double>(outcome.first_token_mean.ps) / 1e9,
          .tpot_ms = static_cast<double>(outcome.per_token_mean.ps) / 1e9,
          .reason = ""};
}

// As InferenceMAX's scripts start it.
bool is_sglang_on_blackwell(const ServingPoint& p) {
  return p.benchmark == "inferencemax" && p.engine == "sglang" && p.accelerator.front() == 'b';
}

// Columns of a layout whose names begin with `prefix`.
template <class Number>
void read_layout(const std::string& prefix, ServingLayout& out, const Number& number) {
  for (const auto& [name, member] : kLayoutCounts) out.*member = number(prefix + name);
}

template <class Number>
ServingPointPool read_pool(const std::string& prefix, const Number& number) {
  ServingPointPool out{number(prefix + "workers"), number(prefix + "batch"), {}};
  read_layout(prefix, out.layout, number);
  return out;
}

}  // namespace

std::int64_t serving_devices(const ServingPoint& p) {
  if (p.mode == "agg") return layer_split_of(p.layout).devices;
  return p.prefill.workers * layer_split_of(p.prefill.layout).devices +
         p.decode.workers * layer_split_of(p.decode.layout).devices;
}

DataType serving_cache(const ServingPoint& p) {
  if (p.engine == "trtllm") return p.precision == "bf16" ? DataType::BF16 : DataType::FP8;
  const bool of_recipe =
      p.benchmark == "inferencemax" && p.engine == "vllm" && p.model == "llama3_70b";
  return of_recipe || is_sglang_on_blackwell(p) ? DataType::FP8 : DataType::BF16;
}

std::uint32_t serving_batch_tokens(const ServingPoint& p) {
  if (p.benchmark != "inferencemax" || p.engine != "sglang") return kServingBatchTokens;
  if (p.expert_precision == "nvfp4" || p.precision == "nvfp4") return 2 * kServingBatchTokens;
  return layer_split_of(p.layout).devices >= 8 ? 4 * kServingBatchTokens : kServingBatchTokens;
}

std::uint32_t serving_looks_every(const ServingPoint& p) {
  if (!is_sglang_on_blackwell(p)) return 1;
  return p.clients < 16 ? 10 : 30;
}

model::serving::MemoryRule serving_memory(const std::string& engine) {
  if (engine == "trtllm") return {.share = 1, .share_of_rest = 0.8};
  if (engine == "sglang") return {.share = 0.82, .workspace_bytes = 0};
  return {};
}

core::Time serving_host(const std::string& engine) {
  return engine == "trtllm" ? core::Time{0} : core::Time{1'000'000'000};
}

std::vector<ServingPoint> read_serving_points(const std::string& path) {
  const core::MappedFile file(path);
  const CsvTable table(path, text_of(file));
  std::vector<ServingPoint> points;
  const std::size_t ttft = table.require({"ttft_ms"}), tpot = table.require({"tpot_ms"});
  table.each_row([&](const CsvRow& row) {
    ServingPoint& p = points.emplace_back();
    p.place = row.place();
    for (const auto& [name, member] : kTexts) p.*member = row.at(table.require({name}));
    const auto number = [&](const std::string& name) -> std::uint32_t {
      const std::size_t column = table.require({name});
      if (!row.has(column) || row.at(column) == "0") return 0;
      const std::uint64_t count = row.count(column);
      if (count > 1 << 20) row.fail(column, "a number up to 1048576");
      return static_cast<std::uint32_t>(count);
    };
    for (const auto& [name, member] : kCounts) p.*member = number(name);
    read_layout("", p.layout, number);
    p.prefill = read_pool("prefill_", number);
    p.decode = read_pool("decode_", number);
    p.ttft_ms = row.positive(ttft);
    p.tpot_ms = row.positive(tpot);
    for (const char* name : {"input_tokens", "output_tokens"}) {
      if (number(name) == 0) row.fail(table.require({name}), "tokens");
    }
  });
  return points;
}

std::vector<ServingPointResult> predict(const std::vector<ServingPoint>& points,
                                        std::uint32_t threads) {
  std::vector<ServingPointResult> results(points.size());
  Replicas replicas;
  for (std::size_t i = 0; i < points.size(); ++i) {
    results[i].reason = reason_against(points[i]);
    if (results[i].reason.empty()) replicas.add(points[i]);
  }
  std::atomic<std::size_t> next = 0;  // relaxed: each index is taken once, whoever takes it
  const auto work = [&] {
    for (;;) {
      const std::size_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= points.size()) return;
      if (results[i].reason.empty()) {
        results[i] = predict_one(points[i], replicas);
      }
    }
  };
  std::vector<std::jthread> others;
  for (std::uint32_t t = 1; t < threads; ++t) others.emplace_back(work);
  work();
  others.clear();
  return results;
}

}  // namespace exawarp::io
