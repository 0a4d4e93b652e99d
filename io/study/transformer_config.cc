// One function for each section of a transformer (attention, experts, parallelism, schedule,
// batch, precisions ...), each from YAML to the generator's own structure.
#include "io/study/transformer_config.h"

#include "model/generate/transformer.h"

namespace exawarp::io {
namespace {

constexpr IntegerRange kPositive{.min = 1};
constexpr IntegerRange kCount{.min = 0};

// A key under which users write a name; `value_named` refuses others and lists them.
template <class Enum>
Enum named(const YamlSection& section, const char* section_name, const char* key,
           Enum (*value_named)(const std::string&, const std::string&), const char* fallback) {
  const std::string prefix = *section_name == 0 ? "" : std::string(section_name) + ".";
  return value_named(prefix + key, section.text(key, fallback));
}

model::MlaSpec read_latent_attention(const YamlSection& section) {
  return {
      .query_rank = section.integer("query_rank", kCount, 0),
      .key_value_rank = section.integer("key_value_rank", kPositive),
      .nope_dim = section.integer("nope_dim", kPositive),
      .rope_dim = section.integer("rope_dim", kCount),
      .value_dim = section.integer("value_dim", kPositive),
  };
}

model::MoeSpec read_experts(const YamlSection& section) {
  return {
      .experts = section.integer("experts", kPositive),
      .top_k = section.integer("top_k", kPositive),
      .ffn = section.integer("ffn", kPositive),
      .shared_ffn = section.integer("shared_ffn", kCount, 0),
      .dense_layers = section.integer("dense_layers", kCount, 0),
      .every = section.integer("every", kPositive, 1),
  };
}

// Keys of one family of models are unknown keys in another.
void read_family(const YamlSection& section, model::ModelSpec& model) {
  model.family = named(section, "model", "family", model::family_from_name, "decoder");
  if (model.family == model::ModelFamily::kEncoderDecoder) {
    model.encoder_layers = section.integer("encoder_layers", kPositive);
  }
  if (model.family == model::ModelFamily::kVision) {
    model.image = section.integer("image", kPositive);
    model.patch = section.integer("patch", kPositive);
    model.channels = section.integer("channels", kPositive, model.channels);
    model.classes = section.integer("classes", kPositive);
  } else {
    model.vocabulary = section.integer("vocabulary", kPositive);
  }
}

model::ModelSpec read_model(const YamlSection& section) {
  section.skip("source");
  section.skip("description");
  model::ModelSpec model{
      .name = section.name(),
      .layers = section.integer("layers", kPositive),
      .hidden = section.integer("hidden", kPositive),
      .ffn = section.integer("ffn", kPositive),
      .heads = section.integer("heads", kPositive),
      .kv_heads = section.integer("kv_heads", kPositive, 0),
      .head_dim = section.integer("head_dim", kPositive, 0),
      .gated_ffn = section.flag("gated_ffn", true),
      .tied_embeddings = section.flag("tied_embeddings", false),
      .causal = section.flag("causal", true),
  };
  read_family(section, model);
  if (const auto mla = section.optional_section("mla")) model.mla = read_latent_attention(*mla);
  if (const auto moe = section.optional_section("moe")) model.moe = read_experts(*moe);
  return model;
}

model::ParallelSpec read_parallel(const YamlSection& section) {
  const model::ParallelSpec defaults;
  return {
      .tensor = section.integer("tensor", kPositive, 1),
      .pipeline = section.integer("pipeline", kPositive, 1),
      .data = section.integer("data", kPositive, 1),
      .sequence_parallel = section.flag("sequence_parallel", true),
      .order = section.texts("order", defaults.order),
      .context = section.integer("context", kPositive, 1),
      .expert = section.integer("expert", kPositive, 1),
      .expert_tensor = section.integer("expert_tensor", kCount, 0),
      .context_method =
          named(section, "parallel", "context_method", model::context_method_from_name, "ring"),
      .sharding = named(section, "parallel", "sharding", model::sharding_from_name, "zero1"),
      .shard_group = section.integer("shard_group", kCount, 0),
      .reshard_after_forward = section.flag("reshard_after_forward", true),
      .prefetch_layers = section.integer("prefetch_layers", kCount, defaults.prefetch_layers),
  };
}

model::ScheduleSpec read_schedule(const YamlSection& section) {
  return {
      .kind = named(section, "schedule", "kind", model::schedule_from_name, "1f1b"),
      .virtual_stages = section.integer("virtual_stages", kPositive, 1),
      .first_stage_layers = section.integer("first_stage_layers", kCount, 0),
      .last_stage_layers = section.integer("last_stage_layers", kCount, 0),
      .chunk_layers =
          section.integers("chunk_layers", {.min = 0, .max = 0xfffe}, std::vector<std::uint32_t>{}),
  };
}

void read_batch(const YamlSection& section, model::TransformerSpec& spec) {
  const bool vision = spec.model.family == model::ModelFamily::kVision;
  if (!vision) spec.sequence_length = section.integer("sequence_length", kPositive);
  if (spec.model.family == model::ModelFamily::kEncoderDecoder) {
    spec.encoder_sequence_length = section.integer("encoder_sequence_length", kCount, 0);
  }
  spec.global_batch_sequences = section.integer("global_batch_sequences", kPositive);
  spec.micro_batch_sequences = section.integer("micro_batch_sequences", kPositive, 1);
  spec.steps = section.integer("steps", kPositive, 1);
}

void read_precisions(const YamlSection& section, model::TransformerSpec& spec) {
  const auto type = [&section](const char* key, const char* fallback) {
    return model::data_type_from_name(key, section.text(key, fallback));
  };
  spec.precision = type("precision", "bf16");
  spec.gradient_precision = type("gradient_precision", "fp32");
  if (section.has("gemm_precision")) spec.gemm_precision = type("gemm_precision", "bf16");
  if (section.has("parameter_precision")) {
    spec.parameter_precision = type("parameter_precision", "bf16");
  }
}

model::OptimizerSpec read_optimizer(const YamlSection& section) {
  return {
      .kind = named(section, "optimizer", "kind", model::optimizer_from_name, "adam"),
      .state_bytes = section.integer("state_bytes", kCount, 0),
      .gradient_norm = section.flag("gradient_norm", true),
  };
}

model::OverlapSpec read_overlap(const YamlSection& section) {
  const model::OverlapSpec defaults;
  return {
      .gradients = section.flag("gradients", defaults.gradients),
      .parameters = section.flag("parameters", defaults.parameters),
      .tensor = named(section, "overlap", "tensor", model::tensor_overlap_from_name, "backward"),
      .tensor_parts = section.integer("tensor_parts", kPositive, defaults.tensor_parts),
  };
}

model::RoutingSpec read_routing(const YamlSection& section) {
  return {
      .imbalance = section.real("imbalance", {.min = 0, .max = 1}, 0.0),
      .seed = section.integer("seed", kCount, 1),
      .capacity_factor = section.real("capacity_factor", {.min = 0}, 0.0),
      .pad = section.flag("pad", false),
  };
}

model::StorageSpec read_storage(const YamlSection& section) {
  return {
      .bytes_per_sequence = section.quantity("bytes_per_sequence", core::Dimension::size, 0, 0),
      .checkpoint_every = section.integer("checkpoint_every", kCount, 0),
      .checkpoint_wait = section.flag("checkpoint_wait", true),
  };
}

// `recompute: full`, or a mapping.
model::RecomputeSpec read_recompute(const YamlSection& section) {
  if (section.has_text("recompute")) {
    return {.kind = model::recompute_from_name("recompute", section.text("recompute"))};
  }
  const auto inside = section.optional_section("recompute");
  if (!inside) return {};
  return {.kind = named(*inside, "recompute", "kind", model::recompute_from_name, "none"),
          .layers = inside->integer("layers", kCount, 0)};
}

}  // namespace

model::TransformerSpec read_transformer(const YamlSection& section) {
  section.skip("description");
  section.skip("source");
  model::TransformerSpec spec;
  spec.model = read_model(section.section("model"));
  spec.parallel = read_parallel(section.section("parallel"));
  if (const auto schedule = section.optional_section("schedule")) {
    spec.schedule = read_schedule(*schedule);
  }
  read_batch(section, spec);
  read_precisions(section, spec);
  spec.flash_attention = section.flag("flash_attention", true);
  spec.dropout = section.flag("dropout", false);
  spec.gradient_buckets = section.integer("gradient_buckets", kPositive, spec.gradient_buckets);
  spec.gradient_reduction =
      named(section, "", "gradient_reduction", model::reduction_from_name, "auto");
  spec.recompute = read_recompute(section);
  if (const auto optimizer = section.optional_section("optimizer")) {
    spec.optimizer = read_optimizer(*optimizer);
  }
  if (const auto overlap = section.optional_section("overlap")) {
    spec.overlap = read_overlap(*overlap);
  }
  if (const auto routing = section.optional_section("routing")) {
    spec.routing = read_routing(*routing);
  }
  if (const auto storage = section.optional_section("storage")) {
    spec.storage = read_storage(*storage);
  }
  model::check(spec);
  return spec;
}

}  // namespace exawarp::io
