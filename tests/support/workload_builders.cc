// Random specifications are drawn so that their parts go together and check() accepts them.
#include "tests/support/workload_builders.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/random.h"

namespace exawarp::tests {

using model::NodeFields;
using model::ProgramBuilder;
using model::TransformerSpec;
using model::WorkloadBuilder;
using model::WorkloadGraph;
namespace schema = model::schema;

TransformerSpec tiny_llama() {
  TransformerSpec spec;
  spec.model = {.name = "tiny llama",
                .layers = 4,
                .hidden = 64,
                .ffn = 160,
                .heads = 8,
                .kv_heads = 2,
                .vocabulary = 512};
  spec.sequence_length = 32;
  spec.global_batch_sequences = 8;
  spec.micro_batch_sequences = 2;
  spec.kernels = model::kernels_of(model::KernelPreset::kIdeal);
  return spec;
}

TransformerSpec tiny_gpt() {
  TransformerSpec spec = tiny_llama();
  spec.model.name = "tiny gpt";
  spec.model.ffn = 256;
  spec.model.kv_heads = 0;
  spec.model.gated_ffn = false;
  spec.model.tied_embeddings = true;
  return spec;
}

namespace {

// A letter for each layer, of those that the rest of the model goes with.
template <class Below>
void draw_pattern(model::ModelSpec& model, const Below& below) {
  const bool experts = model.moe.experts != 0;
  const std::string letters = experts ? "M*-E" : "M*-";
  for (std::int64_t i = 0; i < model.layers; ++i) {
    model.pattern += letters[static_cast<std::size_t>(below(letters.size()))];
  }
  if (experts) model.pattern.back() = 'E';
  if (model.pattern.find('M') == std::string::npos) return;
  model.mamba = {.heads = 8, .head_dim = 16, .state_dim = 8, .groups = 4, .chunk = 8};
}

// Ways of splitting and scheduling that go with any of the above.
template <class Below>
void draw_options(TransformerSpec& spec, const Below& below) {
  using model::ContextMethod;
  using model::ScheduleKind;
  model::ParallelSpec& parallel = spec.parallel;
  parallel.sharding = static_cast<model::Sharding>(below(4));
  parallel.reshard_after_forward = below(2) == 0;
  parallel.prefetch_layers = below(3);
  parallel.context = below(3) == 0 ? 2 : 1;
  parallel.context_method = static_cast<ContextMethod>(below(3));
  if (parallel.context_method == ContextMethod::kUlysses && parallel.tensor > 1) {
    parallel.context = 1;  // too few kv heads
  }
  if (parallel.sharding != model::Sharding::kNone && parallel.data == 4) {
    parallel.shard_group = 2 * below(2);
  }
  const bool experts = parallel.sequence_parallel && below(3) == 0;
  if (experts) {
    spec.model.moe = {.experts = 4, .top_k = 2, .ffn = 32, .shared_ffn = 16 * below(2)};
    parallel.expert = parallel.data % 2 == 0 ? 2 : 1;
    spec.routing.imbalance = below(2) == 0 ? 0 : 0.5;
  }
  if (spec.schedule.virtual_stages == 1) spec.schedule.kind = static_cast<ScheduleKind>(below(3));
  spec.recompute.kind = static_cast<model::Recompute>(below(5));
  spec.overlap.tensor = static_cast<model::TensorOverlap>(below(3));
  spec.overlap.gradients = below(2) == 0;
  spec.overlap.parameters = below(2) == 0;
  spec.storage.checkpoint_every = below(2);
  spec.kernels = model::kernels_of(static_cast<model::KernelPreset>(below(4)));
  spec.flash_attention = below(2) == 0;
  spec.dropout = below(2) == 0;
  spec.overlap.pipeline = below(2) == 0;
  if (below(2) == 0) spec.gemm_precision = model::schema::DataType::FP8;
  spec.gemm_precision_ends = below(2);
  if (below(2) == 0 && spec.gemm_precision == model::schema::DataType::FP8) {
    spec.attention_precision = spec.flash_attention ? spec.gemm_precision : spec.precision;
  }
  if (below(2) == 0) spec.gradient_bucket_parameters = 1 << 14;
  spec.host_time = {below(2) * 1'000'000};
  if (experts) spec.model.moe.latent = 16 * below(2);
  spec.model.predictions = below(3);
  if (below(2) == 0) draw_pattern(spec.model, below);
  spec.host.launch = {below(2) * 300'000};
  spec.host.pending = 1 + below(40);
}

}  // namespace

TransformerSpec random_transformer(std::uint64_t seed) {
  std::uint64_t draws = 0;
  const auto below = [&](std::uint64_t limit) {
    return static_cast<std::int64_t>(core::random_bits(seed, draws++) % limit);
  };
  TransformerSpec spec = below(2) == 0 ? tiny_llama() : tiny_gpt();
  spec.model.tied_embeddings = below(2) == 0;
  spec.model.causal = below(4) != 0;
  spec.parallel.tensor = 1 + below(2);
  spec.parallel.data = 1 + below(4);
  spec.parallel.pipeline = 1 + below(5);
  spec.parallel.sequence_parallel = below(2) == 0;
  const std::vector<std::vector<std::string>> orders = {{"tensor", "data", "pipeline"},
                                                        {"tensor", "pipeline", "data"},
                                                        {"pipeline", "data", "tensor"},
                                                        {"data", "tensor", "pipeline"}};
  spec.parallel.order = orders[static_cast<std::size_t>(below(orders.size()))];
  if (spec.parallel.pipeline > 1) spec.schedule.virtual_stages = 1 + below(3);
  const std::int64_t chunks = spec.parallel.pipeline * spec.schedule.virtual_stages;
  spec.model.layers = chunks + below(9);
  std::int64_t micro_batches = 1 + below(9);
  if (spec.schedule.virtual_stages > 1) {
    micro_batches = spec.parallel.pipeline * (1 + micro_batches % 3);
  }
  spec.global_batch_sequences = micro_batches * spec.parallel.data * spec.micro_batch_sequences;
  spec.gradient_buckets = 1 + below(6);
  spec.steps = 1 + below(2);
  if (below(2) == 0) draw_options(spec, below);
  return spec;
}

WorkloadBuilder two_devices(std::uint32_t send_tag) {
  WorkloadBuilder workload("two devices");
  workload.add_axis("device", 2);
  for (const std::uint32_t device : {0u, 1u}) {
    ProgramBuilder& program = workload.add_program(device == 0 ? "sender" : "receiver");
    NodeFields node;
    node.kind = device == 0 ? schema::NodeKind::SEND : schema::NodeKind::RECEIVE;
    node.stream = program.add_stream("network", schema::StreamKind::COMMUNICATION);
    node.peer_axis = 0;
    node.peer = device == 0 ? 1 : -1;
    node.tag = device == 0 ? send_tag : 7;
    node.comm_bytes = 8;
    program.add_node(node);
    workload.bind_range(device, {.axis = 0, .first = device, .count = 1});
  }
  return workload;
}

std::vector<NamedNode> nodes_of(const WorkloadGraph& graph, std::uint32_t program,
                                schema::Phase phase, std::uint16_t layer,
                                std::uint16_t micro_batch) {
  std::vector<NamedNode> result;
  const model::Program& nodes = graph.program(program);
  for (std::uint32_t i = 0; i < nodes.node_count(); ++i) {
    const schema::Node::Reader node = nodes.node(i);
    if (node.getPhase() == phase && node.getLayer() == layer &&
        node.getMicroBatch() == micro_batch) {
      result.push_back({graph.node_name(node), node});
    }
  }
  return result;
}

std::string temporary_path(const std::string& name) {
  const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
  return ::testing::TempDir() + "exawarp_" + std::to_string(::getpid()) + "_" +
         (test == nullptr ? "" : test->name()) + "_" + name;
}

}  // namespace exawarp::tests
