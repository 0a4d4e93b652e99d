#include "model/serving/pool.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "model/generate/spec_range.h"
#include "model/serving/expert_exchange.h"
#include "model/serving/size_classes.h"
#include "model/workload/builder.h"
#include "model/workload/validate.h"

namespace exawarp::model::serving {
namespace {

constexpr std::uint8_t kTensorAxis = 0, kPipelineAxis = 1;

// Parts that keys and values of a layer can be split into, and bytes of one for a token.
struct KvUnits {
  std::uint64_t count = 1, bytes = 0;
};
KvUnits units_of(const ModelSpec& m) {
  if (m.mla.key_value_rank != 0) {
    return {1, kElementBytes * unsign(m.mla.key_value_rank + m.mla.rope_dim)};
  }
  return {unsign(kv_heads_of(m)), kElementBytes * 2 * unsign(head_dim_of(m))};
}

struct Interval {
  std::uint64_t first, end;
  // Empty: `end` is at or before `first`.
  [[nodiscard]] Interval common_with(const Interval& other) const {
    return {std::max(first, other.first), std::min(end, other.end)};
  }
};
// Of `whole` things the share of the i-th of n; one at least, which several may share.
Interval fair_share(std::uint64_t whole, std::uint64_t i, std::uint64_t n) {
  const std::uint64_t first = i * whole / n;
  return {first, std::max(first + 1, (i + 1) * whole / n)};
}

// The rank of `tensor` that sends unit `unit` to receiver `receiver`.
std::uint32_t sender_of(std::uint64_t units, std::uint64_t unit, std::uint32_t tensor,
                        std::uint32_t receiver) {
  std::vector<std::uint32_t> holders;
  for (std::uint32_t t = 0; t < tensor; ++t) {
    const Interval has = fair_share(units, t, tensor);
    if (has.first <= unit && unit < has.end) holders.push_back(t);
  }
  return holders[receiver % holders.size()];
}

// Message by message of the sending replica.
class KvPlanner {
 public:
  KvPlanner(const ModelSpec& model, const PoolLayout& from, const PoolLayout& to)
      : units_(units_of(model)), layers_(unsign(model.layers)), from_(from), to_(to) {
    plan_.parts.resize(from.replica_devices());
  }

  // Layers `sent` of stage `p`, whose first is `first`.
  void add(std::uint32_t p, const Interval& sent, std::uint64_t first) {
    for (std::uint32_t stage = 0; stage < to_.pipeline; ++stage) {
      const Interval common = sent.common_with(fair_share(layers_, stage, to_.pipeline));
      if (common.end <= common.first) continue;
      KvPart part{.layers = static_cast<std::uint32_t>(common.end - first),
                  .bytes_per_token = (common.end - common.first) * units_.bytes};
      for (std::uint32_t t = 0; t < to_.tensor; ++t) {
        part.to = t + to_.tensor * stage;
        const Interval wanted = fair_share(units_.count, t, to_.tensor);
        for (std::uint64_t unit = wanted.first; unit < wanted.end; ++unit) {
          add_unit(plan_.parts[sender_of(units_.count, unit, from_.tensor, t) + from_.tensor * p],
                   part);
        }
      }
    }
  }
  [[nodiscard]] KvPlan plan() { return std::move(plan_); }

 private:
  void add_unit(std::vector<KvPart>& parts, const KvPart& part) {
    if (!parts.empty() && parts.back().to == part.to && parts.back().layers == part.layers) {
      parts.back().bytes_per_token += part.bytes_per_token;
      return;
    }
    parts.push_back(part);
    ++plan_.messages;
  }

