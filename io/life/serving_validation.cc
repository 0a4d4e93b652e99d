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

namespace exawarp::io {
namespace {

using model::serving::IterationSpec;
using model::serving::IterationTime;
using model::schema::DataType;

constexpr std::uint32_t kNodeDevices = 8;

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
    {"tensor", &ServingPoint::tensor},
    {"attention_data", &ServingPoint::attention_data},
    {"expert_tensor", &ServingPoint::expert_tensor},
    {"expert", &ServingPoint::expert},
    {"input_tokens", &ServingPoint::input_tokens},
    {"output_tokens", &ServingPoint::output_tokens},
    {"clients", &ServingPoint::clients},
    {"batch", &ServingPoint::batch}};
constexpr std::pair<const char*, std::string ServingPoint::*> kTexts[] = {
    {"benchmark", &ServingPoint::benchmark},
    {"model", &ServingPoint::model},
    {"accelerator", &ServingPoint::accelerator},
    {"engine", &ServingPoint::engine},
    {"version", &ServingPoint::version},
    {"precision", &ServingPoint::precision},
    {"expert_precision", &ServingPoint::expert_precision},
    {"mode", &ServingPoint::mode}};

// What a replica's iteration times depend on.
using ReplicaKey =
    std::tuple<std::string, std::string, std::string, std::string, std::int64_t, std::int64_t,
               std::int64_t>;  // model, accelerator, precisions, tensor, expert, host's time

// Devices that split a layer, and parts of its experts. The source writes a replica of n devices,
// whose experts are dealt to all, as tensor n n, expert_tensor n, expert n.
std::pair<std::int64_t, std::int64_t> split_of(const ServingPoint& p) {
  if (p.tensor > kNodeDevices || (p.expert > 1 && p.expert_tensor > 1)) {
    return {p.expert_tensor, p.expert};
  }
  return {p.tensor, std::max(1u, p.expert)};
}

ReplicaKey key_of(const ServingPoint& p) {
  const auto [tensor, expert] = split_of(p);
  return {p.model, p.accelerator, p.precision, p.expert_precision, tensor, expert,
          serving_host(p.engine).ps};
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

std::string reason_against(const ServingPoint& p) {
  if (p.mode != "agg") return "prefill and decode in pools of their own";
  if (!std::filesystem::exists(model_file(p.model))) return "no file of the model";
  if (accelerator_file(p.accelerator).empty()) return "no file of the accelerator";
  if (p.attention_data > 1) return "attention is data parallel";
  if (p.tensor == 0 || p.clients == 0) return "columns are empty";
  const auto [tensor, expert] = split_of(p);
  if (expert != 1 && expert != tensor) return "experts are dealt and split";
  return "";
}

template <class Read>
auto from_file(const std::string& path, const Read& read) {
  YamlDocument document(path);
  auto out = read(document.root());
  document.finish();
  return out;
}

std::unique_ptr<const IterationTime> iteration_time(const ServingPoint& p) {
  IterationSpec spec;
  spec.model = from_file(model_file(p.model),
                         [](const YamlSection& s) { return model_keys().read(s); });
  std::tie(spec.tensor, spec.expert) = split_of(p);
  spec.precision = precision_of(p, p.precision);
  if (spec.model.moe.experts != 0) spec.expert_precision = precision_of(p, p.expert_precision);
  spec.all_reduce = all_reduce_of(p.accelerator);
  spec.host = serving_host(p.engine);
  const auto accelerator = from_file(accelerator_file(p.accelerator),
                                     [](const YamlSection& s) { return read_accelerator(s); });
  try {
    return std::make_unique<const IterationTime>(spec, accelerator);
  } catch (const model::SpecProblem& problem) {
    throw core::InputError(p.place, problem.what());
  }
}

ServingPointResult predict_one(const ServingPoint& p, const IterationTime& time) {
  // SGLang runs prompts by themselves unless it is told to mix (--enable-mixed-chunk).
  const auto outcome = model::serving::run_closed_loop(
      {.clients = p.clients,
       .requests = p.clients * kServingRequestsPerClient,
       .prompt_most = p.input_tokens,
       .output_most = p.output_tokens,
       .least_share = p.benchmark == "inferencemax" ? kServingLeastShare : 1.0,
       .batch_tokens_max = kServingBatchTokens,
       .mixes = p.engine != "sglang"},
      time);
  return {.ttft_ms = static_cast<double>(outcome.first_token_mean.ps) / 1e9,
          .tpot_ms = static_cast<double>(outcome.per_token_mean.ps) / 1e9,
          .reason = ""};
}

}  // namespace

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
    for (const auto& [name, member] : kCounts) {
      const std::size_t column = table.require({name});
      if (row.has(column) && row.at(column) != "0") {
        const std::uint64_t count = row.count(column);
        if (count > 1 << 20) row.fail(column, "a number up to 1048576");
        p.*member = static_cast<std::uint32_t>(count);
      }
    }
    p.ttft_ms = row.positive(ttft);
    p.tpot_ms = row.positive(tpot);
    if (p.mode == "agg" && p.input_tokens == 0) row.fail(table.require({"input_tokens"}), "tokens");
    if (p.mode == "agg" && p.output_tokens == 0) {
      row.fail(table.require({"output_tokens"}), "tokens");
    }
  });
  return points;
}

std::vector<ServingPointResult> predict(const std::vector<ServingPoint>& points,
                                        std::uint32_t threads) {
  std::vector<ServingPointResult> results(points.size());
  std::map<ReplicaKey, std::unique_ptr<const IterationTime>> times;
  for (std::size_t i = 0; i < points.size(); ++i) {
    results[i].reason = reason_against(points[i]);
    if (!results[i].reason.empty()) continue;
    auto& time = times[key_of(points[i])];
    if (!time) time = iteration_time(points[i]);
  }
  std::atomic<std::size_t> next = 0;  // relaxed: each index is taken once, whoever takes it
  const auto work = [&] {
    for (;;) {
      const std::size_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= points.size()) return;
      if (results[i].reason.empty()) {
        results[i] = predict_one(points[i], *times.at(key_of(points[i])));
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
