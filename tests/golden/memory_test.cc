// Bytes that the generator says a device holds, against published figures (memory/README.md).
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "model/generate/transformer.h"
#include "model/generate/transformer_costs.h"

namespace exawarp::tests {
namespace {

using namespace model;

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

std::map<std::string, double> published(const std::string& model) {
  std::ifstream file(EXAWARP_SOURCE_DIR "/tests/golden/memory/megatron_memory.csv");
  std::string line, cell;
  std::getline(file, line);
  std::istringstream header(line);
  while (std::getline(file, line) && !line.starts_with(model + ",")) continue;
  std::istringstream row(line);
  std::map<std::string, double> values;
  for (std::string name; std::getline(header, name, ',') && std::getline(row, cell, ',');) {
    if (name != "model" && name != "source") values[name] = std::stod(cell);
  }
  EXPECT_EQ(values.size(), 7u) << model;
  return values;
}

struct Row {
  const char* model;
  std::int64_t layers, hidden, heads, pipeline, virtual_stages, micro_batch;
};

// As few micro-batches as fill the pipeline: more are never in flight.
TransformerSpec spec_of(const Row& row) {
  TransformerSpec spec;
  spec.model = {.name = row.model,
                .layers = row.layers,
                .hidden = row.hidden,
                .ffn = 4 * row.hidden,
                .heads = row.heads,
                .vocabulary = 51200,
                .gated_ffn = false,
                .tied_embeddings = true};
  spec.parallel = {.tensor = 8, .pipeline = row.pipeline, .sequence_parallel = false,
                   .sharding = Sharding::kNone};
  spec.schedule.virtual_stages = row.virtual_stages;
  spec.sequence_length = 2048;
  spec.micro_batch_sequences = row.micro_batch;
  spec.global_batch_sequences =
      row.micro_batch * row.pipeline * (row.virtual_stages > 1 ? 2 : 1);
  spec.precision = schema::DataType::FP16;
  spec.flash_attention = false;
  spec.dropout = true;
  return spec;
}

// Activations of the first stage's layers: less what the pass at hand works in, and the logits.
double activations(const TransformerSpec& spec) {
  const WorkloadGraph graph = generate_transformer(spec);
  const TransformerCosts costs = transformer_costs(spec, route_experts(spec), 0);
  const LayerCosts& layer = costs.kinds[0];
  std::uint64_t bytes = graph.program(0).memory()->largest().bytes - 2 * layer.whole_bytes;
  if (spec.parallel.pipeline == 1) bytes -= costs.logits_bytes;
  switch (spec.recompute.kind) {
    case Recompute::kNone: break;
    case Recompute::kSelective: bytes -= layer.saved.scores; break;
    case Recompute::kLatent: bytes -= layer.saved.again; break;
    case Recompute::kExperts: bytes -= layer.saved.experts; break;
    case Recompute::kFull: bytes -= layer.saved.all() - layer.saved.input; break;
  }
  return static_cast<double>(bytes) / kGiB;
}

class MegatronMemory : public testing::TestWithParam<Row> {};

TEST_P(MegatronMemory, OfActivationsIsAsPublished) {
  std::map<std::string, double> figures = published(GetParam().model);
  const double none = figures["activations_none_GiB"];
  const struct {
    const char* name;
    bool sequence_parallel;
    Recompute recompute;
    double expected;
  } modes[] = {{"none", false, Recompute::kNone, none},
               {"seq", true, Recompute::kNone, none * figures["fig7_seq_pct"] / 100},
               {"sel", false, Recompute::kSelective, none * figures["fig7_sel_pct"] / 100},
               {"seqsel", true, Recompute::kSelective, figures["activations_seqsel_GiB"]},
               {"full", false, Recompute::kFull, none * figures["fig7_full_pct"] / 100}};
  for (const auto& mode : modes) {
    TransformerSpec spec = spec_of(GetParam());
    spec.parallel.sequence_parallel = mode.sequence_parallel;
    spec.recompute.kind = mode.recompute;
    const double ours = activations(spec);
    EXPECT_NEAR(ours, mode.expected, 0.0125 * mode.expected) << mode.name;
    std::printf("%s %s: %.2f GiB, published %.2f\n", GetParam().model, mode.name, ours,
                mode.expected);
  }
}

// Of a stage without the embedding, where there is one.
TEST_P(MegatronMemory, OfParametersAndOptimizerIsAsPublished) {
  const TransformerSpec spec = spec_of(GetParam());
  const WorkloadGraph graph = generate_transformer(spec);
  const auto middle = static_cast<std::uint32_t>(spec.parallel.pipeline / 2);
  const ProgramMemory memory = *graph.program(middle).memory();
  std::uint64_t bytes = memory.weights + memory.gradients + memory.optimizer;
  if (middle == 0) {
    const TransformerCosts costs = transformer_costs(spec, route_experts(spec), 0);
    bytes -= 18 * costs.embedding_parameters;
  }
  const double expected = published(GetParam().model)["param_opt_GiB_per_gpu"];
  EXPECT_NEAR(static_cast<double>(bytes) / kGiB, expected, 0.005 * expected);
}

// Layers, width and split as in table 3 there.
INSTANTIATE_TEST_SUITE_P(Published, MegatronMemory,
                         testing::Values(Row{"22B", 48, 6144, 64, 1, 1, 4},
                                         Row{"175B", 96, 12288, 96, 8, 3, 1},
                                         Row{"530B", 105, 20480, 128, 35, 3, 1},
                                         Row{"1T", 128, 25600, 160, 64, 1, 1}),
                         [](const auto& test) { return "Gpt" + std::string(test.param.model); });

}  // namespace
}  // namespace exawarp::tests
