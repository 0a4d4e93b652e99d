// What generate_transformer() (transformer.h) is asked for: the network, how it is split over
// devices, in which order a pipeline works, what is recomputed, kept, sent and stored.
// Keys are as users write them; docs/reference/keys.md lists them with their defaults.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/names.h"
#include "core/time.h"
#include "model/generate/spec.h"

namespace exawarp::model {

enum class ModelFamily {
  kDecoder,         // GPT, Llama, Mixtral, DeepSeek: embedding, blocks, head over the vocabulary
  kEncoderDecoder,  // T5: encoder blocks first, then decoder blocks with cross-attention
  kVision,          // ViT: patches, encoder blocks, a head over classes
};

inline constexpr core::Named<ModelFamily> kModelFamilyNames[] = {
    {"decoder", ModelFamily::kDecoder},
    {"encoder_decoder", ModelFamily::kEncoderDecoder},
    {"vision", ModelFamily::kVision}};
constexpr std::span<const core::Named<ModelFamily>> names_of(ModelFamily) {
  return kModelFamilyNames;
}
static_assert(core::names_each(kModelFamilyNames));

// How a layer's attention and feed-forward blocks follow each other.
enum class BlockOrder {
  kSequential,     // "sequential": each with a norm and a residual sum of its own
  kParallel,       // "parallel": both read what one norm wrote (GPT-J, PaLM, MegaScale)
  kParallelNorms,  // "parallel_norms": both read the layer's input, by a norm each (GPT-NeoX)
};

inline constexpr core::Named<BlockOrder> kBlockOrderNames[] = {
    {"sequential", BlockOrder::kSequential},
    {"parallel", BlockOrder::kParallel},
    {"parallel_norms", BlockOrder::kParallelNorms}};
constexpr std::span<const core::Named<BlockOrder>> names_of(BlockOrder) { return kBlockOrderNames; }
static_assert(core::names_each(kBlockOrderNames));

// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434): keys, values and queries come from
// narrow latents, which every tensor-parallel rank computes whole. Keys: model.mla.NAME.
struct MlaSpec {
  std::int64_t query_rank = 0;      // width of the queries' latent; 0: queries have none
  std::int64_t key_value_rank = 0;  // width of the keys' and values' latent; 0: no MLA
  std::int64_t nope_dim = 0;        // of a head: query and key without position
  std::int64_t rope_dim = 0;        // with position; one key part, shared by all heads
  std::int64_t value_dim = 0;
};

// Experts in place of the feed-forward block. Keys: model.moe.NAME.
struct MoeSpec {
  std::int64_t experts = 0;       // routed ones a layer; 0: none
  std::int64_t top_k = 2;         // experts that a token goes to
  std::int64_t ffn = 0;           // inner width of an expert
  std::int64_t shared_ffn = 0;    // inner width of all shared experts together; 0: none
  std::int64_t dense_layers = 0;  // the first so many layers have the dense block (model.ffn)
  std::int64_t every = 1;         // of the rest, one in `every` has experts
  // Experts work on tokens of this width, which a product makes of them before they go to experts
  // and another one undoes after it (Nemotron 3's LatentMoE); 0: on hidden ones.
  std::int64_t latent = 0;
  bool biases = false;   // experts' products have them, as GPT-OSS's
  bool clamped = false;  // what goes into experts' activation is clamped
};

// State-space layers (Mamba-2, Dao and Gu, arXiv:2405.21060), of which model.pattern says where
// they are. Keys: model.mamba.NAME.
struct MambaSpec {
  std::int64_t heads = 0;
  std::int64_t head_dim = 64;
  std::int64_t state_dim = 128;  // of a head, for each of its head_dim channels
  std::int64_t groups = 8;  // heads of a group have their inputs and outputs of state in common
  std::int64_t convolution = 4;  // tokens that the convolution before the scan sees
  std::int64_t chunk = 128;      // tokens that the scan works on at once
};

// What a layer of model.pattern is: one block with a norm and a residual sum of its own.
enum class LayerKind {
  kWhole,        // attention and feed-forward block or experts; of models without a pattern
  kAttention,    // "*"
  kMamba,        // "M"
  kFeedForward,  // "-"
  kExperts,      // "E"
};

// Keys: model.NAME.
struct ModelSpec {
  std::string name;              // model.name
  std::int64_t layers = 0;       // model.layers: transformer blocks; encoder-decoder: the decoder's
  std::int64_t hidden = 0;       // model.hidden: width of the residual stream
  std::int64_t ffn = 0;          // model.ffn: inner width of the feed-forward block
  std::int64_t heads = 0;        // model.heads: query heads
  std::int64_t kv_heads = 0;     // model.kv_heads: key and value heads; 0: as many as heads
  std::int64_t head_dim = 0;     // model.head_dim; 0: hidden / heads
  std::int64_t vocabulary = 0;   // model.vocabulary: rows of the embedding, padding included
  bool gated_ffn = true;         // model.gated_ffn: up and gate (SwiGLU), or up alone (GELU)
  bool tied_embeddings = false;  // model.tied_embeddings: input embedding and head share weights
  bool causal = true;            // model.causal: attention skips what lies in the future
  // model.window: tokens that a query sees at most, its own among them; 0: all before it. The last
  // of every model.full_attention_every layers sees all, and with 0 none does.
  std::int64_t window = 0;
  std::int64_t full_attention_every = 0;
  // model.pattern: what each layer is, a letter each (LayerKind), as Megatron-LM's
  // hybrid_override_pattern says it; empty: all have attention and a feed-forward block.
  std::string pattern = {};
  // model.predictions: modules that predict further tokens (multi-token prediction, DeepSeek-V3,
  // arXiv:2412.19437, section 2.2): each has a product from twice hidden to hidden, and the head
  // and its loss once more. Their layers are the last ones of model.layers.
  std::int64_t predictions = 0;
  BlockOrder blocks = BlockOrder::kSequential;  // model.blocks
  ModelFamily family = ModelFamily::kDecoder;   // model.family
  std::int64_t encoder_layers = 0;              // model.encoder_layers: encoder-decoder alone
  std::int64_t image = 0;                       // model.image: pixels of an edge; vision alone
  std::int64_t patch = 0;                       // model.patch: pixels of a patch's edge
  std::int64_t channels = 3;                    // model.channels
  std::int64_t classes = 0;                     // model.classes: width of the vision head
  MlaSpec mla = {};
  MoeSpec moe = {};
  MambaSpec mamba = {};
};

// How the state of training is spread over the ranks that hold the same parameters.
enum class Sharding {
  kNone,   // "none": gradients all-reduced, every rank updates all parameters
  kZero1,  // "zero1": optimizer state; gradients reduce-scattered, parameters gathered, once a step
  kZero2,  // "zero2": and gradients, reduce-scattered after each micro-batch
  kZero3,  // "zero3", "fsdp": and parameters, gathered layer by layer where they are used
};

inline constexpr core::Named<Sharding> kShardingNames[] = {{"none", Sharding::kNone},
                                                           {"zero1", Sharding::kZero1},
                                                           {"zero2", Sharding::kZero2},
                                                           {"zero3", Sharding::kZero3},
                                                           {"fsdp", Sharding::kZero3}};
constexpr std::span<const core::Named<Sharding>> names_of(Sharding) { return kShardingNames; }
static_assert(core::names_each(kShardingNames));

enum class ContextMethod {
  kRing,       // "ring": keys and values go round, a hop during each part of attention
  kAllGather,  // "all_gather": of keys and values before; reduce-scatter of their gradients
  kUlysses,    // "ulysses": all-to-all from a split sequence to split heads, and back
};

inline constexpr core::Named<ContextMethod> kContextMethodNames[] = {
    {"ring", ContextMethod::kRing},
    {"all_gather", ContextMethod::kAllGather},
    {"ulysses", ContextMethod::kUlysses}};
constexpr std::span<const core::Named<ContextMethod>> names_of(ContextMethod) {
  return kContextMethodNames;
}
static_assert(core::names_each(kContextMethodNames));

// Keys: parallel.NAME. devices = tensor * context * pipeline * data.
struct ParallelSpec {
  std::int64_t tensor = 1;        // parallel.tensor
  std::int64_t pipeline = 1;      // parallel.pipeline
  std::int64_t data = 1;          // parallel.data
  bool sequence_parallel = true;  // parallel.sequence_parallel; no effect when tensor is 1
  // parallel.order: mesh axes, fastest-varying first: tensor, data and pipeline, and where there
  // are any context, expert and replica; left out, context follows tensor, expert precedes data
  // and replica follows it.
  std::vector<std::string> order = {"tensor", "data", "pipeline"};
  std::int64_t context = 1;  // parallel.context
  // parallel.expert: ranks that share the experts of a layer, out of the data-parallel ones and,
  // where expert_tensor is below tensor, the tensor-parallel ones before them.
  std::int64_t expert = 1;
  std::int64_t expert_tensor = 0;  // parallel.expert_tensor: splits an expert; 0: as tensor
  ContextMethod context_method = ContextMethod::kRing;  // parallel.context_method
  Sharding sharding = Sharding::kZero1;                 // parallel.sharding
  // parallel.shard_group: data-parallel ranks that share one copy (hybrid sharding); 0: all.
  std::int64_t shard_group = 0;
  bool reshard_after_forward = true;  // parallel.reshard_after_forward: zero3 gathers for backward
                                      // again; false: gathers once a step and keeps
  std::int64_t prefetch_layers = 1;   // parallel.prefetch_layers: zero3 gathers so far ahead
  // parallel.gather_communicator: zero3 gathers parameters by a communicator of their own, beside
  // reductions. By default one does both, in turn, as PyTorch's FSDP does (arXiv:2304.11277,
  // section 3.3.2). DualPipe's gathers always have their own.
  bool gather_communicator = false;
  // parallel.layer_collectives: zero3 gathers a layer's parameters by so many collectives of equal
  // size, and gradients that are reduced layer by layer likewise: one a tensor, say.
  std::int64_t layer_collectives = 1;
  // parallel.regather_after_recompute: zero3 releases a layer's parameters between its
  // recomputation and its backward pass, and gathers them once more.
  bool regather_after_recompute = false;
  // parallel.member_time: before each of these collectives the device waits for the host, so long
  // for every member whose share is handled on its own (torch.distributed's lists of tensors).
  core::Time member_time = {};
  // parallel.list_copies: what such a collective moves is also copied on the device: into a tensor
  // for each member after a gather (and the tensors are cleared before it); divided by the members,
  // and copied into one buffer, before a reduction.
  bool list_copies = false;
};

enum class ScheduleKind {
  kGpipe,     // "gpipe": all forwards, then all backwards
  k1F1B,      // "1f1b", "interleaved" (with virtual stages)
  kZeroH1,    // "zb_h1": backward split in two, weight gradients fill the bubble
  kDualPipe,  // "dualpipe": from both ends of the pipeline, forwards beside backwards
};

inline constexpr core::Named<ScheduleKind> kScheduleKindNames[] = {
    {"gpipe", ScheduleKind::kGpipe},
    {"1f1b", ScheduleKind::k1F1B},
    {"interleaved", ScheduleKind::k1F1B},
    {"zb_h1", ScheduleKind::kZeroH1},
    {"dualpipe", ScheduleKind::kDualPipe}};
constexpr std::span<const core::Named<ScheduleKind>> names_of(ScheduleKind) {
  return kScheduleKindNames;
}
static_assert(core::names_each(kScheduleKindNames));

// Keys: schedule.NAME.
struct ScheduleSpec {
  ScheduleKind kind = ScheduleKind::k1F1B;
  std::int64_t virtual_stages = 1;  // schedule.virtual_stages: chunks a device; > 1: interleaved
  // schedule.first_stage_layers, schedule.last_stage_layers: layers of the first and the last
  // pipeline chunk (there are pipeline * virtual_stages chunks). 0: the automatic rule of
  // schedule.h: as even as possible, the last chunk first and then the first one getting fewer.
  std::int64_t first_stage_layers = 0;
  std::int64_t last_stage_layers = 0;
  // schedule.count_ends: embedding and head take the place of a layer each (Megatron-Core's
  // account_for_embedding_in_pipeline_split and account_for_loss_in_pipeline_split).
  bool count_ends = false;
  // schedule.chunk_layers: layers of each chunk, in the model's order; empty: by the rule. The
  // first and the last may have none: they have the embedding and the head.
  std::vector<std::uint32_t> chunk_layers = {};
};

enum class Recompute {
  kNone,
  kSelective,  // the attention core, in backward
  kLatent,     // norms, activations, and the products that widen latent attention, in backward
               // (DeepSeek-V3, arXiv:2412.19437, sections 3.2.3 and 3.3.3)
  kExperts,    // norm and block of layers with experts, their exchanges included (Megatron-Core's
               // recompute_modules: layernorm, moe)
  kFull,       // the layer's forward pass, its tensor-parallel collectives included
};

inline constexpr core::Named<Recompute> kRecomputeNames[] = {{"none", Recompute::kNone},
                                                             {"selective", Recompute::kSelective},
                                                             {"latent", Recompute::kLatent},
                                                             {"experts", Recompute::kExperts},
                                                             {"full", Recompute::kFull}};
constexpr std::span<const core::Named<Recompute>> names_of(Recompute) { return kRecomputeNames; }
static_assert(core::names_each(kRecomputeNames));

// Keys: recompute.NAME.
struct RecomputeSpec {
  Recompute kind = Recompute::kNone;
  std::int64_t layers = 0;  // recompute.layers: the first so many layers of a chunk; 0: all
};

enum class OptimizerKind {
  kAdam,  // fp32 master weight and two moments
  kSgd,   // fp32 master weight and momentum
};

inline constexpr core::Named<OptimizerKind> kOptimizerKindNames[] = {{"adam", OptimizerKind::kAdam},
                                                                     {"sgd", OptimizerKind::kSgd}};
constexpr std::span<const core::Named<OptimizerKind>> names_of(OptimizerKind) {
  return kOptimizerKindNames;
}
static_assert(core::names_each(kOptimizerKindNames));

// Keys: optimizer.NAME.
struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::kAdam;
  std::int64_t state_bytes = 0;  // optimizer.state_bytes: a parameter; 0: 12 (adam), 8 (sgd)
  bool gradient_norm = true;     // optimizer.gradient_norm: clipped by the norm of all gradients
};

