#include "io/workload_spec.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "model/workload/microbenchmark.h"
#include "model/workload/transformer.h"
#include "model/workload/validate.h"

namespace exawarp::io {
namespace {

using model::SpecProblem;

constexpr IntegerRange kPositive{.min = 1};
constexpr IntegerRange kCount{.min = 0};

model::ModelSpec read_model(const YamlSection& section) {
  section.skip("source");
  section.skip("description");
  return {
      .name = section.text("name"),
      .layers = section.integer("layers", kPositive),
      .hidden = section.integer("hidden", kPositive),
      .ffn = section.integer("ffn", kPositive),
      .heads = section.integer("heads", kPositive),
      .kv_heads = section.integer("kv_heads", kPositive, 0),
      .head_dim = section.integer("head_dim", kPositive, 0),
      .vocabulary = section.integer("vocabulary", kPositive),
      .gated_ffn = section.flag("gated_ffn", true),
      .tied_embeddings = section.flag("tied_embeddings", false),
      .causal = section.flag("causal", true),
  };
}

model::ParallelSpec read_parallel(const YamlSection& section) {
  const model::ParallelSpec defaults;
  return {
      .tensor = section.integer("tensor", kPositive, 1),
      .pipeline = section.integer("pipeline", kPositive, 1),
      .data = section.integer("data", kPositive, 1),
      .sequence_parallel = section.flag("sequence_parallel", true),
      .order = section.texts("order", defaults.order),
  };
}

model::ScheduleSpec read_schedule(const YamlSection& section) {
  return {
      .kind = section.text("kind", "1f1b"),
      .virtual_stages = section.integer("virtual_stages", kPositive, 1),
      .first_stage_layers = section.integer("first_stage_layers", kCount, 0),
      .last_stage_layers = section.integer("last_stage_layers", kCount, 0),
  };
}

model::TransformerSpec read_transformer(const YamlSection& section) {
  section.skip("description");
  section.skip("source");
  model::TransformerSpec spec;
  spec.model = read_model(section.section("model"));
  spec.parallel = read_parallel(section.section("parallel"));
  if (const auto schedule = section.optional_section("schedule")) {
    spec.schedule = read_schedule(*schedule);
  }
  spec.sequence_length = section.integer("sequence_length", kPositive);
  spec.global_batch_sequences = section.integer("global_batch_sequences", kPositive);
  spec.micro_batch_sequences = section.integer("micro_batch_sequences", kPositive, 1);
  spec.precision = model::data_type_from_name("precision", section.text("precision", "bf16"));
  spec.gradient_precision = model::data_type_from_name(
      "gradient_precision", section.text("gradient_precision", "fp32"));
  spec.gradient_buckets = section.integer("gradient_buckets", kPositive, spec.gradient_buckets);
  spec.steps = section.integer("steps", kPositive, 1);
  model::check(spec);
  return spec;
}

// Sizes are quantities ("1 MiB"); counts of operations are bare numbers.
model::MicrobenchmarkSpec read_microbenchmark(const YamlSection& section) {
  using core::Dimension;
  section.skip("description");
  model::MicrobenchmarkSpec spec;
  spec.kind = model::microbenchmark_from_name("kind", section.text("kind"));
  const bool memory = spec.kind == model::MicrobenchmarkKind::kMemory;
  const bool compute = spec.kind == model::MicrobenchmarkKind::kCompute || memory;
  if (section.has("name")) spec.name = section.text("name");
  if (spec.kind == model::MicrobenchmarkKind::kCollective) {
    spec.collective = model::collective_from_name("collective", section.text("collective"));
  }
  if (const auto mesh = section.optional_section("mesh")) {
    spec.devices = 1;
    for (const std::string& axis : mesh->keys()) {
      spec.mesh.push_back({axis, mesh->integer(axis, {.min = 1, .max = model::kDevicesMax})});
      spec.devices = std::min<std::int64_t>(spec.devices * spec.mesh.back().size,
                                            std::int64_t{model::kDevicesMax} + 1);
    }
  }
  if (section.has("along")) spec.along = section.texts("along");
  spec.devices = section.integer("devices", kPositive, spec.devices);
  spec.repeats = section.integer("repeats", kPositive, 1);
  if (compute) {
    if (!memory) spec.flops = section.integer("flops", kCount, 0);
    if (memory && section.has("place")) {
      const std::string place = section.text("place");
      if (place != "device" && place != "host") {
        throw SpecProblem("place", "is neither \"device\" nor \"host\"");
      }
      if (place == "host") spec.place = model::schema::MemoryPlace::HOST;
    }
    spec.bytes_read = section.quantity("bytes_read", Dimension::size, 0, 0);
    spec.bytes_written = section.quantity("bytes_written", Dimension::size, 0, 0);
  } else {
    spec.bytes = section.quantity("bytes", Dimension::size, 0);
  }
  model::check(spec);
  return spec;
}

// Runs `read` on the section and gives the generator's complaints their file and line.
template <class Read>
WorkloadSpec read_in_place(const YamlSection& section, Read read) {
  try {
    return read(section);
  } catch (const SpecProblem& problem) {
    section.fail(problem.key, problem.text);
  }
}

}  // namespace

WorkloadSpec read_workload_spec(const YamlSection& section) {
  section.skip("name");
  section.skip("description");
  section.skip("source");
  if (section.has("microbenchmark")) {
    if (section.has("transformer")) {
      section.fail("microbenchmark", "stands beside transformer; expected one of them");
    }
    return read_in_place(section.section("microbenchmark"), read_microbenchmark);
  }
  return read_in_place(section.section("transformer"), read_transformer);
}

model::WorkloadGraph generate(const WorkloadSpec& spec) {
  if (const auto* transformer = std::get_if<model::TransformerSpec>(&spec)) {
    return model::generate_transformer(*transformer);
  }
  return model::generate_microbenchmark(std::get<model::MicrobenchmarkSpec>(spec));
}

model::WorkloadGraph open_workload(const std::string& path) {
  model::WorkloadGraph graph = model::WorkloadGraph::open(path);
  model::validate(graph);
  return graph;
}

}  // namespace exawarp::io
