// Builds the small workloads by hand, node by node, and runs clusters on them by run_matrix.
#include "tests/support/cluster_fixture.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "model/generate/transformer.h"
#include "model/workload/validate.h"
#include "pdes/transport.h"
#include "pdes/transport_in_process.h"

namespace exawarp::tests {
namespace {

using model::NodeFields;
using model::ProgramBuilder;
using model::WorkloadBuilder;
using model::WorkloadGraph;
namespace schema = model::schema;
using schema::NodeKind;
using schema::StreamKind;

WorkloadGraph finished(const WorkloadBuilder& builder) {
  WorkloadGraph graph = builder.build();
  model::validate(graph);
  return graph;
}

NodeFields timed(std::uint8_t stream, core::Time duration) {
  return {.kind = NodeKind::COMPUTE,
          .stream = stream,
          .duration_ps = static_cast<std::uint64_t>(duration.ps)};
}

NodeFields message(NodeKind kind, std::uint8_t stream, std::uint8_t axis, std::int32_t peer,
                   std::uint32_t tag, std::uint64_t bytes) {
  return {.kind = kind,
          .stream = stream,
          .peer_axis = axis,
          .peer = peer,
          .tag = tag,
          .comm_bytes = bytes};
}

// Micro-batches of one stage in 1F1B order: forward as {m, true}.
struct Slot {
  std::uint32_t micro_batch;
  bool forward;
};
std::vector<Slot> one_forward_one_backward(std::uint32_t stage, std::uint32_t stages,
                                           std::uint32_t micro_batches) {
  std::vector<Slot> slots;
  const std::uint32_t warm_up = std::min(stages - 1 - stage, micro_batches);
  for (std::uint32_t m = 0; m < warm_up; ++m) slots.push_back({m, true});
  for (std::uint32_t m = 0; m < micro_batches; ++m) {
    if (warm_up + m < micro_batches) slots.push_back({warm_up + m, true});
    slots.push_back({m, false});
  }
  return slots;
}

// One stage's program of small_training_step().
class StageBuilder {
 public:
  StageBuilder(ProgramBuilder& program, const TrainingShape& shape, std::uint32_t stage)
      : program_(program), shape_(shape), stage_(stage) {
    compute_ = program.add_stream("compute", StreamKind::COMPUTE);
    tensor_ = program.add_stream("tensor", StreamKind::COMMUNICATION);
    data_ = program.add_stream("data", StreamKind::COMMUNICATION);
    send_ = {program.add_stream("send_forward", StreamKind::COMMUNICATION),
             program.add_stream("send_backward", StreamKind::COMMUNICATION)};
    receive_ = {program.add_stream("receive_forward", StreamKind::COMMUNICATION),
                program.add_stream("receive_backward", StreamKind::COMMUNICATION)};
  }

