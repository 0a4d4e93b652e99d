#include "model/serving/expert_exchange.h"

#include "model/generate/expert_routing.h"
#include "model/generate/layer_counts.h"
#include "model/generate/spec_range.h"

namespace exawarp::model::serving {
namespace {

bool exchanges(const Pool& pool) {
  return pool.exchange.on && pool.layout.tensor > 1 && layer_counts(pool.model).experts != 0;
}

}  // namespace

std::uint32_t exchanges_of(const Pool& pool) {
  if (!exchanges(pool)) return 0;
  if (pool.exchange.count != 0) return pool.exchange.count;
  const std::uint32_t stages = pool.layout.pipeline;
  return static_cast<std::uint32_t>((layer_counts(pool.model).experts + stages - 1) / stages);
}

std::uint64_t exchange_bytes(const Pool& pool, std::uint64_t tokens) {
  const ModelSpec& model = pool.model;
  const std::uint64_t of_layer = kElementBytes * tokens * pool.layout.attention_data *
                                 unsign(model.moe.top_k) * unsign(expert_width_of(model));
  const std::uint64_t parts = std::uint64_t{exchanges_of(pool)} * pool.layout.pipeline;
  return (layer_counts(model).experts * of_layer + parts - 1) / parts;
}

std::vector<std::uint64_t> expert_shares(const Pool& pool) {
  constexpr std::int64_t kTokens = 1 << 16;  // enough to tell shares apart
  TransformerSpec spec;
  spec.model = pool.model;
  spec.parallel.expert = pool.layout.tensor;
  spec.sequence_length = kTokens;
  spec.routing.imbalance = pool.exchange.imbalance;
  spec.routing.seed = pool.exchange.seed;
  const ExpertRouting routing = route_experts(spec);
  std::vector<std::uint64_t> shares;
  for (std::uint32_t rank = 0; rank < routing.ranks; ++rank) {
    shares.push_back(routing.slots_of(0, rank));
  }
  return shares;
}

std::vector<std::uint64_t> exchange_table(const Pool& pool,
                                          std::span<const std::uint64_t> shares,
                                          std::uint64_t tokens) {
  __extension__ using Wide = unsigned __int128;
  Wide sum = 0;
  for (const std::uint64_t share : shares) sum += share;
  const Wide all = exchange_bytes(pool, tokens);
  const std::size_t ranks = shares.size();
  std::vector<std::uint64_t> table(ranks * ranks);
  for (std::size_t i = 0; i < table.size(); ++i) {
    table[i] = static_cast<std::uint64_t>(all * shares[i % ranks] / (sum * ranks));
  }
  return table;
}

std::uint64_t sums_of_layers(const Pool& pool) {
  const std::uint64_t layers = unsign(pool.model.layers);
  if (pool.layout.attention_data > 1 || pool.model.blocks != BlockOrder::kSequential) return layers;
  const LayerCounts counts = layer_counts(pool.model);
  return counts.blocks() - (exchanges(pool) ? counts.experts : 0);
}

std::uint64_t regrouped_layers(const Pool& pool) {
  if (pool.layout.attention_data == 1) return 0;
  return unsign(pool.model.layers) - (exchanges(pool) ? layer_counts(pool.model).experts : 0);
}

}  // namespace exawarp::model::serving
