// The first rule that fits a collective says how it runs; where none does, by what its type and
// group allow.
#include "model/collective/choice.h"

#include <algorithm>
#include <limits>

#include "model/collective/algorithm.h"

namespace exawarp::model {
namespace {

using schema::CollectiveType;

bool fits(const CollectiveRule& rule, const CollectiveUse& use) {
  if (rule.type && *rule.type != use.type) return false;
  if (use.bytes < rule.min_bytes || use.bytes > rule.max_bytes) return false;
  if (use.members < rule.min_group || use.members > rule.max_group) return false;
  if (rule.across_nodes.value_or(use.across_nodes) != use.across_nodes) return false;
  if (use.by_sizes && !description_of(rule.choice.algorithm).takes_sizes) return false;
  if (rule.choice.hierarchical && !can_be_hierarchical(use.type, rule.choice)) return false;
  return can_run(use.type, rule.choice.algorithm);
}

}  // namespace

bool Choice::is_plain_ring() const {
  constexpr std::array kWhole{kPayloadWhole, kPayloadWhole};
  return description_of(algorithm).goes_round && channels <= 1 && chunk_bytes == 0 &&
         start.ps == 0 && step[0].ps == 0 && step[1].ps == 0 && payload_ppm == kWhole;
}

bool can_be_hierarchical(CollectiveType type, const Choice& choice) {
  switch (type) {
    case CollectiveType::ALL_REDUCE:
      return can_run(CollectiveType::REDUCE_SCATTER, choice.algorithm) &&
             can_run(CollectiveType::ALL_GATHER, choice.algorithm) &&
             can_run(type, choice.across);
    case CollectiveType::REDUCE_SCATTER:
    case CollectiveType::ALL_GATHER:
    case CollectiveType::BARRIER:
      return can_run(type, choice.algorithm) && can_run(type, choice.across);
    default: return false;
  }
}

std::optional<Choice> choose(const CollectiveRules& rules, const CollectiveUse& use) {
  const auto rule = std::ranges::find_if(rules, [&](const auto& r) { return fits(r, use); });
  if (rule == rules.end()) return std::nullopt;
  return rule->choice;
}

core::Time longest_step(const CollectiveRules& rules) {
  core::Time longest{0};
  for (const CollectiveRule& rule : rules) {
    longest = std::max(longest, std::ranges::max(rule.choice.step));
  }
  return longest;
}

Choice default_choice(CollectiveType type) {
  Choice choice;
  switch (type) {
    case CollectiveType::ALL_REDUCE:
    case CollectiveType::REDUCE_SCATTER:
    case CollectiveType::ALL_GATHER:
    case CollectiveType::BARRIER: choice.algorithm = Algorithm::ring; break;
    case CollectiveType::ALL_TO_ALL: choice.algorithm = Algorithm::pairwise; break;
    case CollectiveType::BROADCAST:
    case CollectiveType::REDUCE:
    case CollectiveType::GATHER:
    case CollectiveType::SCATTER: choice.algorithm = Algorithm::tree; break;
    case CollectiveType::PERMUTE: choice.algorithm = Algorithm::direct; break;
  }
  return choice;
}

std::int64_t carried_bytes(std::uint32_t payload_ppm, std::int64_t bytes) {
  if (payload_ppm == kPayloadWhole) return bytes;
  // A division of 64 bits where the product fits: several times faster, and messages are small.
  constexpr std::int64_t kFits = std::numeric_limits<std::int64_t>::max() / kPayloadWhole - 1;
  if (0 <= bytes && bytes <= kFits) return (bytes * kPayloadWhole + payload_ppm - 1) / payload_ppm;
  __extension__ using Wide = __int128;
  constexpr Wide kMost = std::numeric_limits<std::int64_t>::max();
  const Wide whole =
      (static_cast<Wide>(bytes) * kPayloadWhole + payload_ppm - 1) / payload_ppm;
  return static_cast<std::int64_t>(std::min(whole, kMost));
}

std::uint32_t group_channels(Algorithm algorithm, const CollectiveUse& use,
                             std::uint32_t node_members) {
  const Collective c{.type = use.type, .algorithm = algorithm, .bytes = use.bytes,
                     .members = use.members};
  if (description_of(algorithm).by_nodes) return node_members;
  if (node_members >= use.members || !(runs_round(c) || runs_on_chain(c))) return 1;
  const std::int64_t message = bytes_of(c, {.first = 0, .count = 1});
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(message / kLaneBytesMin, 1, node_members));
}

std::uint32_t lanes_of(const Choice& choice, const CollectiveUse& use) {
  const AlgorithmDescription& algorithm = description_of(choice.algorithm);
  if (!algorithm.uses_lanes) return 1;
  const std::uint32_t wanted = std::max(1u, choice.channels);
  const std::uint32_t channels = algorithm.lanes_in_pairs ? (wanted + 1) / 2 * 2 : wanted;
  if (choice.chunk_bytes == 0) return channels;
  Collective one{.type = use.type, .algorithm = choice.algorithm, .bytes = use.bytes,
                 .members = use.members};
  const bool in_shares = algorithm.lanes_share_data;
  const std::int64_t message =
      bytes_of(one, {.first = 0, .count = in_shares ? 1 : use.members});
  const std::int64_t each = choice.chunk_bytes * channels;
  const std::int64_t chunks = std::max<std::int64_t>(1, (message + each - 1) / each);
  const std::int64_t most = kLanesMax / channels;
  return channels * static_cast<std::uint32_t>(std::min(chunks, most));
}

}  // namespace exawarp::model