// How a micro-batch's gradients come into those of the step, in gradient_precision.
enum class Accumulation {
  kNone,      // "none": products write them, in precision, and nothing is summed
  kFused,     // "fused": products add to the main gradients (Megatron-LM's
              // gradient_accumulation_fusion), beyond what their arithmetic hides
  kSeparate,  // "separate": a kernel reads what products wrote and adds it
};

inline constexpr core::Named<Accumulation> kAccumulationNames[] = {
    {"none", Accumulation::kNone},
    {"fused", Accumulation::kFused},
    {"separate", Accumulation::kSeparate}};
constexpr std::span<const core::Named<Accumulation>> names_of(Accumulation) {
  return kAccumulationNames;
}
static_assert(core::names_each(kAccumulationNames));

// What frameworks run beside the arithmetic of the model, and as how many kernels. Costs are those
// of transformer_kernels.h. Keys: kernels.NAME.
struct KernelSpec {
  Accumulation accumulation = Accumulation::kFused;  // kernels.accumulation
  // Each true: one kernel, whose intermediate results stay on chip; false: one for each step.
  bool fused_softmax = true;     // kernels.fused_softmax: scale, mask and softmax of scores that
                                 // flash attention does not keep on chip
  bool fused_activation = true;  // kernels.fused_activation: activation, and gate or bias
  bool fused_residual = true;    // kernels.fused_residual: dropout and sum
  bool fused_loss = true;  // kernels.fused_loss: each of the loss's passes reads logits as the
                           // head wrote them. false: passes over copies of fp32
  // kernels.casts: operands of fp8 and nvfp4 products are converted from bf16, with a maximum for
  // the scale, by kernels of their own: inputs and gradients each micro-batch, weights once a step.
  bool casts = true;
  // kernels.transposes: and written a second time, transposed: Hopper's fp8 products take operands
  // of one layout alone (Transformer Engine, cast_transpose).
  bool transposes = true;
  // kernels.fused_casts: norms write what the products after them read in fp8 themselves; only the
  // transposing is left (Transformer Engine, LayerNormLinear).
  bool fused_casts = true;
  // kernels.current_scaling: a tensor's factor of fp8 comes from its own maximum, not from those of
  // steps before: a conversion reads it once more, and norms cannot write fp8 (Transformer Engine,
  // Float8CurrentScaling).
  bool current_scaling = false;
  // kernels.fused_experts: experts' grouped products apply the activation to what they wrote, and
  // write it in the operands' precision (grouped products of CuTe DSL in Transformer Engine).
  bool fused_experts = false;
  // kernels.dense_experts: a grouped product takes as long as one product with the rows of all
  // experts of the device, which holds where each has thousands of them (DeepGEMM). false: as in
  // whole layers of experts, which were measured in an inference library.
  bool dense_experts = false;
  // kernels.separate_experts: a product for each expert of the device instead, one after another
  // (Transformer Engine's GroupedLinear, nvte_multi_stream_cublas_gemm: on four streams, of which
  // one that a product fills is as fast). Not beside dense_experts.
  bool separate_experts = false;
  // kernels.sort_slots: what an all-to-all brought is sorted by expert before the products, and
  // back after them, where a device has several experts (Megatron-Core's all-to-all dispatcher).
  // DeepEP and HybridEP bring it in order.
  bool sort_slots = false;
  // kernels.fused_biases: experts' biases and clamps are parts of their products and activation.
  // false, and not fused_experts: passes of their own, as Megatron-Core's TEGroupedMLP has them
  // (transformer_costs.h).
  bool fused_biases = false;
  // Once a step, of the share of the gradients that a rank updates (Megatron-LM, optimizer.py).
  bool unscale = true;  // kernels.unscale: fp16's loss scale is taken out, overflows looked for
  bool clip = true;     // kernels.clip: multiplied, where there is a gradient norm
  bool copies = true;   // kernels.copies: new weights come from the fp32 ones by a copy, not by the
                        // optimizer's kernel
};

