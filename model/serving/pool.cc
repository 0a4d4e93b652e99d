#include "model/serving/pool.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "model/generate/spec_range.h"
#include "model/serving/expert_exchange.h"
#include "model/serving/kv_room.h"
#include "model/serving/size_classes.h"
#include "model/workload/builder.h"
#include "model/workload/validate.h"

namespace exawarp::model::serving {
namespace {

// Axes of a pool's graph. Both splits of tensor ranks, within a group of data-parallel attention
// and into groups, are along an axis of their own, where there are groups.
struct PoolAxes {
  std::vector<std::uint8_t> group, tensor;  // a group's ranks; all of them
  std::uint8_t pipeline = 0;
};
PoolAxes add_axes(const PoolLayout& layout, WorkloadBuilder& workload) {
  PoolAxes axes;
  axes.group = axes.tensor = {workload.add_axis("tensor", layout.attention_ranks())};
  if (layout.attention_data > 1) {
    axes.tensor.push_back(workload.add_axis("tensor", layout.attention_data));
  }
  axes.pipeline = workload.add_axis("pipeline", layout.pipeline);
  workload.add_axis("replica", layout.replicas);
  return axes;
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
  KvPlanner(const ModelSpec& model, const PoolLayout& from, const PoolLayout& to,
            schema::DataType cache_precision)
      : units_(kv_units_of(model, cache_precision)),
        layers_(unsign(model.layers)),
        from_ranks_(from.attention_ranks()),
        to_ranks_(to.attention_ranks()),
        to_stages_(to.pipeline) {
    plan_.parts.resize(std::size_t{from_ranks_} * from.pipeline);
  }

  // Layers `sent` of stage `p`, whose first is `first`.
  void add(std::uint32_t p, const Interval& sent, std::uint64_t first) {
    for (std::uint32_t stage = 0; stage < to_stages_; ++stage) {
      const Interval common = sent.common_with(fair_share(layers_, stage, to_stages_));
      if (common.end <= common.first) continue;
      KvPart part{.layers = static_cast<std::uint32_t>(common.end - first),
                  .bytes_per_token = (common.end - common.first) * units_.bytes};
      for (std::uint32_t t = 0; t < to_ranks_; ++t) {
        part.to = t + to_ranks_ * stage;
        const Interval wanted = fair_share(units_.count, t, to_ranks_);
        for (std::uint64_t unit = wanted.first; unit < wanted.end; ++unit) {
          add_unit(plan_.parts[sender_of(units_.count, unit, from_ranks_, t) + from_ranks_ * p],
                   part);
        }
      }
    }
  }
  // Stages may send to the same receivers: each begins with another one, as partners of an exchange
  // do, lest they meet there while others of their receivers have nothing to take.
  [[nodiscard]] KvPlan plan() {
    for (std::size_t sender = 0; sender < plan_.parts.size(); ++sender) {
      begin_apart(plan_.parts[sender], sender / from_ranks_);
    }
    return std::move(plan_);
  }

 private:
  void add_unit(std::vector<KvPart>& parts, const KvPart& part) {
    if (!parts.empty() && parts.back().to == part.to && parts.back().layers == part.layers) {
      parts.back().bytes_per_token += part.bytes_per_token;
      return;
    }
    parts.push_back(part);
    ++plan_.messages;
  }
  // Rotates what receivers of the same layers get by the stage that sends it.
  static void begin_apart(std::vector<KvPart>& parts, std::size_t stage) {
    for (auto first = parts.begin(); first != parts.end();) {
      const auto end = std::find_if(first, parts.end(), [&first](const KvPart& part) {
        return part.layers != first->layers;
      });
      const auto receivers = static_cast<std::size_t>(end - first);
      std::rotate(first, first + static_cast<std::ptrdiff_t>(stage % receivers), end);
      first = end;
    }
  }

  KvUnits units_;
  std::uint64_t layers_;
  std::uint32_t from_ranks_, to_ranks_;  // of a group in a stage
  std::uint32_t to_stages_;
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
  std::uint16_t attention = 0, tensor = 0, expert = 0;  // attention: behind it, a group's ranks
};

std::uint64_t regrouping_share(const Pool& pool, std::uint64_t tokens) {
  return (regrouping_bytes(pool, tokens) + pool.layout.tensor - 1) / pool.layout.tensor;
}

// Of what layers have, over all of them, a stage's share.
std::uint32_t per_stage(std::uint64_t of_all_layers, const Pool& pool) {
  const std::uint64_t stages = pool.layout.pipeline;
  return static_cast<std::uint32_t>((of_all_layers + stages - 1) / stages);
}

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
               std::uint8_t pipeline, WorkloadBuilder& workload) {
  ProgramBuilder& program = workload.add_program(fmt::format("stage {}", stage));
  const std::uint8_t stream = program.add_stream("iterations", schema::StreamKind::COMPUTE);
  program.add_stream("transfers", schema::StreamKind::COMMUNICATION);
  const std::uint64_t tokens = batch_tokens_bound(pool.spec);
  NodeFields pass{.stream = stream, .peer_axis = pipeline};
  if (stage != 0) {
    pass.kind = schema::NodeKind::RECEIVE;
    pass.peer = -1;
    add_classes(program, pass, tokens, activation_bytes, pool);
  }
  NodeFields collective{
      .kind = schema::NodeKind::COLLECTIVE, .stream = stream, .group = groups.attention};
  if (pool.layout.attention_ranks() > 1) {
    collective.collective = schema::CollectiveType::ALL_REDUCE;
    add_classes(program, collective, tokens, all_reduce_bytes, pool);
  }
  collective.group = groups.tensor;
  if (regroupings_of(pool) != 0) {
    collective.collective = schema::CollectiveType::ALL_GATHER;
    add_classes(program, collective, tokens, regrouping_share, pool);
    collective.collective = schema::CollectiveType::REDUCE_SCATTER;
    add_classes(program, collective, tokens, regrouping_bytes, pool);
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
  workload.bind_range(program.index(), {.axis = pipeline, .first = stage, .count = 1});
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
  if (pool.layout.attention_ranks() == 1) return 0;
  if (pool.all_reduces != 0) return pool.all_reduces;
  const bool is_two_a_layer = exchanges_of(pool) == 0 && pool.layout.attention_data == 1 &&
                              pool.model.blocks == BlockOrder::kSequential &&
                              pool.model.pattern.empty();
  if (is_two_a_layer) return 2 * per_stage(unsign(pool.model.layers), pool);
  return per_stage(sums_of_layers(pool), pool);
}

std::uint64_t all_reduce_bytes(const Pool& pool, std::uint64_t tokens) {
  const std::uint64_t count = all_reduces_of(pool);
  const std::uint64_t all = sums_of_layers(pool) * activation_bytes(pool, tokens);
  const std::uint64_t parts = count * pool.layout.pipeline;
  return (all + parts - 1) / parts;
}

std::uint32_t regroupings_of(const Pool& pool) {
  const std::uint64_t layers = regrouped_layers(pool);
  if (layers == 0 || pool.all_reduces != 0) return layers == 0 ? 0 : pool.all_reduces;
  return per_stage(layers, pool);
}

std::uint64_t regrouping_bytes(const Pool& pool, std::uint64_t tokens) {
  const std::uint64_t parts = std::uint64_t{regroupings_of(pool)} * pool.layout.pipeline;
  return (regrouped_layers(pool) * activation_bytes(pool, tokens) + parts - 1) / parts;
}

std::uint32_t layers_of(const Pool& pool, std::uint32_t stage) {
  const Interval has = fair_share(unsign(pool.model.layers), stage, pool.layout.pipeline);
  return static_cast<std::uint32_t>(has.end - has.first);
}

std::uint32_t pieces_of(const Pool& pool) {
  const std::uint32_t each = pool.layers_per_message;
  if (pool.layout.tensor > 1 || each == 0) {
    return all_reduces_of(pool) + 2 * (regroupings_of(pool) + exchanges_of(pool));
  }
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
  if (layout.attention_data < 1 || layout.tensor % layout.attention_data != 0) {
    throw core::InputError(fmt::format("attention_data: \"{}\"; expected a divisor of tensor, {}",
                                       layout.attention_data, layout.tensor));
  }
  const std::uint32_t ranks = layout.attention_ranks();
  if (ranks > unsign(m.heads) || unsign(m.heads) % ranks != 0) {
    throw core::InputError(
        layout.attention_data == 1
            ? fmt::format("tensor: \"{}\"; expected a divisor of the heads, {}", ranks, m.heads)
            : fmt::format("tensor: \"{}\" in groups of {}; expected groups that divide the heads, "
                          "{}",
                          layout.tensor, ranks, m.heads));
  }
}

WorkloadGraph pool_graph(const Pool& pool) {
  check(pool);
  WorkloadBuilder workload("serving");
  const PoolAxes axes = add_axes(pool.layout, workload);
  PoolGroups groups;
  groups.attention = groups.tensor = workload.add_group("tensor", axes.tensor);
  if (pool.layout.attention_data > 1) groups.attention = workload.add_group("tensor", axes.group);
  if (exchanges_of(pool) != 0) groups.expert = workload.add_group("expert", axes.tensor);
  for (std::uint32_t stage = 0; stage < pool.layout.pipeline; ++stage) {
    add_stage(pool, stage, groups, axes.pipeline, workload);
  }
  WorkloadGraph graph = workload.build();
  validate(graph);
  return graph;
}

KvPlan kv_plan(const ModelSpec& model, const PoolLayout& from, const PoolLayout& to,
               std::uint32_t layers_per_message, schema::DataType cache_precision) {
  KvPlanner planner(model, from, to, cache_precision);
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
