// Measured points of serving engines beside what a closed loop on measured kernels says of them:
// `exawarp validate --serving`. Nothing is fitted to a row: a point's columns say what is
// simulated, and the host's time an iteration is one number for each engine (serving_host()).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/time.h"
#include "model/serving/kv_room.h"

namespace exawarp::io {

// Of replicas, as the source writes it. Counts are 0 where the field is empty.
struct ServingLayout {
  std::uint32_t tensor = 0, attention_data = 0, expert_tensor = 0, expert = 0;
};
struct ServingPointPool {
  std::uint32_t workers = 0, batch = 0;  // batch: requests of a worker at once
  ServingLayout layout;
};

// A line of configs/validation/serving/points.csv. Files that it names: configs/models/MODEL.yaml,
// and the accelerator's. Counts are 0 where the field is empty.
struct ServingPoint {
  std::string place;  // "points.csv:17"
  std::string benchmark, model, accelerator, engine, version, precision, expert_precision, mode;
  ServingLayout layout;              // of mode `agg`
  ServingPointPool prefill, decode;  // of mode `disagg`
  std::uint32_t input_tokens = 0, output_tokens = 0, clients = 0, batch = 0;
  double ttft_ms = 0, tpot_ms = 0;  // measured
};

struct ServingPointResult {
  double ttft_ms = 0, tpot_ms = 0;  // means of the requests
  std::string reason;               // why there is no prediction; empty: there is one
};

// Requests of a client, and the tokens of a batch: those of InferenceMAX (--num-prompts 10 a
// client, --max-num-batched-tokens 8192). So is the least share of a length (--random-range-ratio
// 0.8); the other points' benchmarks ask for the lengths that they name.
constexpr std::uint32_t kServingRequestsPerClient = 10;
constexpr double kServingLeastShare = 0.8;
constexpr std::uint32_t kServingBatchTokens = 8192;
// Iterations that TensorRT-LLM waits for a prompt for each group of data-parallel attention, in the
// same scripts (attention_dp_config: {enable_balance: true, timeout_iters: 60}).
constexpr std::uint32_t kServingGathersFor = 60;

// Keys and values of fp8: TensorRT-LLM's of models that NVIDIA quantised, which it takes from their
// configuration and InferenceMAX's scripts ask for (kv_cache_config: {dtype: fp8}); and what these
// scripts ask of SGLang on Blackwell (--kv-cache-dtype fp8_e4m3) and, after vLLM's recipe, of vLLM
// for Llama 3 70B. Else as engines do by themselves: bf16.
model::schema::DataType serving_cache(const ServingPoint& point);
// Of InferenceMAX's SGLang: --chunked-prefill-size 16384 in nvfp4, 32768 in fp8 on eight devices.
std::uint32_t serving_batch_tokens(const ServingPoint& point);
// Iterations between looks for new requests: of SGLang on Blackwell what InferenceMAX's scripts say
// (--scheduler-recv-interval: 10, and 30 from 16 clients on), else 1.
std::uint32_t serving_looks_every(const ServingPoint& point);
// Of the same scripts: vLLM's default; --mem-fraction-static 0.82, weights included;
// free_gpu_memory_fraction 0.8 of what weights leave. The workspace is assumed.
model::serving::MemoryRule serving_memory(const std::string& engine);

// Throws core::InputError naming line and column of what is wrong.
std::vector<ServingPoint> read_serving_points(const std::string& path);

// Of all its replicas.
std::int64_t serving_devices(const ServingPoint& point);

// That comes to each iteration. TensorRT-LLM prepares the next one while the devices compute; the
// others' schedulers, in Python, are taken as 1 ms. All versions of an engine have the same.
core::Time serving_host(const std::string& engine);

// As many as points, in their order; nothing of them depends on `threads`, which is >= 1. Throws
// core::InputError for what models' and accelerators' files hold.
std::vector<ServingPointResult> predict(const std::vector<ServingPoint>& points,
                                        std::uint32_t threads);

// Tables in Markdown: errors by model, accelerator and engine, the worst rows, what was left out.
std::string serving_validation_text(const std::vector<ServingPoint>& points,
                                    const std::vector<ServingPointResult>& results);
// A line a point: its place, measured and predicted times, why not.
std::string serving_validation_csv(const std::vector<ServingPoint>& points,
                                   const std::vector<ServingPointResult>& results);

}  // namespace exawarp::io
