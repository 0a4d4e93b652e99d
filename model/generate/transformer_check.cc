// What makes a transformer's specification impossible; check() of transformer.h.
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "core/names.h"
#include "model/generate/spec_range.h"
#include "model/generate/transformer.h"
#include "model/generate/transformer_costs.h"
#include "model/generate/transformer_mesh.h"
#include "model/generate/transformer_refusal.h"
#include "model/workload/validate.h"

namespace exawarp::model {
namespace {

constexpr std::int64_t kLayerCollectivesMax = 1024;
constexpr std::int64_t kSequencesMax = 1 << 30;  // a step
constexpr std::int64_t kStateBytesMax = 64;
constexpr std::int64_t kReserveMax = std::int64_t{1} << 40;
constexpr double kCapacityMax = 1000;
constexpr std::int64_t kRolesMax = 512;      // ranks with experts of their own
constexpr double kSlotsMax = 0x1p40;         // token slots of a rank and micro-batch
constexpr std::int64_t kNodesMax = 1 << 25;  // 3 GiB of file

// ---- how it is split

void check_order(const ParallelSpec& parallel) {
  static const std::vector<std::string> kNeeded{"data", "pipeline", "tensor"};
  static const std::vector<std::string> kOptional{"context", "expert", "replica"};
  std::vector<std::string> order = parallel.order;
  std::sort(order.begin(), order.end());
  bool sound = std::adjacent_find(order.begin(), order.end()) == order.end() &&
               std::includes(order.begin(), order.end(), kNeeded.begin(), kNeeded.end());
  for (const std::string& name : order) {
    sound = sound && (std::find(kNeeded.begin(), kNeeded.end(), name) != kNeeded.end() ||
                      std::find(kOptional.begin(), kOptional.end(), name) != kOptional.end());
  }
  if (!sound) {
    refuse("parallel.order",
           "not an order of the axes: [{}]; expected tensor, data and pipeline, "
           "each once, and at most once context, expert and replica",
           printable(fmt::format("{}", fmt::join(parallel.order, ", "))));
  }
}

void check_expert_parallel(const TransformerSpec& spec) {
  const ParallelSpec& p = spec.parallel;
  const MoeSpec& moe = spec.model.moe;
  in_range("parallel.expert", p.expert, 1, kDevicesMax);
  in_range("parallel.expert_tensor", p.expert_tensor, 0, p.tensor);
  if (moe.experts == 0) {
    if (p.expert > 1) refuse("parallel.expert", "{} without model.moe; expected 1", p.expert);
    return;
  }
  divides("parallel.expert", p.expert, "model.moe.experts", moe.experts);
  const std::int64_t within = expert_tensor_of(p);
  divides("parallel.expert_tensor", within, "parallel.tensor", p.tensor);
  divides("parallel.expert_tensor", within, "model.moe.ffn", moe.ffn);
  if (moe.shared_ffn != 0) {
    divides("parallel.tensor", p.tensor, "model.moe.shared_ffn", moe.shared_ffn);
  }
  if (p.tensor > 1 && !p.sequence_parallel) {
    refuse("parallel.sequence_parallel",
           "false with experts and parallel.tensor {}; expected true: ranks of a tensor group "
           "send different tokens",
           p.tensor);
  }
  const std::int64_t outer = p.tensor / within;
  if (p.expert % outer != 0 || p.data % (p.expert / outer) != 0) {
    refuse("parallel.expert",
           "{} ranks are no product of parallel.tensor / parallel.expert_tensor, {}, and a divisor "
           "of parallel.data, {}",
           p.expert, outer, p.data);
  }
}

void check_shards(const ParallelSpec& p, std::int64_t experts_in_data) {
  in_range("parallel.shard_group", p.shard_group, 0, p.data);
  in_range("parallel.prefetch_layers", p.prefetch_layers, 0, kCountMax);
  in_range("parallel.layer_collectives", p.layer_collectives, 1, kLayerCollectivesMax);
  if (p.shard_group == 0) return;
  divides("parallel.shard_group", p.shard_group, "parallel.data", p.data);
  if (p.shard_group % experts_in_data != 0) {
    refuse("parallel.shard_group", "{} is no multiple of the {} data ranks that share experts",
           p.shard_group, experts_in_data);
  }
  if (p.sharding == Sharding::kNone && p.shard_group != p.data) {
    refuse("parallel.shard_group",
           "{} where nothing is sharded; expected 0, or another "
           "parallel.sharding",
           p.shard_group);
  }
}

// Ranks have whole groups of heads. Over a split sequence heads are exchanged for tokens and back.
void check_mamba_split(const ModelSpec& model, const ParallelSpec& parallel) {
  const MambaSpec& mamba = model.mamba;
  if (mamba.heads == 0) return;
  divides("parallel.tensor", parallel.tensor, "model.mamba.groups", mamba.groups);
  const std::int64_t groups = mamba.groups / parallel.tensor;
  divides("parallel.context", parallel.context, "the mamba groups of a tensor-parallel rank",
          groups);
}

void check_context(const TransformerSpec& spec) {
  const std::int64_t context = spec.parallel.context;
  if (context == 1) return;
  if (spec.model.family != ModelFamily::kDecoder) {
    refuse("parallel.context", "{} in a model of another family; expected 1, or family: decoder",
           context);
  }
  if (spec.parallel.context_method != ContextMethod::kUlysses) return;
  const std::int64_t heads = kv_heads_of(spec.model) / spec.parallel.tensor;
  if (heads % context != 0) {
    refuse("parallel.context",
           "{} does not divide the {} kv_heads of a tensor-parallel rank; expected a divisor, or "
           "another parallel.context_method",
           context, heads);
  }
}

void check_sizes(const ParallelSpec& parallel) {
  in_range("parallel.tensor", parallel.tensor, 1, kDevicesMax);
  in_range("parallel.pipeline", parallel.pipeline, 1, kDevicesMax);
  in_range("parallel.data", parallel.data, 1, kDevicesMax);
  in_range("parallel.context", parallel.context, 1, kDevicesMax);
  std::int64_t devices = 1;
  for (const std::int64_t size :
       {parallel.tensor, parallel.pipeline, parallel.data, parallel.context}) {
    devices *= size;
    if (devices <= kDevicesMax) continue;
    const std::string context = parallel.context == 1 ? "" : fmt::format(" x {}", parallel.context);
    refuse("parallel", "{} x {} x {}{} devices are too many; expected at most {}", parallel.tensor,
           parallel.pipeline, parallel.data, context, kDevicesMax);
  }
}

void check_parallel(const TransformerSpec& spec) {
  const ParallelSpec& parallel = spec.parallel;
  check_sizes(parallel);
  divides("parallel.tensor", parallel.tensor, "heads", spec.model.heads);
  divides("parallel.tensor", parallel.tensor, "kv_heads", kv_heads_of(spec.model));
  divides("parallel.tensor", parallel.tensor, "ffn", spec.model.ffn);
  divides("parallel.tensor", parallel.tensor, "hidden", spec.model.hidden);
  divides("parallel.tensor", parallel.tensor, "vocabulary", spec.model.vocabulary);
  check_order(parallel);
  check_mamba_split(spec.model, parallel);
  check_context(spec);
  check_expert_parallel(spec);
  const std::int64_t outer = parallel.tensor / expert_tensor_of(parallel);
  check_shards(parallel, std::max<std::int64_t>(parallel.expert / outer, 1));
}

// ---- the batch

void check_sequence(const char* key, std::int64_t tokens, const ParallelSpec& p) {
  const std::int64_t cut = p.context * (p.sequence_parallel ? p.tensor : 1);
  if (tokens % cut == 0) return;
  if (p.context == 1) {
    refuse(key,
           "{} is no multiple of parallel.tensor: {}, over which sequence parallelism splits it",
           tokens, p.tensor);
  }
  refuse(key,
         "{} is no multiple of {}, into which parallel.context and sequence parallelism "
         "split it",
         tokens, cut);
}

void check_precisions(const TransformerSpec& spec) {
  check_stored("precision", spec.precision);
  check_stored("gradient_precision", spec.gradient_precision);
  check_stored("parameter_precision", parameter_precision_of(spec));
  check_stored("routing.dispatch_precision", dispatch_precision_of(spec));
  in_range("optimizer.state_bytes", spec.optimizer.state_bytes, 0, kStateBytesMax);
  if (spec.kernels.separate_experts && spec.kernels.dense_experts) {
    refuse("kernels.separate_experts", "stands beside dense_experts; expected one of them");
  }
}

void check_batch(const TransformerSpec& spec) {
  const std::int64_t data = spec.parallel.data;
  const bool vision = spec.model.family == ModelFamily::kVision;
  in_range("sequence_length", spec.sequence_length, vision ? 0 : 1, vision ? 0 : kWidthMax);
  in_range("encoder_sequence_length", spec.encoder_sequence_length, 0,
           spec.model.family == ModelFamily::kEncoderDecoder ? kWidthMax : 0);
  in_range("global_batch_sequences", spec.global_batch_sequences, 1, kSequencesMax);
  in_range("micro_batch_sequences", spec.micro_batch_sequences, 1, kSequencesMax);
  check_sequence(vision ? "model.patch" : "sequence_length", tokens_of(spec), spec.parallel);
  if (spec.encoder_sequence_length != 0) {
    check_sequence("encoder_sequence_length", spec.encoder_sequence_length, spec.parallel);
  }
  if (spec.global_batch_sequences % (data * spec.micro_batch_sequences) != 0) {
    refuse("global_batch_sequences",
           "{} is no multiple of parallel.data x micro_batch_sequences: {} x {}",
           spec.global_batch_sequences, data, spec.micro_batch_sequences);
  }
  const std::int64_t micro_batches = micro_batches_of(spec);
  if (micro_batches > kCountMax) {
    refuse("global_batch_sequences", "makes {} micro-batches a step; expected at most {}",
           micro_batches, kCountMax);
  }
  check_precisions(spec);
  in_range("gradient_buckets", spec.gradient_buckets, 1, kCountMax);
  in_range("steps", spec.steps, 1, kStepsMax);
}

// Of so many steps: a study whose steps repeat generates only some of them.
void check_size_of(const TransformerSpec& spec, std::int64_t steps) {
  std::int64_t each = 36;  // nodes of a layer and micro-batch
  if (spec.model.moe.experts != 0) each += spec.routing.node_devices != 0 ? 24 : 20;
  if (spec.kernels.sort_slots) each += 4;
  if (spec.model.family == ModelFamily::kEncoderDecoder) each += 16;
  if (spec.recompute.kind == Recompute::kFull) each += each / 2;
  if (spec.recompute.kind == Recompute::kLatent) each += 10;
  if (spec.recompute.kind == Recompute::kExperts) each += 16;
  if (spec.parallel.sharding == Sharding::kZero3) each += 6;
  if (spec.overlap.tensor == TensorOverlap::kPipelined) each += 16 * spec.overlap.tensor_parts;
  if (spec.parallel.context_method == ContextMethod::kRing) each += 5 * (spec.parallel.context - 1);
  const std::int64_t roles = spec.routing.imbalance > 0 ? spec.parallel.expert : 1;
  // Each factor is checked; a double cannot overflow.
  const double nodes = static_cast<double>(layers_of(spec.model) + 2 * spec.parallel.pipeline) *
                       static_cast<double>(each) * static_cast<double>(micro_batches_of(spec)) *
                       static_cast<double>(steps) * static_cast<double>(roles);
  if (nodes > static_cast<double>(kNodesMax)) {
    refuse(steps == 1 ? "global_batch_sequences" : "steps",
           "makes a workload of about {:.0f} nodes; expected at most {}{}", nodes, kNodesMax,
           steps == 1 ? "" : ", or a study with repetition: auto");
  }
}

// ---- the schedule

void check_chunk_layers(const TransformerSpec& spec, std::int64_t chunks) {
  const std::vector<std::uint32_t>& given = spec.schedule.chunk_layers;
  if (static_cast<std::int64_t>(given.size()) != chunks) {
    refuse("schedule.chunk_layers", "has {} entries; expected {}, one a pipeline chunk",
           given.size(), chunks);
  }
  if (spec.schedule.first_stage_layers != 0 || spec.schedule.last_stage_layers != 0) {
    refuse("schedule.chunk_layers",
           "stands beside first_stage_layers or last_stage_layers; expected one of them");
  }
  const std::int64_t sum = std::accumulate(given.begin(), given.end(), std::int64_t{0});
  if (sum != layers_of(spec.model)) {
    refuse("schedule.chunk_layers", "adds up to {} layers; expected {}", sum,
           layers_of(spec.model));
  }
  for (std::size_t i = 1; i + 1 < given.size(); ++i) {
    if (given[i] == 0) {
      refuse("schedule.chunk_layers",
             "gives chunk {} no layer; expected at least one but in the first and last", i);
    }
  }
}

void check_split(const TransformerSpec& spec, std::int64_t chunks) {
  const bool ends = spec.schedule.count_ends;
  const std::int64_t fixed_ends =
      spec.schedule.first_stage_layers + spec.schedule.last_stage_layers;
  if (ends && (!spec.schedule.chunk_layers.empty() || fixed_ends != 0)) {
    refuse("schedule.count_ends",
           "stands beside first_stage_layers, last_stage_layers or chunk_layers; expected one of "
           "them");
  }
  if (!spec.schedule.chunk_layers.empty()) return check_chunk_layers(spec, chunks);
  const std::int64_t layers = layers_of(spec.model) + (ends ? 2 : 0);
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

// What a schedule needs whose micro-batches come in at both ends.
void check_both_ways(const TransformerSpec& spec, std::int64_t micro_batches) {
  const std::int64_t pipeline = spec.parallel.pipeline;
  if (spec.model.family == ModelFamily::kEncoderDecoder) {
    refuse("schedule.kind", "dualpipe with family encoder_decoder; expected another schedule");
  }
  if (spec.schedule.virtual_stages > 1) {
    refuse("schedule.virtual_stages", "{} with schedule.kind dualpipe; expected 1",
           spec.schedule.virtual_stages);
  }
  if (pipeline % 2 != 0) {
    refuse("parallel.pipeline", "{} with schedule.kind dualpipe; expected an even number",
           pipeline);
  }
  if (micro_batches % 2 != 0 || micro_batches < 2 * pipeline) {
    refuse("global_batch_sequences",
           "makes {} micro-batches a step with schedule.kind dualpipe; expected an even number of "
           "at least twice parallel.pipeline, {}",
           micro_batches, 2 * pipeline);
  }
  if (spec.parallel.sharding == Sharding::kZero3) {
    refuse("parallel.sharding", "zero3 with schedule.kind dualpipe; expected none, zero1 or zero2");
  }
}

void check_together(const TransformerSpec& spec) {
  const ScheduleKind kind = spec.schedule.kind;
  if (kind != ScheduleKind::k1F1B && kind != ScheduleKind::kDualPipe) {
    refuse("overlap.experts", "true with schedule.kind {}; expected 1f1b or dualpipe",
           core::name_of(kind));
  }
  if (spec.parallel.sharding == Sharding::kZero3) {
    refuse("overlap.experts", "true with parallel.sharding zero3; expected none, zero1 or zero2");
  }
}

void check_schedule(const TransformerSpec& spec) {
  const std::int64_t virtual_stages = spec.schedule.virtual_stages;
  in_range("schedule.virtual_stages", virtual_stages, 1, kCountMax);
  const std::int64_t pipeline = spec.parallel.pipeline;
  if (virtual_stages > 1 && pipeline == 1) {
    refuse("schedule.virtual_stages", "{} with one pipeline stage; expected 1", virtual_stages);
  }
  if (virtual_stages > 1 && spec.schedule.kind == ScheduleKind::kZeroH1) {
    refuse("schedule.virtual_stages", "{} with schedule.kind zb_h1; expected 1", virtual_stages);
  }
  check_split(spec, pipeline * virtual_stages);
  if (spec.overlap.experts) check_together(spec);
  const std::int64_t micro_batches = micro_batches_of(spec);
  if (spec.schedule.kind == ScheduleKind::kDualPipe) return check_both_ways(spec, micro_batches);
  if (virtual_stages > 1 && micro_batches % pipeline != 0) {
    refuse("schedule.virtual_stages",
           "{} micro-batches are no multiple of parallel.pipeline: {}, as an interleaved schedule "
           "needs; expected 1 virtual stage, or another batch",
           micro_batches, pipeline);
  }
}

// ---- the rest

// Tokens that go once to each node.
void check_nodes(const TransformerSpec& spec) {
  const RoutingSpec& routing = spec.routing;
  in_range("routing.node_devices", routing.node_devices, 0, kDevicesMax);
  in_range("routing.nodes_max", routing.nodes_max, 0, kDevicesMax);
  if (routing.node_devices == 0) {
    if (routing.nodes_max != 0) {
      refuse("routing.nodes_max", "{} without routing.node_devices; expected both, or 0",
             routing.nodes_max);
    }
    return;
  }
  if (routing.imbalance != 0 || routing.capacity_factor != 0) {
    refuse("routing.node_devices",
           "{} with routing.imbalance or routing.capacity_factor; expected experts that are "
           "equally busy, or 0",
           routing.node_devices);
  }
  if (spec.model.moe.experts == 0 || spec.parallel.expert == 1) return;
  const std::int64_t of_node = expert_ranks_of_node(spec);
  if (of_node == 0 || spec.parallel.expert % of_node != 0) {
    refuse(
        "routing.node_devices",
        "nodes of {} devices hold different numbers of the {} ranks that share experts; expected "
        "as many in each",
        routing.node_devices, spec.parallel.expert);
  }
  const std::int64_t nodes = spec.parallel.expert / of_node;
  const std::int64_t of_nodes = spec.model.moe.experts / nodes * routing.nodes_max;
  if (routing.nodes_max != 0 && of_nodes < spec.model.moe.top_k) {
    refuse("routing.nodes_max", "{} nodes have {} experts; expected at least top_k, {}",
           routing.nodes_max, of_nodes, spec.model.moe.top_k);
  }
}

void check_attention_precision(const TransformerSpec& spec) {
  using schema::DataType;
  const DataType type = attention_precision_of(spec);
  if (type == spec.precision) return;
  if (type != DataType::FP8 || spec.gemm_precision != DataType::FP8 || !spec.flash_attention) {
    refuse("attention_precision",
           "{} in a model of {}; expected {}, or fp8 with gemm_precision: fp8 and flash_attention",
           core::name_of(type), core::name_of(spec.precision), core::name_of(spec.precision));
  }
}

void check_options(const TransformerSpec& spec) {
  check_attention_precision(spec);
  in_range("gemm_precision_ends", spec.gemm_precision_ends, 0, kCountMax);
  in_range("gemm_precision_last", spec.gemm_precision_last, 0, kCountMax);
  in_range("gradient_bucket_parameters", spec.gradient_bucket_parameters, 0, std::int64_t{1} << 53);
  in_range("reserves.framework", spec.reserves.framework, 0, kReserveMax);
  in_range("reserves.communicator", spec.reserves.communicator, 0, kReserveMax);
  if (!(spec.reserves.fragmentation >= 0 && spec.reserves.fragmentation <= 1)) {
    refuse("reserves.fragmentation", "out of range: {}; expected 0 to 1",
           spec.reserves.fragmentation);
  }
  in_range("recompute.layers", spec.recompute.layers, 0, kCountMax);
  in_range("overlap.tensor_parts", spec.overlap.tensor_parts, 1, kPartsMax);
  in_range("storage.bytes_per_sequence", spec.storage.bytes_per_sequence, 0, std::int64_t{1} << 31);
  in_range("storage.checkpoint_every", spec.storage.checkpoint_every, 0, kStepsMax);
  const RoutingSpec& routing = spec.routing;
  if (!(routing.imbalance >= 0 && routing.imbalance <= 1)) {
    refuse("routing.imbalance", "out of range: {}; expected 0 to 1", routing.imbalance);
  }
  if (!(routing.capacity_factor >= 0 && routing.capacity_factor <= kCapacityMax)) {
    refuse("routing.capacity_factor", "out of range: {}; expected 0 to {}", routing.capacity_factor,
           kCapacityMax);
  }
  if (routing.pad && routing.capacity_factor == 0) {
    refuse("routing.pad", "true without routing.capacity_factor; expected false, or a factor");
  }
  if (routing.imbalance > 0 && spec.parallel.expert > kRolesMax) {
    refuse("routing.imbalance", "{} with parallel.expert {}; expected 0, or at most {} ranks",
           routing.imbalance, spec.parallel.expert, kRolesMax);
  }
  check_nodes(spec);
  const double slots = static_cast<double>(spec.micro_batch_sequences) *
                       static_cast<double>(tokens_of(spec)) *
                       static_cast<double>(spec.model.moe.top_k);
  if (spec.model.moe.experts != 0 && slots > kSlotsMax) {
    refuse("micro_batch_sequences", "makes {:.3g} token slots; expected at most {:.3g}", slots,
           kSlotsMax);
  }
}

}  // namespace

void check(const ModelSpec& model, const ParallelSpec& parallel) {
  TransformerSpec training;
  training.model = model;
  training.parallel = parallel;
  training.sequence_length = training.micro_batch_sequences = 1;
  training.global_batch_sequences = parallel.data;
  check(training);
}

void check_size(const TransformerSpec& spec) { check_size_of(spec, spec.steps); }

void check(const TransformerSpec& spec) {
  check_network(spec.model);
  check_parallel(spec);
  check_batch(spec);
  check_schedule(spec);
  check_options(spec);
  check_size_of(spec, 1);
  const ExpertRouting routing = route_experts(spec);
  for (std::uint32_t rank = 0; rank < (routing.balanced ? 1 : routing.ranks); ++rank) {
    static_cast<void>(transformer_costs(spec, routing, rank));
  }
  static_cast<void>(model_flops_of_step(spec));
}

}  // namespace exawarp::model
