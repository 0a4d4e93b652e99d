#include "io/workload_spec.h"

#include <array>

#include "core/error.h"
#include "io/transformer_config.h"
#include "model/workload/microbenchmark.h"
#include "model/workload/transformer.h"
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
  const bool compute = spec.kind == model::MicrobenchmarkKind::kCompute;
  if (section.has("name")) spec.name = section.text("name");
  if (spec.kind == model::MicrobenchmarkKind::kCollective) {
    spec.collective = model::collective_from_name("collective", section.text("collective"));
  }
  spec.devices = section.integer("devices", kPositive, spec.devices);
  spec.repeats = section.integer("repeats", kPositive, 1);
  if (compute) {
    spec.flops = section.integer("flops", kCount, 0);
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
