// Ring: Patarasuk, Yuan, JPDC 2009. Halving and doubling: Rabenseifner, ICCS 2004; Thakur,
// Rabenseifner, Gropp, IJHPCA 2005. Bruck et al., IEEE TPDS 1997; dissemination: Hensgen, Finkel,
// Manber 1988. Pairwise and direct: Thakur et al.
#include "model/collective/exchange.h"

#include <algorithm>
#include <bit>

namespace exawarp::model {
namespace {

using schema::CollectiveType;

bool is_reduction_to_all(CollectiveType type) {
  return type == CollectiveType::ALL_REDUCE || type == CollectiveType::BARRIER;
}

std::uint32_t log2_ceil(std::uint32_t n) {
  return static_cast<std::uint32_t>(std::bit_width(n - 1));
}

}  // namespace

std::uint32_t Exchange::log_workers() const {
  return static_cast<std::uint32_t>(std::bit_width(n_)) - 1;
}

std::uint32_t Exchange::exchange_rounds() const {
  const bool twice = c_.algorithm == Algorithm::halving && is_reduction_to_all(c_.type);
  return (twice ? 2 : 1) * log_workers();
}

std::uint32_t Exchange::phases() const {
  switch (c_.algorithm) {
    case Algorithm::ring: return (is_reduction_to_all(c_.type) ? 2 : 1) * (n_ - 1);
    case Algorithm::halving:
    case Algorithm::doubling: return works() ? exchange_rounds() + 2 : 1;
    case Algorithm::bruck: return log2_ceil(n_);
    case Algorithm::pairwise: return n_ - 1;
    default: return is_reduction_to_all(c_.type) ? 2 : 1;
  }
}

Phase Exchange::phase(std::uint32_t phase) const {
  switch (c_.algorithm) {
    case Algorithm::halving:
    case Algorithm::doubling: return folded_phase(phase);
    case Algorithm::direct: return direct_phase();
    default: return {1, 1};
  }
}

ExchangeStep Exchange::step(std::uint32_t phase, std::uint32_t index) const {
  switch (c_.algorithm) {
    case Algorithm::ring: return ring_step(phase);
    case Algorithm::halving:
    case Algorithm::doubling: return folded_step(phase);
    case Algorithm::bruck: return bruck_step(phase);
    case Algorithm::pairwise:
      return {modulo(std::uint64_t{p_} + phase + 1), phase, {.first = phase + 1, .count = 1}};
    default: return direct_step(phase, index);
  }
}

// Reducing, block b sets out from b's successor and gains a share a step; gathering, it sets out
// from b. Backwards, successor and predecessor change places.
ExchangeStep Exchange::ring_step(std::uint32_t phase) const {
  const bool gathers = c_.type == CollectiveType::ALL_GATHER || phase >= n_ - 1;
  const std::uint32_t round = phase % (n_ - 1);
  const std::uint32_t away = gathers ? round : round + 1;
  const std::uint64_t forward = std::uint64_t{p_} + 1, backward = std::uint64_t{p_} + n_ - 1;
  return {modulo(backwards_ ? backward : forward), phase,
          {.first = modulo(backwards_ ? std::uint64_t{p_} + away : std::uint64_t{p_} + n_ - away),
           .count = 1}};
}

// Workers: phase 0 takes in an extra's data, the last one hands the result back. Extras: one phase.
Phase Exchange::folded_phase(std::uint32_t phase) const {
  if (!works()) return {1, 1};
  const std::uint32_t has_extra = p_ < 2 * extras() ? 1 : 0;
  if (phase == 0) return {0, has_extra};
  if (phase == exchange_rounds() + 1) return {has_extra, 0};
  return {1, 1};
}

ExchangeStep Exchange::folded_step(std::uint32_t phase) const {
  const Blocks all{.first = 0, .count = n_};
  if (!works()) {
    const bool part = c_.type == CollectiveType::ALL_GATHER;
    return {p_ + 1, 0, part ? Blocks{.first = p_, .count = 1} : all};
  }
  if (phase == exchange_rounds() + 1) {
    const bool part = c_.type == CollectiveType::REDUCE_SCATTER;
    return {p_ - 1, 0, part ? Blocks{.first = p_ - 1, .count = 1} : all};
  }
  if (c_.algorithm == Algorithm::doubling) {
    return {position_of(worker() ^ (1u << (phase - 1))), phase, all};
  }
  return halving_step(phase, phase - 1);
}

// Halving, partners exchange the halves of the range that they share; doubling, what they have.
ExchangeStep Exchange::halving_step(std::uint32_t phase, std::uint32_t round) const {
  const std::uint32_t k = log_workers();
  const bool halves = c_.type != CollectiveType::ALL_GATHER && round < k;
  const std::uint32_t distance = 1u << (halves ? k - 1 - round : round % k);
  const std::uint32_t partner = worker() ^ distance;
  const std::uint32_t owner = halves ? partner : worker();
  return {position_of(partner), phase, blocks_of(owner & ~(distance - 1), distance)};
}

Blocks Exchange::blocks_of(std::uint32_t first, std::uint32_t workers) const {
  const std::uint32_t r = extras();
  const auto start = [r](std::uint32_t w) { return w < r ? 2 * w : w + r; };
  return {.first = start(first), .count = start(first + workers) - start(first)};
}

ExchangeStep Exchange::bruck_step(std::uint32_t phase) const {
  const std::uint32_t distance = 1u << phase;
  if (c_.type == CollectiveType::ALL_GATHER) {
    return {modulo(std::uint64_t{p_} + n_ - distance), phase,
            {.first = p_, .count = std::min(distance, n_ - distance)}};
  }
  const std::uint32_t peer = modulo(std::uint64_t{p_} + distance);
  if (c_.type == CollectiveType::BARRIER) return {peer, phase, {.first = 0, .count = n_}};
  return {peer, phase, {.first = phase, .count = 0, .by_bit = true}};
}

Phase Exchange::direct_phase() const {
  const std::uint32_t v = modulo(std::uint64_t{p_} + n_ - c_.root);
  switch (c_.type) {
    case CollectiveType::PERMUTE: return c_.shift == 0 ? Phase{0, 0} : Phase{1, 1};
    case CollectiveType::BROADCAST:
    case CollectiveType::SCATTER: return v == 0 ? Phase{n_ - 1, 0} : Phase{0, 1};
    case CollectiveType::REDUCE:
    case CollectiveType::GATHER: return v == 0 ? Phase{0, n_ - 1} : Phase{1, 0};
    default: return {n_ - 1, n_ - 1};
  }
}

// To the next member first, then the one after it: at no time two members send to the same one.
ExchangeStep Exchange::direct_step(std::uint32_t phase, std::uint32_t index) const {
  const std::uint32_t next = modulo(std::uint64_t{p_} + 1 + index);
  switch (c_.type) {
    case CollectiveType::PERMUTE:
      return {modulo(std::uint64_t{p_} + c_.shift), 0, {.first = p_, .count = 1}};
    case CollectiveType::BROADCAST: return {next, 0, {.first = 0, .count = n_}};
    case CollectiveType::REDUCE: return {c_.root, 0, {.first = 0, .count = n_}};
    case CollectiveType::GATHER: return {c_.root, 0, {.first = p_, .count = 1}};
    case CollectiveType::ALL_GATHER: return {next, 0, {.first = p_, .count = 1}};
    case CollectiveType::ALL_TO_ALL: return {next, 0, {.first = index + 1, .count = 1}};
    default:  // reducing, the receiver's block; then the own one
      return {next, phase, {.first = phase == 0 ? next : p_, .count = 1}};
  }
}

}  // namespace exawarp::model
