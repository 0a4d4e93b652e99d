// The keys of `transformer:`, mapping by mapping. What each does stands beside the member that it
// goes to (model/generate/transformer_spec.h); what holds where it is absent is that one's
// initialiser.
#include "io/study/transformer_config.h"

#include "io/study/quantities.h"
#include "model/generate/transformer.h"

namespace exawarp::io {
namespace {

using core::Dimension;

constexpr IntegerRange kCount{.min = 0};

const Keys<model::MlaSpec>& latent_attention_keys() {
  using S = model::MlaSpec;
  using K = Keys<S>;
  static const K keys(
      "model.mla", "Multi-head latent attention.",
      {K::integer("query_rank", &S::query_rank, kCount, "width of the queries' latent; 0: none"),
       K::integer("key_value_rank", &S::key_value_rank, kPositive,
                  "width of the keys' and values' latent")
           .required(),
       K::integer("nope_dim", &S::nope_dim, kPositive, "of a head: query and key without position")
           .required(),
       K::integer("rope_dim", &S::rope_dim, kCount, "with position; one part for all heads")
           .required(),
       K::integer("value_dim", &S::value_dim, kPositive, "of a head: value").required()});
  return keys;
}

const Keys<model::MoeSpec>& experts_keys() {
  using S = model::MoeSpec;
  using K = Keys<S>;
  static const K keys(
      "model.moe", "Experts in place of the feed-forward block.",
      {K::integer("experts", &S::experts, kPositive, "routed experts of a layer").required(),
       K::integer("top_k", &S::top_k, kPositive, "experts that a token goes to").required(),
       K::integer("ffn", &S::ffn, kPositive, "inner width of an expert").required(),
       K::integer("shared_ffn", &S::shared_ffn, kCount,
                  "inner width of all shared experts together; 0: none"),
       K::integer("dense_layers", &S::dense_layers, kCount,
                  "layers at the start that have the dense block"),
       K::integer("every", &S::every, kPositive,
                  "of the layers after them, one in so many has experts"),
       K::integer("latent", &S::latent, kPositive,
                  "width that experts work on, to which tokens are brought before they go to them")
           .otherwise("`hidden`"),
       K::flag("biases", &S::biases, "experts' products have them"),
       K::flag("clamped", &S::clamped, "what goes into experts' activation is clamped")});
  return keys;
}

const Keys<model::MambaSpec>& mamba_keys() {
  using S = model::MambaSpec;
  using K = Keys<S>;
  static const K keys(
      "model.mamba", "State-space layers (Mamba-2), the `M` of `pattern`.",
      {K::integer("heads", &S::heads, kPositive, "of a layer").required(),
       K::integer("head_dim", &S::head_dim, kPositive, "channels of a head"),
       K::integer("state_dim", &S::state_dim, kPositive, "state of a channel"),
       K::integer("groups", &S::groups, kPositive,
                  "of heads, which have the state's input and output in common"),
       K::integer("convolution", &S::convolution, kPositive,
                  "tokens that the convolution before the scan sees"),
       K::integer("chunk", &S::chunk, kPositive, "tokens that the scan works on at once")});
  return keys;
}

const Keys<model::ParallelSpec>& parallel_keys() {
  using S = model::ParallelSpec;
  using K = Keys<S>;
  static const K keys(
      "parallel", "How training is split: devices = tensor x context x pipeline x data.",
      {K::integer("tensor", &S::tensor, kPositive, "ranks that split each product"),
       K::integer("pipeline", &S::pipeline, kPositive, "stages that split the layers"),
       K::integer("data", &S::data, kPositive, "ranks that split the batch"),
       K::flag("sequence_parallel", &S::sequence_parallel,
               "norms and residuals are split over `tensor`"),
       K::texts("order", &S::order,
                "axes of device numbers, fastest first; also `context` (else after `tensor`), "
                "`expert` (before `data`), `replica` (after it)"),
       K::integer("context", &S::context, kPositive, "ranks that split each sequence"),
       K::integer("expert", &S::expert, kPositive,
                  "ranks that share a layer's experts, inside `data`"),
       K::integer("expert_tensor", &S::expert_tensor, kCount, "ranks that split an expert")
           .otherwise("0: as `tensor`"),
       K::choice("context_method", &S::context_method, "how attention sees the whole sequence"),
       K::choice("sharding", &S::sharding, "what ranks with the same parameters spread"),
       K::integer("shard_group", &S::shard_group, kCount,
                  "data-parallel ranks that share one copy: hybrid sharding")
           .otherwise("0: as `data`"),
       K::flag("reshard_after_forward", &S::reshard_after_forward,
               "`zero3`: gathers parameters for backward again"),
       K::integer("prefetch_layers", &S::prefetch_layers, kCount,
                  "`zero3`: layers that are gathered ahead"),
       K::flag("gather_communicator", &S::gather_communicator,
               "`zero3`: parameters are gathered beside reductions, not in turn with them"),
       K::integer("layer_collectives", &S::layer_collectives, kPositive,
                  "`zero3`: collectives that gather a layer's parameters, or reduce its gradients"),
       K::flag("regather_after_recompute", &S::regather_after_recompute,
               "`zero3`: parameters are gathered for recomputation and again for backward"),
       K::latency("member_time", &S::member_time, 0,
                  "`zero3`: before each collective, for each member, while devices wait"),
       K::flag("list_copies", &S::list_copies,
               "`zero3`: what these collectives move is copied from or to a tensor a member")});
  return keys;
}

const Keys<model::ScheduleSpec>& schedule_keys() {
  using S = model::ScheduleSpec;
  using K = Keys<S>;
  static const K keys(
      "schedule", "In which order a pipeline works.",
      {K::choice("kind", &S::kind, "of the schedule"),
       K::integer("virtual_stages", &S::virtual_stages, kPositive,
                  "chunks a device; more than 1: interleaved"),
       K::integer("first_stage_layers", &S::first_stage_layers, kCount, "of the first chunk")
           .otherwise("0: as even as possible"),
       K::integer("last_stage_layers", &S::last_stage_layers, kCount, "of the last chunk")
           .otherwise("0: as even as possible"),
       K::flag("count_ends", &S::count_ends,
               "embedding and head take the place of a layer each"),
       K::integers("chunk_layers", &S::chunk_layers, {.min = 0, .max = 0xfffe},
                   "layers of each chunk, in the model's order")
           .otherwise("by the rule")});
  return keys;
}

const Keys<model::OptimizerSpec>& optimizer_keys() {
  using S = model::OptimizerSpec;
  using K = Keys<S>;
  static const K keys(
      "optimizer", "",
      {K::choice("kind", &S::kind, "of the optimizer"),
       K::integer("state_bytes", &S::state_bytes, kCount, "bytes a parameter")
           .otherwise("0: 12 (`adam`) or 8 (`sgd`)"),
       K::flag("gradient_norm", &S::gradient_norm, "gradients are clipped by the norm of all")});
  return keys;
}

const Keys<model::OverlapSpec>& overlap_keys() {
  using S = model::OverlapSpec;
  using K = Keys<S>;
  static const K keys(
      "overlap", "What goes on at the same time.",
      {K::flag("gradients", &S::gradients, "gradients are reduced beside backward"),
       K::flag("parameters", &S::parameters, "parameters are gathered beside the next forward"),
       K::flag("pipeline", &S::pipeline, "a stage goes on while what it sent is under way"),
       K::choice("tensor", &S::tensor, "which tensor-parallel collectives run beside products"),
       K::flag("experts", &S::experts,
               "a forward and a backward pass run together, one's exchanges beside the other"),
       K::integer("tensor_parts", &S::tensor_parts, kPositive,
                  "`pipelined`: parts of a product and its collective")});
  return keys;
}

const Keys<model::RoutingSpec>& routing_keys() {
  using S = model::RoutingSpec;
  using K = Keys<S>;
  static const K keys(
      "routing", "How tokens come to experts.",
      {K::real("imbalance", &S::imbalance, {.min = 0, .max = 1},
               "experts' shares are drawn from 1 - imbalance to 1 + imbalance times the mean"),
       K::integer("seed", &S::seed, kCount, "of the imbalance"),
       K::real("capacity_factor", &S::capacity_factor, {.min = 0},
               "an expert takes at most so many times the mean; 0: no limit"),
       K::flag("pad", &S::pad, "experts compute their whole capacity"),
       K::integer("node_devices", &S::node_devices, kCount,
                  "devices of a node, to which a token goes once for all experts there; 0: a token "
                  "goes to each expert by itself"),
       K::integer("nodes_max", &S::nodes_max, kCount,
                  "nodes that a token's experts are in, at most; 0: no limit"),
       K::choice("dispatch_precision", &S::dispatch_precision,
                 "of what goes to experts; what comes back is in `precision`")
           .otherwise("`precision`")});
  return keys;
}

const Keys<model::StorageSpec>& storage_keys() {
  using S = model::StorageSpec;
  using K = Keys<S>;
  static const K keys(
      "storage", "Files, over the link to the host.",
      {K::quantity("bytes_per_sequence", &S::bytes_per_sequence, {Dimension::size, 0},
                   "input read"),
       K::integer("checkpoint_every", &S::checkpoint_every, kCount,
                  "steps between checkpoints; 0: none"),
       K::flag("checkpoint_wait", &S::checkpoint_wait, "the next step waits for a checkpoint")});
  return keys;
}

const Keys<model::HostSpec>& host_keys() {
  using S = model::HostSpec;
  using K = Keys<S>;
  static const K keys(
      "host", "The host of a device, which launches what it does, one after the other.",
      {K::latency("launch", &S::launch, 0,
                  "its time for each kernel, collective and message; 0: all is launched ahead"),
       K::integer("pending", &S::pending, kPositive,
                  "launches that may wait for the device's computations before the host does"),
       K::flag("counts", &S::counts,
               "with `kernels.separate_experts`: it waits for the router's counts")});
  return keys;
}

const Keys<model::ReserveSpec>& reserves_keys() {
  using S = model::ReserveSpec;
  using K = Keys<S>;
  static const K keys(
      "reserves", "Device memory beside tensors.",
      {K::quantity("framework", &S::framework, {Dimension::size, 0},
                   "the driver's context, libraries' workspaces"),
       K::quantity("communicator", &S::communicator, {Dimension::size, 0},
                   "buffers of each communicator"),
       K::real("fragmentation", &S::fragmentation, {.min = 0, .max = 1},
               "of activations and buffers, on top")});
  return keys;
}

const Keys<model::RecomputeSpec>& recompute_keys() {
  using S = model::RecomputeSpec;
  using K = Keys<S>;
  static const K keys(
      "recompute", "",
      {K::choice("kind", &S::kind, "what backward computes again"),
       K::integer("layers", &S::layers, kCount, "`full`: the first so many of a chunk; 0: all")});
  return keys;
}

// `recompute: full`, or a mapping.
void read_recompute(const YamlSection& section, model::TransformerSpec& spec,
                    const KeySchema& schema) {
  if (section.has_text(schema.name)) {
    spec.recompute.kind =
        section.choice<model::Recompute>(schema.name, names_of(model::Recompute{}));
  } else if (const auto inside = section.optional_section(schema.name)) {
    spec.recompute = recompute_keys().read(*inside);
  }
}

const Keys<model::KernelSpec>& kernels_keys() {
  using S = model::KernelSpec;
  using K = Keys<S>;
  static const K keys(
      "kernels", "What frameworks run beside the arithmetic, and as how many kernels.",
      {K::custom("preset", {ValueShape::choice(core::names_in(names_of(model::KernelPreset{})))},
                 "what the other keys are by default",
                 [](const YamlSection& section, S& spec, const KeySchema& schema) {
                   if (!section.has(schema.name)) return;
                   spec = model::kernels_of(section.choice<model::KernelPreset>(
                       schema.name, names_of(model::KernelPreset{})));
                 })
           .otherwise("`transformer_engine`"),
       K::choice("accumulation", &S::accumulation,
                 "how gradients of micro-batches are summed, in `gradient_precision`"),
       K::flag("fused_softmax", &S::fused_softmax,
               "without `flash_attention`: scale, mask and softmax are one kernel"),
       K::flag("fused_activation", &S::fused_activation,
               "the activation and its gate or bias are one kernel"),
       K::flag("fused_residual", &S::fused_residual, "dropout and sum are one kernel"),
       K::flag("fused_loss", &S::fused_loss,
               "the loss reads logits as the head wrote them, not passes over copies of fp32"),
       K::flag("casts", &S::casts, "kernels convert operands of fp8 and nvfp4 products"),
       K::flag("transposes", &S::transposes, "and write them transposed, too, as Hopper needs"),
       K::flag("fused_casts", &S::fused_casts, "norms write fp8 where products read it"),
       K::flag("current_scaling", &S::current_scaling,
               "a tensor's own maximum is its factor of fp8: it is read once more before"),
       K::flag("fused_experts", &S::fused_experts,
               "experts' products apply the activation and write fp8 where products read it"),
       K::flag("dense_experts", &S::dense_experts,
               "experts' products take as long as one product of all their rows"),
       K::flag("separate_experts", &S::separate_experts,
               "a product for each expert, one after another"),
       K::flag("sort_slots", &S::sort_slots,
               "what an all-to-all brought is sorted by expert, and back"),
       K::flag("fused_biases", &S::fused_biases,
               "experts' biases and clamps are parts of their products and activation"),
       K::flag("unscale", &S::unscale, "with `precision: fp16`: the loss scale is taken out"),
       K::flag("clip", &S::clip, "gradients are multiplied once more after their norm"),
       K::flag("copies", &S::copies, "new weights are copied from the fp32 ones")});
  return keys;
}

// `kernels: megatron_2021`, or a mapping.
void read_kernels(const YamlSection& section, model::TransformerSpec& spec,
                  const KeySchema& schema) {
  if (section.has_text(schema.name)) {
    spec.kernels = model::kernels_of(
        section.choice<model::KernelPreset>(schema.name, names_of(model::KernelPreset{})));
  } else if (const auto inside = section.optional_section(schema.name)) {
    spec.kernels = kernels_keys().read(*inside);
  }
}

using TransformerKeys = Keys<model::TransformerSpec>;

TransformerKeys::Key kernels_key() {
  return TransformerKeys::custom(
      "kernels",
      {ValueShape::choice(core::names_in(names_of(model::KernelPreset{}))),
       ValueShape::mapping(kernels_keys().schema())},
      "what frameworks run beside the arithmetic", read_kernels);
}

TransformerKeys::Key recompute_key() {
  return TransformerKeys::custom("recompute",
                                 {ValueShape::choice(core::names_in(names_of(model::Recompute{}))),
                                  ValueShape::mapping(recompute_keys().schema())},
                                 "what backward computes again", read_recompute);
}

bool is_vision(const model::TransformerSpec& spec) {
  return spec.model.family == model::ModelFamily::kVision;
}
bool has_encoder(const model::TransformerSpec& spec) {
  return spec.model.family == model::ModelFamily::kEncoderDecoder;
}

}  // namespace

const Keys<model::ModelSpec>& model_keys() {
  using S = model::ModelSpec;
  using K = Keys<S>;
  static const K keys(
      "model", "A network.",
      {K::note("source"),
       K::note("description"),
       K::file_name(&S::name),
       K::integer("layers", &S::layers, kPositive,
                  "transformer blocks; of `encoder_decoder`: the decoder's")
           .required(),
       K::integer("hidden", &S::hidden, kPositive, "width of the residual stream").required(),
       K::integer("ffn", &S::ffn, kPositive, "inner width of the feed-forward block").required(),
       K::integer("heads", &S::heads, kPositive, "query heads").required(),
       K::integer("kv_heads", &S::kv_heads, kPositive, "key and value heads").otherwise("`heads`"),
       K::integer("head_dim", &S::head_dim, kPositive, "width of a head")
           .otherwise("`hidden` / `heads`"),
       K::flag("gated_ffn", &S::gated_ffn, "up and gate (SwiGLU), or up alone (GELU)"),
       K::flag("tied_embeddings", &S::tied_embeddings, "input embedding and head share weights"),
       K::flag("causal", &S::causal, "attention skips what lies in the future"),
       K::integer("window", &S::window, kPositive,
                  "tokens that a query sees at most, the nearest before it")
           .otherwise("all"),
       K::integer("full_attention_every", &S::full_attention_every, kPositive,
                  "with `window`: of so many layers the last sees all tokens")
           .otherwise("none does"),
       K::text("pattern", &S::pattern,
               "a letter for each layer: `M` state space, `*` attention, `-` feed-forward, `E` "
               "experts")
           .otherwise("attention and feed-forward in each"),
       K::integer("predictions", &S::predictions, kCount,
                  "modules that predict further tokens: a head each, their layers among `layers`"),
       K::choice("blocks", &S::blocks,
                 "attention and feed-forward one after the other; or beside each other, behind one "
                 "norm, or a norm each"),
       K::choice("family", &S::family, "of the network"),
       K::integer("encoder_layers", &S::encoder_layers, kPositive, "blocks of the encoder")
           .required()
           .only_if("family", {"encoder_decoder"}),
       K::integer("image", &S::image, kPositive, "pixels of an image's edge")
           .required()
           .only_if("family", {"vision"}),
       K::integer("patch", &S::patch, kPositive, "pixels of a patch's edge")
           .required()
           .only_if("family", {"vision"}),
       K::integer("channels", &S::channels, kPositive, "of the image")
           .only_if("family", {"vision"}),
       K::integer("classes", &S::classes, kPositive, "width of the head")
           .required()
           .only_if("family", {"vision"}),
       K::integer("vocabulary", &S::vocabulary, kPositive,
                  "rows of the embedding, padding included")
           .required()
           .only_if("family", {"decoder", "encoder_decoder"}),
       K::section("mla", &S::mla, latent_attention_keys(), "latent attention").otherwise("none"),
       K::section("moe", &S::moe, experts_keys(), "experts").otherwise("none"),
       K::section("mamba", &S::mamba, mamba_keys(), "state-space layers").otherwise("none")});
  return keys;
}

// Where words stand for a default, 0 or NONE does in the specification.
const TransformerKeys& transformer_keys() {
  using S = model::TransformerSpec;
  using K = TransformerKeys;
  static const K keys(
      "transformer", "Training of a transformer. docs/guide/training.md says what devices do.",
      {K::note("description"),
       K::note("source"),
       K::section("model", &S::model, model_keys(), "the network").required(),
       K::section("parallel", &S::parallel, parallel_keys(), "how it is split").required(),
       K::section("schedule", &S::schedule, schedule_keys(), "of the pipeline"),
       K::integer("sequence_length", &S::sequence_length, kPositive, "tokens a sequence")
           .required()
           .when([](const S& spec) { return !is_vision(spec); }, "not of `vision`"),
       K::integer("encoder_sequence_length", &S::encoder_sequence_length, kCount,
                  "tokens that the encoder takes")
           .otherwise("0: as `sequence_length`")
           .when(has_encoder, "of `encoder_decoder`"),
       K::integer("global_batch_sequences", &S::global_batch_sequences, kPositive,
                  "sequences a step")
           .required(),
       K::integer("micro_batch_sequences", &S::micro_batch_sequences, kPositive,
                  "sequences a micro-batch"),
       K::integer("steps", &S::steps, kPositive, "training steps, one after the other"),
       K::choice("precision", &S::precision, "of weights, activations and their transfers"),
       K::choice("gradient_precision", &S::gradient_precision, "what gradients are reduced in"),
       K::choice("gemm_precision", &S::gemm_precision, "what products of layers read")
           .otherwise("`precision`"),
       K::integer("gemm_precision_ends", &S::gemm_precision_ends, kCount,
                  "layers at either end of the model whose products are in `precision`"),
       K::integer("gemm_precision_last", &S::gemm_precision_last, kCount,
                  "layers at the end of which that holds")
           .otherwise("0: as `gemm_precision_ends`"),
       K::choice("attention_precision", &S::attention_precision,
                 "what flash attention reads: `precision`, or `fp8` beside `gemm_precision: fp8`")
           .otherwise("`precision`"),
       K::choice("parameter_precision", &S::parameter_precision, "what gathers of parameters carry")
           .otherwise("`precision`"),
       K::flag("flash_attention", &S::flash_attention, "scores stay on chip"),
       K::flag("dropout", &S::dropout, "of scores, and after each block"),
       K::integer("gradient_buckets", &S::gradient_buckets, kPositive,
                  "gradient reductions a stage and step"),
       K::integer("gradient_bucket_parameters", &S::gradient_bucket_parameters, kCount,
                  "instead: a reduction for so many, none beyond a chunk; 0: `gradient_buckets`"),
       K::choice("gradient_reduction", &S::gradient_reduction,
                 "how often gradients are reduced; `auto`: by `parallel.sharding`"),
       recompute_key(),
       K::section("optimizer", &S::optimizer, optimizer_keys(), "its state and its norm"),
       kernels_key(),
       K::latency("host_time", &S::host_time, 0,
                  "once a step: devices wait for the host, its data and its loop"),
       K::section("host", &S::host, host_keys(), "what launches it"),
       K::section("overlap", &S::overlap, overlap_keys(), "what goes on at the same time"),
       K::section("routing", &S::routing, routing_keys(), "how tokens come to experts"),
       K::section("storage", &S::storage, storage_keys(), "reading input, writing checkpoints"),
       K::section("reserves", &S::reserves, reserves_keys(), "device memory beside tensors")});
  return keys;
}

model::TransformerSpec read_transformer(const YamlSection& section) {
  model::TransformerSpec spec = transformer_keys().read(section);
  model::check(spec);
  return spec;
}

}  // namespace exawarp::io