enum class KernelPreset {
  kIdeal,              // "ideal": nothing beside the arithmetic, everything fused
  kMegatron2021,       // "megatron_2021": arXiv:2104.04473 and 2205.05198: separate accumulation
  kTransformerEngine,  // "transformer_engine": Megatron-Core with it: what a KernelSpec{} is
  kEager,              // "eager": PyTorch as written: nothing is fused
};

inline constexpr core::Named<KernelPreset> kKernelPresetNames[] = {
    {"ideal", KernelPreset::kIdeal},
    {"megatron_2021", KernelPreset::kMegatron2021},
    {"transformer_engine", KernelPreset::kTransformerEngine},
    {"eager", KernelPreset::kEager}};
constexpr std::span<const core::Named<KernelPreset>> names_of(KernelPreset) {
  return kKernelPresetNames;
}
static_assert(core::names_each(kKernelPresetNames));

[[nodiscard]] KernelSpec kernels_of(KernelPreset preset);

enum class TensorOverlap {
  kNone,       // "none": products wait for their collectives
  kBackward,   // "backward": the gather of x overlaps dX, the reduce-scatter of dX dW
  kPipelined,  // "pipelined": and a product and its collective overlap in parts
};

inline constexpr core::Named<TensorOverlap> kTensorOverlapNames[] = {
    {"none", TensorOverlap::kNone},
    {"backward", TensorOverlap::kBackward},
    {"pipelined", TensorOverlap::kPipelined}};