  void build() {
    for (const Slot& slot : one_forward_one_backward(stage_, shape_.pipeline,
                                                     shape_.micro_batches)) {
      micro_batch(slot);
    }
    const std::uint32_t reduced = program_.add_node({.kind = NodeKind::COLLECTIVE,
                                                     .stream = data_,
                                                     .collective =
                                                         schema::CollectiveType::REDUCE_SCATTER,
                                                     .group = 1,
                                                     .comm_bytes = 400'000},
                                                    {last_});
    const std::uint32_t stepped = program_.add_node(timed(compute_, core::Time{30'000'000}),
                                                    {reduced});
    program_.add_node({.kind = NodeKind::COLLECTIVE,
                       .stream = data_,
                       .collective = schema::CollectiveType::ALL_GATHER,
                       .group = 1,
                       .comm_bytes = 100'000},
                      {stepped});
  }

 private:
  void micro_batch(const Slot& slot) {
    const std::size_t way = slot.forward ? 0 : 1;
    const bool first = slot.forward ? stage_ == 0 : stage_ + 1 == shape_.pipeline;
    const bool final = slot.forward ? stage_ + 1 == shape_.pipeline : stage_ == 0;
    const std::int32_t onward = slot.forward ? 1 : -1;
    std::optional<std::uint32_t> before;
    if (!first) {
      before = program_.add_node(message(NodeKind::RECEIVE, receive_[way], 2, -onward,
                                         2 * slot.micro_batch + static_cast<std::uint32_t>(way),
                                         20'000));
    }
    for (std::uint32_t layer = 0; layer < shape_.layers; ++layer) {
      NodeFields work{.kind = NodeKind::COMPUTE,
                      .stream = compute_,
                      .operation = schema::Operation::GEMM,
                      .data_type = schema::DataType::BF16,
                      .flops = slot.forward ? 20'000'000u : 40'000'000u,
                      .bytes_read = 1'000'000};
      last_ = before ? program_.add_node(work, {*before}) : program_.add_node(work);
      before = program_.add_node({.kind = NodeKind::COLLECTIVE,
                                  .stream = tensor_,
                                  .collective = schema::CollectiveType::ALL_REDUCE,
                                  .group = 0,
                                  .comm_bytes = 40'000},
                                 {last_});
    }
    last_ = *before;
    if (final) return;
    program_.add_node(message(NodeKind::SEND, send_[way], 2, onward,
                              2 * slot.micro_batch + static_cast<std::uint32_t>(way), 20'000),
                      {last_});
  }

  ProgramBuilder& program_;
  TrainingShape shape_;
  std::uint32_t stage_;
  std::uint8_t compute_, tensor_, data_;
  std::array<std::uint8_t, 2> send_, receive_;
  std::uint32_t last_ = 0;
};

ClusterRun run_rank(const model::Cluster& cluster, const RunCase& run, const TracedPower* power,
                    pdes::Transport& transport) {
  const pdes::EngineOptions options{.sync = run.sync,
                                    .threads = run.threads,
                                    .memory_budget_bytes = run.memory_budget_bytes,
                                    .window = run.window,
                                    .audit_probability = run.audit_probability,
                                    .rebuild_events = run.rebuild_events};
  const auto placement =
      blocks_of(cluster.lp_count(), cluster.atom_shift())(run.ranks, run.partitions_per_rank);
  std::unique_ptr<model::PowerTrace> trace;
  if (power != nullptr) {
    trace = std::make_unique<model::PowerTrace>(cluster, power->system, placement.partitions(),
                                                power->options);
  }
  pdes::Engine engine(cluster, placement, options, transport, trace.get());
  ClusterRun done{engine.run(), model::Outcome(cluster), std::move(trace)};
  engine.visit([&](core::LpId lp, const void* state) { done.outcome.add(lp, state); });
  done.outcome.combine(transport);
  if (power != nullptr) done.power->combine(transport);
  if (power != nullptr && transport.rank().value == 0) done.power->finish(done.outcome);
  return done;
}

}  // namespace

model::Accelerator round_accelerator() {
  model::Accelerator a;
  a.name = "round";
  a.matrix_flops_per_s[static_cast<std::size_t>(schema::DataType::BF16)] = 1e12;
  a.vector_flops_per_s = 1e11;
  a.memory_bytes_per_s = 1e12;
  a.host_bytes_per_s = 1e10;
  a.efficiency.fill({1, 1});
  return a;
}

model::Accelerator powered_accelerator() {
  model::Accelerator accelerator = round_accelerator();
  accelerator.power = {.idle_mw = 100'000,
                       .limit_mw = 500'000,
                       .communicating_mw = 150'000,
                       .compute_saturation = 0.5,
                       .memory_share = 0.75};
  return accelerator;
}

model::Fabric round_fabric() {
  return model::nodes_on_a_fat_tree(
      {.name = "round node",
       .devices = 4,
       .bandwidth_bytes_per_s = 100'000'000'000,
       .latency = kNodeLatency},
      {.devices_per_leaf = 8,
       .groups_per_pod = 2,
       .spines_per_pod = 2,
       .host = {"host", 10'000'000'000, core::Time{10'000}},
       .latencies = {.forwarding = core::Time{100'000}, .endpoint = core::Time{2'000'000}}},
      "round fabric");
}

model::ClosSpec& tree_of(model::Fabric& fabric) {
  return std::get<model::ClosSpec>(fabric.networks.front().shape);
}

WorkloadGraph collectives(schema::CollectiveType type, std::uint32_t devices, std::uint64_t bytes,
                          std::uint32_t repeats, std::uint32_t root) {
  WorkloadBuilder workload("collectives");
  const std::uint8_t axis = workload.add_axis("device", devices);
  const std::uint16_t group = workload.add_group("all", {axis});
  ProgramBuilder& program = workload.add_program("member");
  const std::uint8_t stream = program.add_stream("network", StreamKind::COMMUNICATION);
  for (std::uint32_t i = 0; i < repeats; ++i) {
    program.add_node({.kind = NodeKind::COLLECTIVE,
                      .stream = stream,
                      .collective = type,
                      .group = group,
                      .root = root,
                      .comm_bytes = bytes});
  }
  workload.bind_range(0, {.axis = axis, .first = 0, .count = devices});
  return finished(workload);
}

WorkloadGraph two_stage_pipeline(const PipelineShape& shape) {
  WorkloadBuilder workload("two stages");
  const std::uint8_t axis = workload.add_axis("pipeline", 2);
  for (std::uint32_t stage = 0; stage < 2; ++stage) {
    ProgramBuilder& program = workload.add_program(stage == 0 ? "stage 0" : "stage 1");
    const std::uint8_t compute = program.add_stream("compute", StreamKind::COMPUTE);
    const std::uint8_t send = program.add_stream("send", StreamKind::COMMUNICATION);
    const std::uint8_t receive = program.add_stream("receive", StreamKind::COMMUNICATION);
    const std::int32_t peer = stage == 0 ? 1 : -1;
    for (const Slot& slot : one_forward_one_backward(stage, 2, shape.micro_batches)) {
      const NodeFields work = timed(compute, slot.forward ? shape.forward : shape.backward);
      const std::uint32_t tag = 2 * slot.micro_batch + (slot.forward ? 0 : 1);
      if (slot.forward == (stage == 0)) {
        const std::uint32_t done = program.add_node(work);
        program.add_node(message(NodeKind::SEND, send, axis, peer, tag, shape.bytes), {done});
      } else {
        const std::uint32_t got =
            program.add_node(message(NodeKind::RECEIVE, receive, axis, peer, tag, shape.bytes));
        program.add_node(work, {got});
      }
    }
    workload.bind_range(stage, {.axis = axis, .first = stage, .count = 1});
  }
  return finished(workload);
}

WorkloadGraph small_training_step(const TrainingShape& shape) {
  WorkloadBuilder workload("small training step");
  const std::uint8_t tensor = workload.add_axis("tensor", shape.tensor);
  const std::uint8_t data = workload.add_axis("data", shape.data);
  const std::uint8_t pipeline = workload.add_axis("pipeline", shape.pipeline);
  workload.add_group("tensor", {tensor});
  workload.add_group("data", {data});
  for (std::uint32_t stage = 0; stage < shape.pipeline; ++stage) {
    ProgramBuilder& program = workload.add_program("stage " + std::to_string(stage));
    StageBuilder(program, shape, stage).build();
    workload.bind_range(stage, {.axis = pipeline, .first = stage, .count = 1});
  }
  return finished(workload);
}

WorkloadGraph small_llama(const model::ParallelSpec& parallel, std::int64_t steps) {
  model::TransformerSpec spec;
  spec.model.name = "small llama";
  spec.model.layers = 8;
  spec.model.hidden = 1024;
  spec.model.ffn = 2816;
  spec.model.heads = 8;
  spec.model.kv_heads = 4;
  spec.model.vocabulary = 32'000;
  spec.parallel = parallel;
  spec.sequence_length = 1024;
  spec.global_batch_sequences = 4 * parallel.data;
  spec.steps = steps;
  spec.kernels = model::kernels_of(model::KernelPreset::kIdeal);
  return model::generate_transformer(spec);
}

ClusterRun run_cluster(const model::Cluster& cluster, const RunCase& run,
                       const TracedPower* power) {
  if (run.ranks == 1) {
    const auto transport = pdes::make_single_transport();
    return run_rank(cluster, run, power, *transport);
  }
  pdes::InProcessHub hub(run.ranks, run.chaos_seed);
  std::vector<std::optional<ClusterRun>> done(run.ranks);
  {
    std::vector<std::jthread> ranks;
    for (std::uint32_t r = 0; r < run.ranks; ++r) {
      ranks.emplace_back([&, r] {
        const auto transport = hub.endpoint({r});
        done[r].emplace(run_rank(cluster, run, power, *transport));
      });
    }
  }
  return std::move(*done[0]);
}

Simulated simulate(WorkloadGraph graph, const model::ClusterOptions& options) {
  auto kept = std::make_unique<WorkloadGraph>(std::move(graph));
  auto cluster =
      std::make_unique<model::Cluster>(*kept, round_accelerator(), round_fabric(), options);
  model::Outcome outcome = run_cluster(*cluster).outcome;
  return {std::move(kept), std::move(cluster), std::move(outcome)};
}

}  // namespace exawarp::tests