  KvUnits units_;
  std::uint64_t layers_;
  PoolLayout from_, to_;
  KvPlan plan_;
};

void add_classes(ProgramBuilder& program, NodeFields node, std::uint64_t most,
                 std::uint64_t (*bytes)(const Pool&, std::uint64_t), const Pool& pool) {
  for (std::uint32_t c = 0; c <= size_class_of(most); ++c) {
    node.tag = c;
    node.comm_bytes = bytes(pool, size_of_class(c));
    program.add_node(node);
  }
}

std::uint64_t activation_bytes(const Pool& pool, std::uint64_t tokens) {
  return kElementBytes * tokens * unsign(pool.model.hidden);
}
std::uint64_t logit_bytes(const Pool& pool, std::uint64_t outputs) {
  const std::uint64_t own = (unsign(pool.model.vocabulary) + pool.layout.tensor - 1) /
                            pool.layout.tensor;
  return kElementBytes * outputs * own;
}

struct PoolGroups {
  std::uint16_t tensor = 0, expert = 0;
};

// To experts, and back.
void add_exchanges(const Pool& pool, NodeFields node, WorkloadBuilder& workload,
                   ProgramBuilder& program) {
  node.collective = schema::CollectiveType::ALL_TO_ALL;
  const std::uint32_t last = size_class_of(batch_tokens_bound(pool.spec));
  const std::size_t ranks = pool.layout.tensor;
  const bool is_even = pool.exchange.imbalance == 0;
  const std::vector<std::uint64_t> shares =
      is_even ? std::vector<std::uint64_t>{} : expert_shares(pool);
  for (const bool is_back : {false, true}) {
    for (std::uint32_t c = 0; c <= last; ++c) {
      node.tag = c;
      if (is_even) {
        node.comm_bytes = (exchange_bytes(pool, size_of_class(c)) + ranks - 1) / ranks;
      } else {
        const std::vector<std::uint64_t> there = exchange_table(pool, shares, size_of_class(c));
        std::vector<std::uint64_t> back(there.size());
        for (std::size_t i = 0; i < there.size(); ++i) {
          back[i % ranks * ranks + i / ranks] = there[i];
        }
        node.sizes = workload.add_sizes(is_back ? back : there);
      }
      program.add_node(node);
    }
  }
}

void add_stage(const Pool& pool, std::uint32_t stage, const PoolGroups& groups,
               WorkloadBuilder& workload) {
  ProgramBuilder& program = workload.add_program(fmt::format("stage {}", stage));
  const std::uint8_t stream = program.add_stream("iterations", schema::StreamKind::COMPUTE);
  program.add_stream("transfers", schema::StreamKind::COMMUNICATION);
  const std::uint64_t tokens = batch_tokens_bound(pool.spec);
  NodeFields pass{.stream = stream, .peer_axis = kPipelineAxis};
  if (stage != 0) {
    pass.kind = schema::NodeKind::RECEIVE;
    pass.peer = -1;
    add_classes(program, pass, tokens, activation_bytes, pool);
  }
  NodeFields collective{
      .kind = schema::NodeKind::COLLECTIVE, .stream = stream, .group = groups.tensor};
  if (pool.layout.tensor > 1) {
    collective.collective = schema::CollectiveType::ALL_REDUCE;
    add_classes(program, collective, tokens, all_reduce_bytes, pool);
  }
  if (exchanges_of(pool) != 0) {
    add_exchanges(pool, {.kind = collective.kind, .stream = stream, .group = groups.expert},
                  workload, program);
  }
  const bool is_last = stage + 1 == pool.layout.pipeline;
  if (is_last && pool.layout.tensor > 1) {
    collective.collective = schema::CollectiveType::ALL_GATHER;
    add_classes(program, collective, batch_outputs_bound(pool.spec), logit_bytes, pool);
  }
  if (!is_last) {
    pass.kind = schema::NodeKind::SEND;
    pass.peer = 1;
    add_classes(program, pass, tokens, activation_bytes, pool);
  }
  workload.bind_range(program.index(), {.axis = kPipelineAxis, .first = stage, .count = 1});
}

}  // namespace

std::uint64_t batch_tokens_bound(const Spec& spec) {
  const std::uint64_t requests = spec.batch_requests_max;
  switch (spec.policy) {
    case Policy::orca:
    case Policy::faster_transformer:
      return requests * spec.request_tokens_max;
    default:
      // A prompt that starts again is a whole one at most.
      return std::max({std::uint64_t{spec.batch_tokens_max}, std::uint64_t{spec.chunk_tokens},
                       std::uint64_t{spec.request_tokens_max}, requests});
  }
}

std::uint64_t batch_outputs_bound(const Spec& spec) {
  return std::uint64_t{spec.batch_requests_max} * (1 + spec.speculation.tokens);
}

std::uint32_t all_reduces_of(const Pool& pool) {
  if (pool.layout.tensor == 1) return 1;
  if (pool.all_reduces != 0) return pool.all_reduces;
  const std::uint64_t stages = pool.layout.pipeline;
  if (exchanges_of(pool) == 0) {
    return static_cast<std::uint32_t>(2 * ((unsign(pool.model.layers) + stages - 1) / stages));
  }
  return static_cast<std::uint32_t>((sums_of_layers(pool) + stages - 1) / stages);
}

std::uint64_t all_reduce_bytes(const Pool& pool, std::uint64_t tokens) {
  const std::uint64_t count = all_reduces_of(pool);
  const std::uint64_t all = sums_of_layers(pool) * activation_bytes(pool, tokens);
  const std::uint64_t parts = count * pool.layout.pipeline;
  return (all + parts - 1) / parts;
}

std::uint32_t layers_of(const Pool& pool, std::uint32_t stage) {
  const Interval has = fair_share(unsign(pool.model.layers), stage, pool.layout.pipeline);
  return static_cast<std::uint32_t>(has.end - has.first);
}

std::uint32_t pieces_of(const Pool& pool) {
  const std::uint32_t each = pool.layers_per_message;
  if (pool.layout.tensor > 1 || each == 0) return all_reduces_of(pool) + 2 * exchanges_of(pool);
  const std::uint64_t layers = unsign(pool.model.layers);
  const std::uint64_t most = (layers + pool.layout.pipeline - 1) / pool.layout.pipeline;
  return static_cast<std::uint32_t>((most + each - 1) / each);
}

void check(const Pool& pool) {
  const PoolLayout& layout = pool.layout;
  const ModelSpec& m = pool.model;
  if (m.layers < 1 || layout.pipeline > unsign(m.layers)) {
    throw core::InputError(fmt::format("pipeline: \"{}\"; expected at most the layers, {}",
                                       layout.pipeline, m.layers));
  }
  if (exchanges_of(pool) != 0 && unsign(m.moe.experts) % layout.tensor != 0) {
    throw core::InputError(fmt::format("tensor: \"{}\"; expected a divisor of the experts, {}",
                                       layout.tensor, m.moe.experts));
  }
  if (layout.tensor > unsign(m.heads) || unsign(m.heads) % layout.tensor != 0) {
    throw core::InputError(fmt::format("tensor: \"{}\"; expected a divisor of the heads, {}",
                                       layout.tensor, m.heads));
  }
}

WorkloadGraph pool_graph(const Pool& pool) {
  check(pool);
  WorkloadBuilder workload("serving");
  workload.add_axis("tensor", pool.layout.tensor);
  workload.add_axis("pipeline", pool.layout.pipeline);
  workload.add_axis("replica", pool.layout.replicas);
  PoolGroups groups{.tensor = workload.add_group("tensor", {kTensorAxis})};
  if (exchanges_of(pool) != 0) groups.expert = workload.add_group("expert", {kTensorAxis});
  for (std::uint32_t stage = 0; stage < pool.layout.pipeline; ++stage) {
    add_stage(pool, stage, groups, workload);
  }
  WorkloadGraph graph = workload.build();
  validate(graph);
  return graph;
}

KvPlan kv_plan(const ModelSpec& model, const PoolLayout& from, const PoolLayout& to,
               std::uint32_t layers_per_message) {
  KvPlanner planner(model, from, to);
  for (std::uint32_t p = 0; p < from.pipeline; ++p) {
    const Interval has = fair_share(unsign(model.layers), p, from.pipeline);
    const std::uint64_t each = layers_per_message == 0 ? has.end - has.first : layers_per_message;
    for (std::uint64_t first = has.first; first < has.end; first += each) {
      planner.add(p, {first, std::min(first + each, has.end)}, has.first);
    }
  }
  return planner.plan();
}

}  // namespace exawarp::model::serving