constexpr std::span<const core::Named<TensorOverlap>> names_of(TensorOverlap) {
  return kTensorOverlapNames;
}
static_assert(core::names_each(kTensorOverlapNames));

// Keys: overlap.NAME.
struct OverlapSpec {
  // overlap.gradients: reduced during backward; false: after it, or, where each micro-batch's are
  // reduced, before the next layer's backward pass.
  bool gradients = true;
  bool parameters = false;  // overlap.parameters: gathered during the next step's forward
  // overlap.pipeline: a stage goes on while what it sent is under way. false: waits until it is
  // over, as Megatron-LM's schedule without interleaving does.
  bool pipeline = true;
  // overlap.experts: a forward and a backward pass of different micro-batches run together, so that
  // one computes while the other exchanges tokens. Of 1f1b, interleaved or not; dualpipe does so.
  bool experts = false;
  TensorOverlap tensor = TensorOverlap::kBackward;  // overlap.tensor
  std::int64_t tensor_parts = 4;                    // overlap.tensor_parts, of "pipelined"
};

// How tokens come to experts. Keys: routing.NAME.
struct RoutingSpec {
  // routing.imbalance: experts' shares are drawn evenly from 1 - imbalance to 1 + imbalance times
  // the mean, 0 to 1. Above 0 each expert-parallel rank of a stage has its own program.
  double imbalance = 0;
  std::int64_t seed = 1;       // routing.seed, of the imbalance
  double capacity_factor = 0;  // routing.capacity_factor: an expert takes at most so many times
                               // the mean, other tokens are dropped; 0: no limit
  bool pad = false;            // routing.pad: experts compute their whole capacity
  // routing.node_devices: devices of a node. A token then goes once to each node that it has
  // experts in, and there once to each device, both at the same time in small parts (DeepEP,
  // HybridEP). 0: once to each of its experts, straight.
  std::int64_t node_devices = 0;
  // routing.nodes_max: a token's experts are in at most so many nodes (DeepSeek-V3,
  // arXiv:2412.19437, section 2.1.2); 0: no limit. Requires node_devices.
  std::int64_t nodes_max = 0;
  // routing.dispatch_precision: of tokens on the way to experts, and of gradients on the way to
  // them; the way back is in `precision`. NONE: precision.
  schema::DataType dispatch_precision = schema::DataType::NONE;
};

