// Algorithms in which members exchange with partners; collective.h is what others include. Each
// function answers for one lane on which positions and blocks are as the algorithm numbers them.
#pragma once

#include "model/collective/collective.h"

namespace exawarp::model {

struct ExchangeStep {
  std::uint32_t peer = 0, peer_phase = 0;
  Blocks blocks;
};

// One member of one lane of an exchange algorithm (ring other than broadcast and reduce, halving,
// doubling, direct, bruck, pairwise).
class Exchange {
 public:
  // `backwards`: a ring that runs to lower positions.
  Exchange(const Collective& c, std::uint32_t position, bool backwards)
      : c_(c), n_(c.members), p_(position), backwards_(backwards) {}

  [[nodiscard]] std::uint32_t phases() const;
  [[nodiscard]] Phase phase(std::uint32_t phase) const;
  [[nodiscard]] ExchangeStep step(std::uint32_t phase, std::uint32_t index) const;

 private:
  [[nodiscard]] ExchangeStep ring_step(std::uint32_t phase) const;
  [[nodiscard]] Phase folded_phase(std::uint32_t phase) const;
  [[nodiscard]] ExchangeStep folded_step(std::uint32_t phase) const;
  [[nodiscard]] ExchangeStep halving_step(std::uint32_t phase, std::uint32_t round) const;
  [[nodiscard]] ExchangeStep bruck_step(std::uint32_t phase) const;
  [[nodiscard]] Phase direct_phase() const;
  [[nodiscard]] ExchangeStep direct_step(std::uint32_t phase, std::uint32_t index) const;

  // Of n members, 2^k work; the n - 2^k others hand their data to a neighbour first and get the
  // result from it last (Rabenseifner; Thakur, Rabenseifner, Gropp 2005).
  [[nodiscard]] std::uint32_t log_workers() const;
  [[nodiscard]] std::uint32_t extras() const { return n_ - (1u << log_workers()); }
  [[nodiscard]] bool works() const { return p_ >= 2 * extras() || p_ % 2 == 1; }
  [[nodiscard]] std::uint32_t worker() const {
    return p_ < 2 * extras() ? p_ / 2 : p_ - extras();
  }
  [[nodiscard]] std::uint32_t position_of(std::uint32_t worker) const {
    return worker < extras() ? 2 * worker + 1 : worker + extras();
  }
  // Blocks of the workers first, first + 1, ... together: one run of them.
  [[nodiscard]] Blocks blocks_of(std::uint32_t first, std::uint32_t workers) const;
  [[nodiscard]] std::uint32_t exchange_rounds() const;
  [[nodiscard]] std::uint32_t modulo(std::uint64_t position) const {
    return static_cast<std::uint32_t>(position % n_);
  }

  const Collective& c_;
  std::uint32_t n_, p_;
  bool backwards_;
};

}  // namespace exawarp::model
