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
  [[nodiscard]] Phase phase() const;  // all of them alike
  [[nodiscard]] ExchangeStep step(std::uint32_t phase, std::uint32_t index) const;

 private:
  [[nodiscard]] ExchangeStep ring_step(std::uint32_t phase) const;
  [[nodiscard]] ExchangeStep halving_step(std::uint32_t phase) const;
  [[nodiscard]] ExchangeStep doubling_step(std::uint32_t phase) const;
  [[nodiscard]] ExchangeStep bruck_step(std::uint32_t phase) const;
  [[nodiscard]] Phase direct_phase() const;
  [[nodiscard]] ExchangeStep direct_step(std::uint32_t phase, std::uint32_t index) const;
  [[nodiscard]] std::uint32_t modulo(std::uint64_t position) const {
    return static_cast<std::uint32_t>(position % n_);
  }

  const Collective& c_;
  std::uint32_t n_, p_;
  bool backwards_;
};

}  // namespace exawarp::model
