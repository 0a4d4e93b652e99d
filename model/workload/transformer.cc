// Decoder-only transformers; see transformer.h. What is computed and sent where is in
// transformer_stage.cc, what it costs in transformer_costs.h, in which order in schedule.h.
#include "model/workload/transformer.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/workload/transformer_stage.h"
#include "model/workload/validate.h"

namespace exawarp::model {
namespace {

constexpr std::int64_t kWidthMax = 1 << 24;      // hidden, ffn, vocabulary, sequence length
constexpr std::int64_t kCountMax = 0xfffe;       // layers, heads, micro-batches: 16 bits a node
constexpr std::int64_t kSequencesMax = 1 << 30;  // a step
constexpr std::int64_t kStepsMax = 1000;
constexpr std::int64_t kNodesMax = 1 << 25;  // 3 GiB of file

template <class... Values>
[[noreturn]] void refuse(const char* key, fmt::format_string<Values...> text, Values&&... values) {
  throw SpecProblem(key, fmt::format(text, std::forward<Values>(values)...));
}

void in_range(const char* key, std::int64_t value, std::int64_t first, std::int64_t last) {
  if (value < first || value > last) {
    refuse(key, "out of range: {}; expected {} to {}", value, first, last);
  }
}

// `part` (a parallel size, named by key) must divide `whole`.
void divides(const char* key, std::int64_t part, const char* what, std::int64_t whole) {
  if (whole % part != 0)
    refuse(key, "{} does not divide {}: {}; expected a divisor", part, what, whole);
}

std::int64_t kv_heads(const ModelSpec& model) {
  return model.kv_heads != 0 ? model.kv_heads : model.heads;
}

void check_model(const ModelSpec& model) {
  in_range("model.layers", model.layers, 1, kCountMax);
  in_range("model.hidden", model.hidden, 1, kWidthMax);
  in_range("model.ffn", model.ffn, 1, kWidthMax);
  in_range("model.heads", model.heads, 1, kCountMax);
  in_range("model.kv_heads", model.kv_heads, 0, kCountMax);
  in_range("model.head_dim", model.head_dim, 0, kWidthMax);
  in_range("model.vocabulary", model.vocabulary, 1, kWidthMax);
  divides("model.kv_heads", kv_heads(model), "heads", model.heads);
  if (model.head_dim == 0) divides("model.heads", model.heads, "hidden", model.hidden);
}

void check_parallel(const TransformerSpec& spec) {
  const ParallelSpec& parallel = spec.parallel;
  in_range("parallel.tensor", parallel.tensor, 1, kDevicesMax);
  in_range("parallel.pipeline", parallel.pipeline, 1, kDevicesMax);
  in_range("parallel.data", parallel.data, 1, kDevicesMax);
  if (parallel.tensor * parallel.pipeline > kDevicesMax ||
      parallel.tensor * parallel.pipeline * parallel.data > kDevicesMax) {
    refuse("parallel", "{} x {} x {} devices are too many; expected at most {}", parallel.tensor,
           parallel.pipeline, parallel.data, kDevicesMax);
  }
  divides("parallel.tensor", parallel.tensor, "heads", spec.model.heads);
  divides("parallel.tensor", parallel.tensor, "kv_heads", kv_heads(spec.model));
  divides("parallel.tensor", parallel.tensor, "ffn", spec.model.ffn);
  divides("parallel.tensor", parallel.tensor, "hidden", spec.model.hidden);
  divides("parallel.tensor", parallel.tensor, "vocabulary", spec.model.vocabulary);
  std::vector<std::string> order = parallel.order;
  std::sort(order.begin(), order.end());
  if (order != std::vector<std::string>{"data", "pipeline", "tensor"}) {
    refuse("parallel.order",
           "not an order of the axes: [{}]; expected tensor, data and pipeline, "
           "each once",
           printable(fmt::format("{}", fmt::join(parallel.order, ", "))));
  }
}

void check_batch(const TransformerSpec& spec) {
  const std::int64_t data = spec.parallel.data;
  in_range("sequence_length", spec.sequence_length, 1, kWidthMax);
  in_range("global_batch_sequences", spec.global_batch_sequences, 1, kSequencesMax);
  in_range("micro_batch_sequences", spec.micro_batch_sequences, 1, kSequencesMax);
  if (spec.parallel.sequence_parallel && spec.sequence_length % spec.parallel.tensor != 0) {
    refuse("sequence_length",
           "{} is no multiple of parallel.tensor: {}, over which sequence parallelism splits it",
           spec.sequence_length, spec.parallel.tensor);
  }
  if (spec.global_batch_sequences % (data * spec.micro_batch_sequences) != 0) {
    refuse("global_batch_sequences",
           "{} is no multiple of parallel.data x micro_batch_sequences: {} x {}",
           spec.global_batch_sequences, data, spec.micro_batch_sequences);
  }
  const std::int64_t micro_batches =
      spec.global_batch_sequences / (data * spec.micro_batch_sequences);
  if (micro_batches > kCountMax) {
    refuse("global_batch_sequences", "makes {} micro-batches a step; expected at most {}",
           micro_batches, kCountMax);
  }
  if (bytes_of(spec.precision) == 0) refuse("precision", "none is given; expected one");
  if (bytes_of(spec.gradient_precision) == 0) {
    refuse("gradient_precision", "none is given; expected one");
  }
  in_range("gradient_buckets", spec.gradient_buckets, 1, kCountMax);
  in_range("steps", spec.steps, 1, kStepsMax);
  const std::int64_t nodes =  // each factor is checked: no overflow
      (spec.model.layers + 2 * spec.parallel.pipeline) * 36 * micro_batches * spec.steps;
  if (nodes > kNodesMax) {
    refuse("global_batch_sequences", "makes a workload of about {} nodes; expected at most {}",
           nodes, kNodesMax);
  }
}

void check_split(const TransformerSpec& spec, std::int64_t chunks) {
  const std::int64_t layers = spec.model.layers;
  const std::int64_t first = spec.schedule.first_stage_layers;
  const std::int64_t last = spec.schedule.last_stage_layers;
  if (layers < chunks) {
    refuse("model.layers",
           "{} layers are fewer than {} pipeline chunks (parallel.pipeline {} x "
           "schedule.virtual_stages {}); expected at least one each",
           layers, chunks, spec.parallel.pipeline, spec.schedule.virtual_stages);
  }
  in_range("schedule.first_stage_layers", first, 0, layers);
  in_range("schedule.last_stage_layers", last, 0, layers);
  const std::int64_t fixed = (first != 0 ? 1 : 0) + (last != 0 ? 1 : 0);
  const std::int64_t left = layers - first - last;
  const std::int64_t others = chunks - fixed;
  if (fixed > 0 && (others < 0 || left < others || (others == 0 && left != 0))) {
    refuse(first != 0 ? "schedule.first_stage_layers" : "schedule.last_stage_layers",
           "leaves {} of {} layers for the other {} pipeline chunks; expected at least one each",
           left, layers, others);
  }
}

void check_schedule(const TransformerSpec& spec) {
  if (spec.schedule.kind != "1f1b") {
    refuse("schedule.kind", "no such schedule: \"{}\"; expected 1f1b",
           printable(spec.schedule.kind));
  }
  const std::int64_t virtual_stages = spec.schedule.virtual_stages;
  in_range("schedule.virtual_stages", virtual_stages, 1, kCountMax);
  const std::int64_t pipeline = spec.parallel.pipeline;
  if (virtual_stages > 1 && pipeline == 1) {
    refuse("schedule.virtual_stages", "{} with one pipeline stage; expected 1", virtual_stages);
  }
  check_split(spec, pipeline * virtual_stages);
  const std::int64_t micro_batches =
      spec.global_batch_sequences / (spec.parallel.data * spec.micro_batch_sequences);
  if (virtual_stages > 1 && micro_batches % pipeline != 0) {
    refuse("schedule.virtual_stages",
           "{} micro-batches are no multiple of parallel.pipeline: {}, as an interleaved schedule "
           "needs; expected 1 virtual stage, or another batch",
           micro_batches, pipeline);
  }
}

TransformerPlan make_plan(const TransformerSpec& spec) {
  const auto narrow = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  TransformerPlan plan{.spec = spec, .costs = transformer_costs(spec)};
  plan.shape = {.stages = narrow(spec.parallel.pipeline),
                .chunks = narrow(spec.schedule.virtual_stages),
                .micro_batches = narrow(spec.global_batch_sequences /
                                        (spec.parallel.data * spec.micro_batch_sequences))};
  plan.chunk_layers = layers_of_chunks({.layers = narrow(spec.model.layers),
                                        .chunks = plan.shape.stages * plan.shape.chunks,
                                        .first = narrow(spec.schedule.first_stage_layers),
                                        .last = narrow(spec.schedule.last_stage_layers)});
  plan.tensor = narrow(spec.parallel.tensor);
  plan.data = narrow(spec.parallel.data);
  return plan;
}

// Pairs of the devices with one place in the first and in the last stage.
std::vector<std::vector<std::uint32_t>> embedding_pairs(const TransformerSpec& spec) {
  std::uint32_t stride = 1;  // of the pipeline axis
  for (const std::string& axis : spec.parallel.order) {
    if (axis == "pipeline") break;
    stride *=
        static_cast<std::uint32_t>(axis == "tensor" ? spec.parallel.tensor : spec.parallel.data);
  }
  const auto stages = static_cast<std::uint32_t>(spec.parallel.pipeline);
  const auto devices =
      static_cast<std::uint32_t>(spec.parallel.tensor * spec.parallel.data) * stages;
  std::vector<std::vector<std::uint32_t>> pairs;
  for (std::uint32_t device = 0; device < devices; ++device) {
    if (device / stride % stages == 0) pairs.push_back({device, device + (stages - 1) * stride});
  }
  return pairs;
}

void add_mesh(const TransformerSpec& spec, TransformerPlan& plan, WorkloadBuilder& workload) {
  std::uint8_t tensor_axis = 0;
  std::uint8_t data_axis = 0;
  for (const std::string& name : spec.parallel.order) {
    const std::int64_t size = name == "tensor" ? spec.parallel.tensor
                              : name == "data" ? spec.parallel.data
                                               : spec.parallel.pipeline;
    const std::uint8_t axis = workload.add_axis(name, static_cast<std::uint32_t>(size));
    (name == "tensor" ? tensor_axis : name == "data" ? data_axis : plan.pipeline_axis) = axis;
  }
  plan.tensor_group = workload.add_group("tensor", {tensor_axis});
  plan.data_group = workload.add_group("data", {data_axis});
  plan.pipeline_group = workload.add_group("pipeline", {plan.pipeline_axis});
  if (spec.model.tied_embeddings && plan.shape.stages > 1) {
    plan.embedding_group = workload.add_group_lists("embedding", embedding_pairs(spec));
  }
}

void set_totals(const TransformerPlan& plan, WorkloadBuilder& workload) {
  const TransformerSpec& spec = plan.spec;
  const double per_micro_batch =
      static_cast<double>(spec.model.layers) * static_cast<double>(plan.costs.layer_model_flops) +
      static_cast<double>(plan.costs.head_model_flops);
  const double ranks = static_cast<double>(plan.tensor) * static_cast<double>(plan.data);
  workload.set_training(
      {.tokens_per_step =
           static_cast<std::uint64_t>(spec.global_batch_sequences * spec.sequence_length),
       .model_flops_per_step = ranks * plan.shape.micro_batches * per_micro_batch,
       .parameters = parameter_count(spec.model),
       .sequences_per_step = static_cast<std::uint64_t>(spec.global_batch_sequences),
       .micro_batches = plan.shape.micro_batches,
       .steps = static_cast<std::uint32_t>(spec.steps)});
}

}  // namespace

void check(const TransformerSpec& spec) {
  check_model(spec.model);
  check_parallel(spec);
  check_batch(spec);
  check_schedule(spec);
  static_cast<void>(transformer_costs(spec));
}

WorkloadGraph generate_transformer(const TransformerSpec& spec) {
  check(spec);
  TransformerPlan plan = make_plan(spec);
  WorkloadBuilder workload(spec.model.name.empty() ? "transformer" : spec.model.name);
  add_mesh(spec, plan, workload);
  for (std::uint32_t stage = 0; stage < plan.shape.stages; ++stage) {
    ProgramBuilder& program = workload.add_program(fmt::format("stage {}", stage));
    StageWriter(plan, stage, workload, program).write();
    workload.bind_range(program.index(), {.axis = plan.pipeline_axis, .first = stage, .count = 1});
  }
  set_totals(plan, workload);
  WorkloadGraph graph = workload.build();
  validate(graph);
  return graph;
}

}  // namespace exawarp::model
