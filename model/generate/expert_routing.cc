// How many tokens each expert gets; see expert_routing.h. Whole numbers throughout, so that a seed
// means the same on every machine.
#include "model/generate/expert_routing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/check.h"
#include "core/random.h"
#include "model/generate/spec_range.h"

namespace exawarp::model {
namespace {

constexpr std::uint64_t kWeightMean = 1 << 20;                // of an expert's share
constexpr std::uint64_t kRoutingStream = 0x6578706572747301;  // apart from the simulation's draws

// Shares of `total` by `weights`; what rounding leaves goes to the first experts.
std::vector<std::uint64_t> split(std::uint64_t total, const std::vector<std::uint64_t>& weights) {
  __extension__ using Wide = unsigned __int128;
  const std::uint64_t sum = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
  std::vector<std::uint64_t> result;
  EXAWARP_CHECK(sum != 0, weights.size());
  std::uint64_t left = total;
  for (const std::uint64_t weight : weights) {
    result.push_back(static_cast<std::uint64_t>(Wide{total} * weight / sum));
    left -= result.back();
  }
  EXAWARP_CHECK(left < result.size(), left, result.size());  // each share lost less than one
  for (std::uint64_t i = 0; i < left; ++i) ++result[i % result.size()];
  return result;
}

std::vector<std::uint64_t> weights_of(const TransformerSpec& spec, std::uint32_t pattern) {
  const auto experts = static_cast<std::size_t>(spec.model.moe.experts);
  const auto spread = static_cast<std::uint64_t>(
      std::llround(spec.routing.imbalance * static_cast<double>(kWeightMean)));
  const std::uint64_t stream =
      core::stream_of(static_cast<std::uint64_t>(spec.routing.seed), kRoutingStream, pattern);
  std::vector<std::uint64_t> weights(experts, kWeightMean);
  for (std::size_t e = 0; spread != 0 && e < experts; ++e) {
    weights[e] = kWeightMean - spread + core::random_bits(stream, e) % (2 * spread + 1);
  }
  if (std::all_of(weights.begin(), weights.end(), [](std::uint64_t w) { return w == 0; })) {
    weights.assign(experts, 1);
  }
  return weights;
}

}  // namespace

std::uint64_t ExpertRouting::slots_of(std::uint32_t pattern, std::uint32_t rank) const {
  EXAWARP_CHECK(pattern < slots.size() && rank < ranks, pattern, rank, ranks);
  const std::vector<std::uint64_t>& by_expert = slots[pattern];
  const std::size_t each = by_expert.size() / ranks;
  const auto first = by_expert.begin() + static_cast<std::ptrdiff_t>(rank * each);
  return std::accumulate(first, first + static_cast<std::ptrdiff_t>(each), std::uint64_t{0});
}

std::vector<std::uint64_t> ExpertRouting::table(std::uint32_t pattern) const {
  std::vector<std::uint64_t> result(std::size_t{ranks} * ranks);
  for (std::uint32_t target = 0; target < ranks; ++target) {
    const std::uint64_t each = slots_of(pattern, target) / ranks;
    for (std::uint32_t source = 0; source < ranks; ++source) {
      result[std::size_t{source} * ranks + target] = each;
    }
  }
  return result;
}

namespace {

// How many of `parts` equal parts, out of `experts`, have one of `drawn` experts or more.
double parts_hit(std::int64_t parts, std::int64_t experts, std::int64_t drawn) {
  const std::int64_t others = experts - experts / parts;
  double none = 1;  // of the experts of one part
  for (std::int64_t i = 0; i < drawn; ++i) {
    none *= static_cast<double>(std::max<std::int64_t>(others - i, 0)) /
            static_cast<double>(experts - i);
  }
  return static_cast<double>(parts) * (1 - none);
}

}  // namespace

TokenReach reach_of_token(const TransformerSpec& spec, std::int64_t node_ranks) {
  const MoeSpec& moe = spec.model.moe;
  const std::int64_t nodes = spec.parallel.expert / node_ranks;
  const std::int64_t most = spec.routing.nodes_max;
  const std::int64_t allowed = most == 0 ? nodes : std::min(nodes, most);
  const std::int64_t experts = moe.experts / nodes * allowed;
  return {.nodes = parts_hit(allowed, experts, moe.top_k),
          .ranks = parts_hit(allowed * node_ranks, experts, moe.top_k)};
}

bool has_experts(const ModelSpec& model, std::int64_t index) {
  if (!model.pattern.empty()) return layer_kind(model, index) == LayerKind::kExperts;
  if (model.moe.experts == 0 || index < model.moe.dense_layers) return false;
  return (index - model.moe.dense_layers) % model.moe.every == model.moe.every - 1;
}

ExpertRouting route_experts(const TransformerSpec& spec) {
  ExpertRouting routing;
  const MoeSpec& moe = spec.model.moe;
  if (moe.experts == 0) return routing;
  const ParallelSpec& parallel = spec.parallel;
  const std::int64_t tokens = spec.micro_batch_sequences * tokens_of(spec) / parallel.context /
                              (parallel.sequence_parallel ? parallel.tensor : 1);
  routing.ranks = static_cast<std::uint32_t>(parallel.expert);
  routing.slots_sent = static_cast<std::uint64_t>(tokens * moe.top_k);
  routing.balanced = spec.routing.imbalance == 0;
  const std::uint64_t total = routing.slots_sent * routing.ranks;
  const double mean = static_cast<double>(total) / static_cast<double>(moe.experts);
  const auto capacity = static_cast<std::uint64_t>(std::ceil(spec.routing.capacity_factor * mean));
  for (std::uint32_t p = 0; p < (routing.balanced ? 1 : kRoutingPatterns); ++p) {
    std::vector<std::uint64_t> slots = split(total, weights_of(spec, p));
    for (std::uint64_t& mine : slots) {
      if (capacity == 0) break;
      mine = spec.routing.pad ? capacity : std::min(mine, capacity);
    }
    routing.slots.push_back(std::move(slots));
  }
  return routing;
}

}  // namespace exawarp::model
