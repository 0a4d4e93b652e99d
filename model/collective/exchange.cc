// Ring: Patarasuk, Yuan, JPDC 2009. Halving and doubling: Rabenseifner, ICCS 2004; Thakur,
// Rabenseifner, Gropp, IJHPCA 2005; for any n Traeff, "Optimal, non-pipelined reduce-scatter and
// allreduce algorithms", arXiv 2410.14234 (halving), and Bar-Noy, Kipnis, Schieber, "An optimal
// algorithm for computing census functions in message-passing systems", Parallel Processing Letters
// 1993 (doubling). Bruck et al., IEEE TPDS 1997; dissemination: Hensgen, Finkel, Manber 1988.
// Pairwise and direct: Thakur et al.
#include "model/collective/exchange.h"

#include <algorithm>
#include <bit>

namespace exawarp::model {
namespace {

using schema::CollectiveType;

bool is_reduction_to_all(CollectiveType type) {
  return type == CollectiveType::ALL_REDUCE || type == CollectiveType::BARRIER;
}

std::uint32_t rounds_of(std::uint32_t n) {
  return static_cast<std::uint32_t>(std::bit_width(n - 1));
}

}  // namespace

std::uint32_t Exchange::phases() const {
  switch (c_.algorithm) {
    case Algorithm::ring: return (is_reduction_to_all(c_.type) ? 2 : 1) * (n_ - 1);
    case Algorithm::halving: return (is_reduction_to_all(c_.type) ? 2 : 1) * rounds_of(n_);
    case Algorithm::doubling:
    case Algorithm::bruck: return rounds_of(n_);
    case Algorithm::pairwise: return n_ - 1;
    default: return is_reduction_to_all(c_.type) ? 2 : 1;
  }
}

Phase Exchange::phase() const {
  return c_.algorithm == Algorithm::direct ? direct_phase() : Phase{1, 1};
}

ExchangeStep Exchange::step(std::uint32_t phase, std::uint32_t index) const {
  switch (c_.algorithm) {
    case Algorithm::ring: return ring_step(phase);
    case Algorithm::halving: return halving_step(phase);
    case Algorithm::doubling: return doubling_step(phase);
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

// Halving, partners exchange the halves of the range that they share; doubling, what they have.
// Other n than powers of two: of 2d blocks from the own one on that are still to be reduced, those
// from d on go to the member that is d further, as far as there are so many; gathering goes the way
// back (Traeff).
ExchangeStep Exchange::halving_step(std::uint32_t phase) const {
  const std::uint32_t rounds = rounds_of(n_);
  const bool halves = c_.type != CollectiveType::ALL_GATHER && phase < rounds;
  const std::uint32_t distance = 1u << (halves ? rounds - 1 - phase : phase % rounds);
  if (std::has_single_bit(n_)) {
    const std::uint32_t partner = p_ ^ distance, owner = halves ? partner : p_;
    return {partner, phase, {.first = owner & ~(distance - 1), .count = distance}};
  }
  const std::uint32_t count = std::min(distance, n_ - distance);
  const std::uint32_t further = modulo(std::uint64_t{p_} + distance);
  if (halves) return {further, phase, {.first = further, .count = count}};
  return {modulo(std::uint64_t{p_} + n_ - distance), phase, {.first = p_, .count = count}};
}

// Other n than powers of two: a member has heard of `heard` members before it, the leading bits of
// n - 1. Its successor by `heard` gets that sum, or, to hear of one more, its successor by one more
// gets it with the own part (Bar-Noy, Kipnis, Schieber).
ExchangeStep Exchange::doubling_step(std::uint32_t phase) const {
  if (std::has_single_bit(n_)) {
    return {p_ ^ (1u << phase), phase, {.first = 0, .count = n_}};
  }
  const std::uint32_t bits_left = rounds_of(n_) - phase;
  const std::uint32_t heard = static_cast<std::uint32_t>(std::uint64_t{n_ - 1} >> bits_left);
  const std::uint32_t one_more = (n_ - 1) >> (bits_left - 1) & 1u;
  return {modulo(std::uint64_t{p_} + heard + one_more), phase,
          {.first = 0, .count = n_, .without_own = one_more == 0}};
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