// Reading and writing of files, over the link to the host. Keys: storage.NAME.
struct StorageSpec {
  std::int64_t bytes_per_sequence = 0;  // storage.bytes_per_sequence: input read; 0: none
  std::int64_t checkpoint_every = 0;    // storage.checkpoint_every: steps; 0: no checkpoints
  bool checkpoint_wait = true;          // storage.checkpoint_wait: the next step waits for it
};

// The host of a device, which launches what it does, one after the other. Keys: host.NAME.
struct HostSpec {
  // host.launch: its time for each kernel, collective and message; PyTorch takes 5 to 25 us an
  // operation. 0: all is launched ahead of time, as graphs are.
  core::Time launch = {};
  // host.pending: so many launches may wait for the device's computations, then the host does. A
  // stream of CUDA's holds about a thousand (NVIDIA's developer forum, topic 68937).
  std::int64_t pending = 1000;
  // host.counts: it waits for the router's counts in every layer of separate experts, whose
  // exchange and products it sizes (Megatron-Core, MoEAlltoAllTokenDispatcher).
  bool counts = true;
};

// Device memory beside tensors. Keys: reserves.NAME.
struct ReserveSpec {
  std::int64_t framework = 0;     // reserves.framework: the driver's context, libraries' workspaces
  std::int64_t communicator = 0;  // reserves.communicator: buffers of each communicator
  double fragmentation = 0;       // reserves.fragmentation: of activations and buffers, on top
};

