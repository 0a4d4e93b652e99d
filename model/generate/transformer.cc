// Transformers; see transformer.h. What is computed and sent where is in transformer_stage.cc, what
// it costs in transformer_costs.h, in which order in schedule.h, between whom in
// transformer_mesh.h.
#include "model/generate/transformer.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "model/generate/transformer_plan.h"
#include "model/generate/transformer_stage.h"
#include "model/workload/validate.h"

namespace exawarp::model {
namespace {

using WriteProgram = std::function<void(StageWriter&)>;

std::uint32_t narrow(std::int64_t value) { return static_cast<std::uint32_t>(value); }

// Stages that hold the embedding's table, or the head's where it is the same, in ascending order.
std::vector<std::uint32_t> embedding_stages(const TransformerPlan& plan) {
  std::vector<std::uint32_t> stages{0};
  const auto chunks = narrow(static_cast<std::int64_t>(plan.chunk_layers.size()));
  if (plan.spec.model.family == ModelFamily::kEncoderDecoder) {
    stages.push_back(plan.stage_of(plan.chunk_of(plan.decoder_begin)));
  }
  if (plan.spec.model.tied_embeddings) stages.push_back(plan.stage_of(chunks - 1));
  std::sort(stages.begin(), stages.end());
  stages.erase(std::unique(stages.begin(), stages.end()), stages.end());
  return stages;
}

TransformerPlan make_plan(const TransformerSpec& spec) {
  TransformerPlan plan{.spec = spec};
  plan.shape = {.stages = narrow(spec.parallel.pipeline),
                .chunks = narrow(spec.schedule.virtual_stages),
                .micro_batches = narrow(micro_batches_of(spec)),
                .together = spec.overlap.experts};
  const std::uint32_t chunks = plan.shape.stages * plan.shape.chunks;
  if (plan.both_ways()) plan.shape.chunks = 2;
  plan.layers = narrow(layers_of(spec.model));
  plan.chunk_layers = spec.schedule.chunk_layers;
  if (plan.chunk_layers.empty()) {
    plan.chunk_layers = layers_of_chunks({.layers = plan.layers,
                                          .chunks = chunks,
                                          .first = narrow(spec.schedule.first_stage_layers),
                                          .last = narrow(spec.schedule.last_stage_layers),
                                          .ends = spec.schedule.count_ends});
  }
  std::uint32_t layer = 0;
  for (const std::uint32_t layers : plan.chunk_layers) {
    plan.first_layer.push_back(layer);
    layer += layers;
  }
  plan.decoder_begin = narrow(spec.model.encoder_layers);
  plan.embedding_stages = embedding_stages(plan);
  plan.routing = route_experts(spec);
  if (spec.routing.node_devices != 0) {
    plan.expert_ranks_of_node = narrow(expert_ranks_of_node(spec));
  }
  return plan;
}

// Tables of all-to-all sizes in bytes: to the experts, and back.
void add_sizes(TransformerPlan& plan, WorkloadBuilder& workload) {
  if (plan.routing.balanced || plan.expert() == 1) return;
  const std::uint32_t n = plan.routing.ranks;
  const auto slot =
      static_cast<std::uint64_t>(plan.spec.model.hidden * bytes_of(plan.spec.precision));
  for (std::uint32_t p = 0; p < plan.routing.slots.size(); ++p) {
    std::vector<std::uint64_t> there = plan.routing.table(p);
    for (std::uint64_t& bytes : there) bytes *= slot;
    std::vector<std::uint64_t> back(there.size());
    for (std::size_t i = 0; i < there.size(); ++i) back[i % n * n + i / n] = there[i];
    plan.dispatch_sizes.push_back(workload.add_sizes(std::move(there)));
    plan.combine_sizes.push_back(workload.add_sizes(std::move(back)));
  }
}

// One program a stage, shared by all of its devices.
void write_stages(const TransformerPlan& plan, WorkloadBuilder& workload,
                  const WriteProgram& write) {
  const TransformerCosts costs = transformer_costs(plan.spec, plan.routing, 0);
  for (std::uint32_t stage = 0; stage < plan.shape.stages; ++stage) {
    ProgramBuilder& program = workload.add_program(fmt::format("stage {}", stage));
    StageWriter writer(plan, costs, stage, workload, program);
    write(writer);
    workload.bind_range(program.index(),
                        {.axis = plan.mesh.pipeline_axis, .first = stage, .count = 1});
  }
}

// Where experts are not equally busy: one a stage and place among the ranks that share them.
void write_roles(const TransformerPlan& plan, WorkloadBuilder& workload,
                 const WriteProgram& write) {
  const std::uint32_t roles = plan.routing.ranks;
  std::vector<std::vector<std::uint32_t>> devices(std::size_t{plan.shape.stages} * roles);
  for (std::uint32_t device = 0; device < plan.mesh.devices; ++device) {
    const std::uint32_t stage = plan.mesh.stage_of(device, plan.shape.stages);
    devices[stage * roles + plan.mesh.expert_rank_of(device)].push_back(device);
  }
  for (std::uint32_t role = 0; role < roles; ++role) {
    const TransformerCosts costs = transformer_costs(plan.spec, plan.routing, role);
    for (std::uint32_t stage = 0; stage < plan.shape.stages; ++stage) {
      ProgramBuilder& program =
          workload.add_program(fmt::format("stage {} experts {}", stage, role));
      StageWriter writer(plan, costs, stage, workload, program);
    write(writer);
      workload.bind_devices(program.index(), std::move(devices[stage * roles + role]));
    }
  }
}

// All but the nodes, and those as `write` does.
void write_programs(TransformerPlan& plan, WorkloadBuilder& workload, const WriteProgram& write) {
  plan.mesh = add_mesh(plan.spec, plan.embedding_stages, workload);
  add_sizes(plan, workload);
  if (plan.routing.balanced || plan.expert() == 1) {
    write_stages(plan, workload, write);
  } else {
    write_roles(plan, workload, write);
  }
}

void set_totals(const TransformerPlan& plan, WorkloadBuilder& workload) {
  const TransformerSpec& spec = plan.spec;
  workload.set_training(
      {.tokens_per_step = static_cast<std::uint64_t>(spec.global_batch_sequences) *
                          static_cast<std::uint64_t>(tokens_of(spec)),
       .model_flops_per_step = model_flops_of_step(spec),
       .parameters = parameter_count(spec.model),
       .sequences_per_step = static_cast<std::uint64_t>(spec.global_batch_sequences),
       .micro_batches = plan.shape.micro_batches,
       .steps = narrow(spec.steps)});
}

}  // namespace

// On one device the model does only its own arithmetic, for every split.
double model_flops_of_step(const TransformerSpec& spec) {
  TransformerSpec whole = spec;
  whole.parallel = {};
  whole.routing = {};
  whole.micro_batch_sequences = 1;
  const TransformerCosts costs = transformer_costs(whole, route_experts(whole), 0);
  double sum = costs.edge_model_flops;
  for (const std::uint8_t kind : costs.kind_of_layer) sum += costs.kinds[kind].model_flops;
  return static_cast<double>(spec.global_batch_sequences) * sum;
}

WorkloadGraph generate_transformer(const TransformerSpec& spec, std::uint64_t bytes_max) {
  check(spec);
  check_size(spec);
  TransformerPlan plan = make_plan(spec);
  WorkloadBuilder workload(spec.model.name.empty() ? "transformer" : spec.model.name, bytes_max);
  write_programs(plan, workload, [](StageWriter& writer) { writer.write(); });
  set_totals(plan, workload);
  WorkloadGraph graph = workload.build();
  validate(graph);
  return graph;
}

std::vector<NamedMemory> memory_of_programs(const TransformerSpec& spec) {
  check(spec);
  TransformerPlan plan = make_plan(spec);
  WorkloadBuilder workload("memory");
  std::vector<NamedMemory> out;
  write_programs(plan, workload, [&out](StageWriter& writer) {
    out.push_back({.program = writer.name(), .memory = writer.memory()});
  });
  return out;
}

}  // namespace exawarp::model
