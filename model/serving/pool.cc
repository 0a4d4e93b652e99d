#include "model/serving/pool.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/error.h"
#include "model/generate/spec_range.h"
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
  [[nodiscard]] std::uint64_t common_with(const Interval& other) const {
    const std::uint64_t from = std::max(first, other.first), until = std::min(end, other.end);
    return until > from ? until - from : 0;
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

void add_stage(const Pool& pool, std::uint32_t stage, std::uint16_t group,
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
      .kind = schema::NodeKind::COLLECTIVE, .stream = stream, .group = group};
  if (pool.layout.tensor > 1) {
    collective.collective = schema::CollectiveType::ALL_REDUCE;
    add_classes(program, collective, tokens, all_reduce_bytes, pool);
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
  const std::uint64_t layers = unsign(pool.model.layers);
  return static_cast<std::uint32_t>(2 * ((layers + pool.layout.pipeline - 1) /
                                         pool.layout.pipeline));
}

std::uint64_t all_reduce_bytes(const Pool& pool, std::uint64_t tokens) {
  const std::uint64_t count = all_reduces_of(pool);
  const std::uint64_t all = 2 * unsign(pool.model.layers) * activation_bytes(pool, tokens);
  const std::uint64_t parts = count * pool.layout.pipeline;
  return (all + parts - 1) / parts;
}

void check(const Pool& pool) {
  const PoolLayout& layout = pool.layout;
  const ModelSpec& m = pool.model;
  if (m.layers < 1 || layout.pipeline > unsign(m.layers)) {
    throw core::InputError(fmt::format("pipeline: \"{}\"; expected at most the layers, {}",
                                       layout.pipeline, m.layers));
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
  const std::uint16_t group = workload.add_group("tensor", {kTensorAxis});
  for (std::uint32_t stage = 0; stage < pool.layout.pipeline; ++stage) {
    add_stage(pool, stage, group, workload);
  }
  WorkloadGraph graph = workload.build();
  validate(graph);
  return graph;
}

KvPlan kv_plan(const ModelSpec& model, const PoolLayout& from, const PoolLayout& to) {
  const KvUnits units = units_of(model);
  const std::uint64_t layers = unsign(model.layers);
  KvPlan plan;
  plan.parts.resize(from.replica_devices());
  const auto add = [&](std::uint32_t sender, std::uint32_t receiver, std::uint64_t bytes) {
    auto& parts = plan.parts[sender];
    if (parts.empty() || parts.back().to != receiver) {
      parts.push_back({.to = receiver});
      ++plan.messages;
    }
    parts.back().bytes_per_token += bytes;
  };
  for (std::uint32_t stage = 0; stage < to.pipeline; ++stage) {
    for (std::uint32_t t = 0; t < to.tensor; ++t) {
      const Interval wanted = fair_share(units.count, t, to.tensor);
      for (std::uint32_t p = 0; p < from.pipeline; ++p) {
        const std::uint64_t common = fair_share(layers, p, from.pipeline)
                                         .common_with(fair_share(layers, stage, to.pipeline));
        for (std::uint64_t unit = wanted.first; common != 0 && unit < wanted.end; ++unit) {
          const std::uint32_t sender = sender_of(units.count, unit, from.tensor, t);
          add(sender + from.tensor * p, t + to.tensor * stage, common * units.bytes);
        }
      }
    }
  }
  return plan;
}

}  // namespace exawarp::model::serving