enum class GradientReduction { kAuto, kStep, kMicroBatch };

inline constexpr core::Named<GradientReduction> kGradientReductionNames[] = {
    {"auto", GradientReduction::kAuto},
    {"step", GradientReduction::kStep},
    {"micro_batch", GradientReduction::kMicroBatch}};
constexpr std::span<const core::Named<GradientReduction>> names_of(GradientReduction) {
  return kGradientReductionNames;
}
static_assert(core::names_each(kGradientReductionNames));

// One or more training steps. Generated by generate_transformer() (transformer.h).
struct TransformerSpec {
  ModelSpec model;
  ParallelSpec parallel;
  ScheduleSpec schedule;
  std::int64_t sequence_length = 0;          // tokens a sequence (vision: of the patches, computed)
  std::int64_t encoder_sequence_length = 0;  // encoder-decoder: the encoder's; 0: sequence_length
  std::int64_t global_batch_sequences = 0;   // sequences a step, over all data-parallel ranks
  std::int64_t micro_batch_sequences = 1;    // sequences a micro-batch
  schema::DataType precision = schema::DataType::BF16;  // weights, activations, their transfers
  // gradient_precision: what gradients are reduced in. fp32 is Megatron-LM's default for bf16
  // training (accumulate_allreduce_grads_in_fp32).
  schema::DataType gradient_precision = schema::DataType::FP32;
  // gemm_precision: what products of a layer read; NONE: precision. fp8 with bf16 around it, say;
  // the only place for nvfp4, whose operands have a factor for every 16 elements.
  schema::DataType gemm_precision = schema::DataType::NONE;
  // parameter_precision: what gathers of parameters carry; NONE: precision.
  schema::DataType parameter_precision = schema::DataType::NONE;
  // attention_precision: what flash attention reads; NONE: precision. fp8, with fp8 products alone,
  // as frameworks have it.
  schema::DataType attention_precision = schema::DataType::NONE;
  bool flash_attention = true;  // flash_attention: scores stay on chip, and are computed
                                // again in backward
  // gemm_precision_ends: so many layers at either end of the model whose products are in
  // `precision` all the same.
  std::int64_t gemm_precision_ends = 0;
  // gemm_precision_last: so many at the end, where these are others than at the start; 0: as many.
  std::int64_t gemm_precision_last = 0;
  bool dropout = false;               // dropout: of scores, and after each block
  std::int64_t gradient_buckets = 4;  // gradient reductions a stage and step; at most one a layer
                                      // of the stage is made
  // gradient_bucket_parameters: if above 0, a bucket ends with the layer with which it reaches so
  // many, and with its chunk (Megatron-LM's ddp_bucket_size); gradient_buckets then says nothing.
  std::int64_t gradient_bucket_parameters = 0;
  // gradient_reduction: once a step, or after each micro-batch, layer by layer. kAuto: after each
  // micro-batch with zero2 and with zero3 that reshards, else once a step.
  GradientReduction gradient_reduction = GradientReduction::kAuto;
  std::int64_t steps = 1;  // training steps, one after the other
  RecomputeSpec recompute = {};
  OptimizerSpec optimizer = {};
  KernelSpec kernels = {};
  // host_time: once a step devices wait so long for the host: its data, its optimizer's loop, what
  // it reads back and logs.
  core::Time host_time = {};
  HostSpec host = {};
  OverlapSpec overlap = {};
  RoutingSpec routing = {};
  StorageSpec storage = {};
  ReserveSpec reserves = {};
};

