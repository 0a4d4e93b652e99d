// Tells the kinds of workload apart by their key and reads each into its generator's structure;
// the generators' complaints get the file and line that they come from.
#include "io/study/workload_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/units.h"
#include "io/study/transformer_config.h"
#include "model/generate/microbenchmark.h"
#include "model/generate/transformer.h"
#include "model/workload/builder.h"
#include "model/workload/validate.h"

namespace exawarp::io {
namespace {

using model::SpecProblem;

constexpr IntegerRange kPositive{.min = 1};
constexpr IntegerRange kCount{.min = 0};

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

model::DlrmSpec read_dlrm(const YamlSection& section) {
  section.skip("description");
  section.skip("source");
  const IntegerRange counts{.min = 1, .max = std::int64_t{1} << 32};
  model::DlrmSpec spec;
  spec.name = section.text("name", "dlrm");
  spec.devices = section.integer("devices", kPositive, 1);
  spec.global_batch = section.integer("global_batch", kPositive);
  spec.dense_features = section.integer("dense_features", kPositive, spec.dense_features);
  spec.table_rows = section.integers("table_rows", {.min = 1, .max = 0xffffffff});
  spec.table_lookups = section.integers("table_lookups", {.min = 1, .max = 0xffffffff},
                                        std::vector<std::uint32_t>{});
  spec.vector_width = section.integer("vector_width", counts);
  spec.bottom_mlp = section.integers("bottom_mlp", {.min = 1, .max = 0xffffffff});
  spec.top_mlp = section.integers("top_mlp", {.min = 1, .max = 0xffffffff});
  spec.interaction =
      model::interaction_from_name("interaction", section.text("interaction", "dot"));
  spec.cross_layers = section.integer("cross_layers", kPositive, spec.cross_layers);
  spec.cross_rank = section.integer("cross_rank", kPositive, spec.cross_rank);
  spec.precision = model::data_type_from_name("precision", section.text("precision", "fp32"));
  spec.table_precision =
      model::data_type_from_name("table_precision", section.text("table_precision", "fp32"));
  spec.steps = section.integer("steps", kPositive, 1);
  model::check(spec);
  return spec;
}

model::ResnetSpec read_resnet(const YamlSection& section) {
  section.skip("description");
  section.skip("source");
  model::ResnetSpec spec;
  spec.name = section.text("name", spec.name);
  spec.blocks = section.integers("blocks", {.min = 1, .max = 0xffff}, spec.blocks);
  spec.image = section.integer("image", kPositive, spec.image);
  spec.classes = section.integer("classes", kPositive, spec.classes);
  spec.devices = section.integer("devices", kPositive, 1);
  spec.global_batch = section.integer("global_batch", kPositive);
  spec.precision = model::data_type_from_name("precision", section.text("precision", "bf16"));
  spec.bucket_bytes = section.quantity("bucket", core::Dimension::size, 1, spec.bucket_bytes);
  spec.steps = section.integer("steps", kPositive, 1);
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
  std::string found;
  for (const char* kind : {"transformer", "dlrm", "resnet", "microbenchmark"}) {
    if (!section.has(kind)) continue;
    if (!found.empty()) section.fail(kind, "stands beside " + found + "; expected one of them");
    found = kind;
  }
  if (found == "microbenchmark") {
    return read_in_place(section.section(found), read_microbenchmark);
  }
  if (found == "dlrm") return read_in_place(section.section(found), read_dlrm);
  if (found == "resnet") return read_in_place(section.section(found), read_resnet);
  return read_in_place(section.section("transformer"), read_transformer);
}

model::WorkloadGraph generate(const WorkloadSpec& spec, const std::string& place,
                              std::uint64_t bytes_max) {
  try {
    if (const auto* transformer = std::get_if<model::TransformerSpec>(&spec)) {
      return model::generate_transformer(*transformer, bytes_max);
    }
    if (const auto* dlrm = std::get_if<model::DlrmSpec>(&spec)) {
      return model::generate_dlrm(*dlrm, bytes_max);
    }
    if (const auto* resnet = std::get_if<model::ResnetSpec>(&spec)) {
      return model::generate_resnet(*resnet, bytes_max);
    }
    return model::generate_microbenchmark(std::get<model::MicrobenchmarkSpec>(spec), bytes_max);
  } catch (const model::WorkloadTooLarge& large) {
    throw core::InputError(
        place, fmt::format("makes a workload of {}{}; expected at most {}: `workload generate "
                           "--max-size SIZE` makes larger ones, as much memory given",
                           large.all ? "about " : "more than ", core::format_bytes(large.bytes),
                           core::format_bytes(bytes_max)));
  }
}

model::WorkloadGraph open_workload(const std::string& path) {
  model::WorkloadGraph graph = model::WorkloadGraph::open(path);
  model::validate(graph);
  return graph;
}

}  // namespace exawarp::io
