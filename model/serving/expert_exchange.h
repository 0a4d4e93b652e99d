// Tokens on their way to experts that the tensor ranks of a replica share, and back.
//
// Each rank has an equal part of an iteration's tokens at hand, and sends each of them to the ranks
// of its experts; what these make of it comes back the same way. Both are all-to-alls among the
// ranks, behind the sum that attention ends in and in place of the one that experts would end in.
// With data-parallel attention a rank has an equal part of its group's tokens; each group counts as
// having as many as the one with most, whose ranks the others wait for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/serving/pool.h"

namespace exawarp::model::serving {

// There and back again, of a stage in an iteration; 0 where experts' outputs are summed up.
std::uint32_t exchanges_of(const Pool& pool);
// What all ranks of a stage send together in one of them, one way, for so many tokens of a group.
std::uint64_t exchange_bytes(const Pool& pool, std::uint64_t tokens);

// Where they send unequal parts: shares of the ranks in what experts get, as training draws them
// (those of its first pattern), and by them what source sends to target, at source * tensor +
// target, of exchange_bytes().
std::vector<std::uint64_t> expert_shares(const Pool& pool);
std::vector<std::uint64_t> exchange_table(const Pool& pool, std::span<const std::uint64_t> shares,
                                          std::uint64_t tokens);

// Sums of a layer that are left, over all layers, and layers for which groups of data-parallel
// attention gather what they have and scatter sums.
std::uint64_t sums_of_layers(const Pool& pool);
std::uint64_t regrouped_layers(const Pool& pool);

}  // namespace exawarp::model::serving
