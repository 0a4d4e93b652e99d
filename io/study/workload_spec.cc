// Tells the kinds of workload apart by their key and reads each into its generator's structure;
// the generators' complaints get the file and line that they come from.
#include "io/study/quantities.h"
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

constexpr IntegerRange kWhole{.min = 0};

using core::Dimension;
using MicroKeys = Keys<model::MicrobenchmarkSpec>;

const std::vector<std::string> kMessages{"collective", "ping_pong", "send"};
const std::vector<std::string> kLocal{"compute", "memory"};

// Axis by axis, fastest first; the devices are their product.
const SectionSchema kMesh{.name = "microbenchmark.mesh",
                          .meaning = "Axes by name, the fastest-varying first.",
                          .keys = {},
                          .others = {ValueShape::integer({.min = 1, .max = model::kDevicesMax})}};

void read_mesh(const YamlSection& section, model::MicrobenchmarkSpec& spec, const KeySchema& key) {
  const auto mesh = section.optional_section(key.name);
  if (!mesh) return;
  spec.devices = 1;
  for (const std::string& axis : mesh->keys()) {
    spec.mesh.push_back({axis, mesh->integer(axis, {.min = 1, .max = model::kDevicesMax})});
    spec.devices = std::min<std::int64_t>(spec.devices * spec.mesh.back().size,
                                          std::int64_t{model::kDevicesMax} + 1);
  }
}

// Sizes are quantities ("1 MiB"); counts of operations are bare numbers.
const MicroKeys& microbenchmark_keys() {
  using S = model::MicrobenchmarkSpec;
  using K = MicroKeys;
  static const K keys(
      "microbenchmark", "The smallest workloads, whose time is a closed formula.",
      {K::note("description"), K::choice("kind", &S::kind, "what devices do").required(),
       K::text("name", &S::name, "of the workload").otherwise("that of the kind"),
       K::choice("collective", &S::collective, "which one")
           .required()
           .only_if("kind", {"collective"}),
       K::custom("mesh", {ValueShape::mapping(kMesh)}, "the devices as a mesh, for `devices`",
                 read_mesh)
           .otherwise("one axis"),
       K::texts("along", &S::along, "in each group of devices along these axes of the mesh")
           .otherwise("all axes"),
       K::integer("devices", &S::devices, kPositive, "that take part"),
       K::integer("repeats", &S::repeats, kPositive, "how often, one after the other"),
       K::integer("flops", &S::flops, kWhole, "operations of a node").only_if("kind", {"compute"}),
       K::choice("place", &S::place, "where the bytes are").only_if("kind", {"memory"}),
       K::quantity("bytes_read", &S::bytes_read, {Dimension::size, 0}, "by a node")
           .only_if("kind", kLocal),
       K::quantity("bytes_written", &S::bytes_written, {Dimension::size, 0}, "by a node")
           .only_if("kind", kLocal),
       K::quantity("bytes", &S::bytes, {Dimension::size, 0}, "of a message or a device's buffer")
           .required()
           .only_if("kind", kMessages)});
  return keys;
}

const Keys<model::DlrmSpec>& dlrm_keys() {
  using S = model::DlrmSpec;
  using K = Keys<S>;
  constexpr IntegerRange kEach{.min = 1, .max = 0xffffffff};
  static const K keys(
      "dlrm", "Training of a deep learning recommendation model.",
      {K::note("description"), K::note("source"), K::text("name", &S::name, "of the workload"),
       K::integer("devices", &S::devices, kPositive, "data-parallel, with the tables spread"),
       K::integer("global_batch", &S::global_batch, kPositive, "samples a step").required(),
       K::integer("dense_features", &S::dense_features, kPositive, "inputs of the bottom MLP"),
       K::integers("table_rows", &S::table_rows, kEach, "rows of each table").required(),
       K::integers("table_lookups", &S::table_lookups, kEach, "rows that a sample reads of each")
           .otherwise("one of each"),
       K::integer("vector_width", &S::vector_width, {.min = 1, .max = std::int64_t{1} << 32},
                  "of an embedding")
           .required(),
       K::integers("bottom_mlp", &S::bottom_mlp, kEach, "widths of its layers").required(),
       K::integers("top_mlp", &S::top_mlp, kEach, "widths of its layers").required(),
       K::choice("interaction", &S::interaction, "of vectors"),
       K::integer("cross_layers", &S::cross_layers, kPositive, "of `interaction: cross`"),
       K::integer("cross_rank", &S::cross_rank, kPositive, "of `interaction: cross`"),
       K::choice("precision", &S::precision, "of activations and transfers"),
       K::choice("table_precision", &S::table_precision, "of the tables"),
       K::integer("steps", &S::steps, kPositive, "training steps, one after the other")});
  return keys;
}

