// Compute jitter: a factor on a node's duration, different for each device and node, a pure
// function of (seed, device, node). So it is the same in every mode and after every rollback, and
// no state is kept for it. variation.h has the distributions.
#pragma once

#include <cstdint>

#include "core/random.h"
#include "core/time.h"
#include "model/variation.h"

namespace exawarp::model {

constexpr double kJitterMax = deviation_max(Distribution::normal);

class Jitter {
 public:
  // Requires 0 <= spec.deviation <= deviation_max().
  Jitter(const VariationSpec& spec, std::uint64_t seed) : variation_(spec), seed_(seed) {}

  [[nodiscard]] bool off() const { return variation_.off(); }

  // `duration` of `node` on `device`. Requires duration >= 0.
  [[nodiscard]] core::Time apply(core::Time duration, std::uint32_t device,
                                 std::uint32_t node) const {
    return {variation_.scaled(
        duration.ps, core::random_bits(core::stream_of(seed_, device, kPurpose), node))};
  }

 private:
  static constexpr std::uint64_t kPurpose = 0x6a6974746572;  // "jitter": a stream of its own
  Variation variation_;
  std::uint64_t seed_;
};

}  // namespace exawarp::model