// What the zeros and NONEs above stand for.
[[nodiscard]] std::int64_t kv_heads_of(const ModelSpec& model);
// Requires a pattern that check() accepts.
[[nodiscard]] LayerKind layer_kind(const ModelSpec& model, std::int64_t index);
// Width of what experts work on.
[[nodiscard]] std::int64_t expert_width_of(const ModelSpec& model);
// Whether layer `index` looks through model.window.
[[nodiscard]] bool is_windowed(const ModelSpec& model, std::int64_t index);
// Twice the tokens that those of a prompt look at, all together, where each sees what is before it
// and itself, `sight` of them at most.
[[nodiscard]] constexpr std::uint64_t twice_attended(std::uint64_t tokens, std::uint64_t sight) {
  return sight * (2 * tokens - sight);
}
[[nodiscard]] std::int64_t head_dim_of(const ModelSpec& model);
[[nodiscard]] std::int64_t tokens_of(const TransformerSpec& spec);  // a sequence, of the decoder
[[nodiscard]] std::int64_t encoder_tokens_of(const TransformerSpec& spec);
[[nodiscard]] std::int64_t layers_of(const ModelSpec& model);  // the encoder's included
[[nodiscard]] std::int64_t expert_tensor_of(const ParallelSpec& parallel);
[[nodiscard]] std::int64_t state_bytes_of(const OptimizerSpec& optimizer);
[[nodiscard]] schema::DataType parameter_precision_of(const TransformerSpec& spec);
[[nodiscard]] schema::DataType dispatch_precision_of(const TransformerSpec& spec);
[[nodiscard]] schema::DataType attention_precision_of(const TransformerSpec& spec);
[[nodiscard]] bool reduces_each_micro_batch(const TransformerSpec& spec);
[[nodiscard]] std::int64_t micro_batches_of(const TransformerSpec& spec);

}  // namespace exawarp::model