const Keys<model::ResnetSpec>& resnet_keys() {
  using S = model::ResnetSpec;
  using K = Keys<S>;
  static const K keys(
      "resnet", "Training of a residual convolutional network.",
      {K::note("description"), K::note("source"), K::text("name", &S::name, "of the workload"),
       K::integers("blocks", &S::blocks, {.min = 1, .max = 0xffff}, "of each stage"),
       K::integer("image", &S::image, kPositive, "pixels of an edge"),
       K::integer("classes", &S::classes, kPositive, "width of the head"),
       K::integer("devices", &S::devices, kPositive, "data-parallel ranks"),
       K::integer("global_batch", &S::global_batch, kPositive, "images a step").required(),
       K::choice("precision", &S::precision, "of weights, activations and transfers"),
       K::quantity("bucket", &S::bucket_bytes, {Dimension::size, 1},
                   "of gradients, reduced at once"),
       K::integer("steps", &S::steps, kPositive, "training steps, one after the other")});
  return keys;
}

const Keys<model::InferenceSpec>& inference_keys() {
  using P = model::InferenceParallel;
  static const Keys<P> parallel(
      "inference.parallel", "How the model is split.",
      {Keys<P>::integer("tensor", &P::tensor, kPositive, "devices that share each layer"),
       Keys<P>::integer("pipeline", &P::pipeline, kPositive, "stages that a batch goes through"),
       Keys<P>::integer("data", &P::data, kPositive, "copies, each with a batch of its own")});
  using S = model::InferenceSpec;
  using K = Keys<S>;
  static const K keys(
      "inference", "Inference of a decoder with a fixed batch. See docs/guide/inference.md.",
      {K::note("description"), K::note("source"), K::text("name", &S::name, "of the workload"),
       K::section("model", &S::model, model_keys(), "the network").required(),
       K::section("parallel", &S::parallel, parallel, "how it is split"),
       K::integer("batch", &S::batch, kPositive, "sequences of a copy"),
       K::integer("input_tokens", &S::input_tokens, kPositive, "of a sequence").required(),
       K::integer("output_tokens", &S::output_tokens, kPositive, "of a sequence"),
       K::choice("precision", &S::precision, "of weights, activations and transfers"),
       K::choice("cache_precision", &S::cache_precision, "of cached keys and values")
           .otherwise("`precision`"),
       K::quantity("request_overhead", &S::request_overhead_ps, {Dimension::time, 0},
                   "of taking a batch in and giving its answer")});
  return keys;
}

// Where the keys of the specification are the section's.
template <class Spec>
Spec read_checked(const YamlSection& section, const Keys<Spec>& keys) {
  Spec spec = keys.read(section);
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

const Keys<NoSpec>& workload_keys() {
  using K = Keys<NoSpec>;
  static const K keys(
      "workload", "What the devices do: one of the kinds.",
      {K::note("name"), K::note("description"), K::note("source"),
       K::custom("transformer", {ValueShape::mapping(transformer_keys().schema())},
                 "training of a transformer"),
       K::custom("dlrm", {ValueShape::mapping(dlrm_keys().schema())},
                 "training of a recommendation model"),
       K::custom("resnet", {ValueShape::mapping(resnet_keys().schema())},
                 "training of a convolutional network"),
       K::custom("inference", {ValueShape::mapping(inference_keys().schema())},
                 "inference of a transformer"),
       K::custom("microbenchmark", {ValueShape::mapping(microbenchmark_keys().schema())},
                 "one simple operation")},
      {{.keys = {"transformer", "dlrm", "resnet", "inference", "microbenchmark"}}});
  return keys;
}

WorkloadSpec read_workload_spec(const YamlSection& section) {
  static_cast<void>(workload_keys().read(section));
  std::string found;
  for (const char* kind : {"transformer", "dlrm", "resnet", "inference", "microbenchmark"}) {
    if (!section.has(kind)) continue;
    if (!found.empty()) section.fail(kind, "stands beside " + found + "; expected one of them");
    found = kind;
  }
  const auto read = [&](const auto& keys) {
    return read_in_place(section.section(found), [&keys](const YamlSection& inside) {
      return WorkloadSpec(read_checked(inside, keys));
    });
  };
  if (found == "microbenchmark") return read(microbenchmark_keys());
  if (found == "dlrm") return read(dlrm_keys());
  if (found == "resnet") return read(resnet_keys());
  if (found == "inference") return read(inference_keys());
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
    if (const auto* inference = std::get_if<model::InferenceSpec>(&spec)) {
      return model::generate_inference(*inference, bytes_max);
    }
    return model::generate_microbenchmark(std::get<model::MicrobenchmarkSpec>(spec), bytes_max);
  } catch (const SpecProblem& problem) {
    throw core::InputError(place, problem.key + ": " + problem.text);
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
