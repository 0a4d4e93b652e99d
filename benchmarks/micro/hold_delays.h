// The laws of delay in the hold model, cheap enough not to be what is measured: a table of 4,096
// values, and low-order noise so that two events rarely share a time (except where they should).
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "core/random.h"
#include "core/time.h"

namespace exawarp::bench {

enum class DelayLaw {
  exponential,  // mean 1 us
  ties,         // the same, rounded up to 125 ns: thousands of events at one time
  bimodal,      // nine in ten 1 us, one in ten 500 us: compute and messages
};

// Thread safety: read-only.
class HoldDelays {
 public:
  explicit HoldDelays(DelayLaw law) : law_(law) {
    for (std::size_t i = 0; i < kEntries; ++i) {
      const double u = (static_cast<double>(i) + 0.5) / static_cast<double>(kEntries);
      const auto exponential = static_cast<std::int64_t>(-std::log(1 - u) * kMean_ps);
      switch (law) {
        case DelayLaw::exponential: delays_ps_[i] = exponential; break;
        case DelayLaw::ties: delays_ps_[i] = (exponential / kStep_ps + 1) * kStep_ps; break;
        case DelayLaw::bimodal: delays_ps_[i] = u < 0.9 ? kMean_ps : 500 * kMean_ps; break;
      }
    }
    noise_mask_ = law == DelayLaw::ties          ? 0
                  : law == DelayLaw::exponential ? (1 << 10) - 1
                                                 : (1 << 17) - 1;
  }

  [[nodiscard]] core::Time next(std::uint64_t draw) const {
    const std::uint64_t bits = core::random_bits(kSeed, draw);
    return core::Time{delays_ps_[bits % kEntries] + noise(bits)};
  }

  // What is left of the delay of an event that is pending at time 0, in the steady state.
  [[nodiscard]] core::Time residual(std::uint64_t draw) const {
    if (law_ != DelayLaw::bimodal) return next(draw);
    const std::uint64_t bits = core::random_bits(kSeed, draw);
    const auto long_ones = static_cast<std::uint64_t>(500 * 0.1 / (500 * 0.1 + 0.9) * 1024);
    const std::uint64_t longest = (bits % 1024 < long_ones ? 500 : 1) * std::uint64_t{kMean_ps};
    return core::Time{static_cast<std::int64_t>((bits >> 10) % longest)};
  }

  [[nodiscard]] const char* name() const {
    switch (law_) {
      case DelayLaw::exponential: return "hold, exponential";
      case DelayLaw::ties: return "hold, ties";
      case DelayLaw::bimodal: return "hold, 1 us and 500 us";
    }
    return "";
  }

 private:
  static constexpr std::size_t kEntries = 4096;
  static constexpr std::int64_t kMean_ps = 1'000'000;
  static constexpr std::int64_t kStep_ps = 125'000;
  static constexpr std::uint64_t kSeed = 7;

  [[nodiscard]] std::int64_t noise(std::uint64_t bits) const {
    return static_cast<std::int64_t>((bits >> 32) & noise_mask_);
  }

  DelayLaw law_;
  std::array<std::int64_t, kEntries> delays_ps_{};
  std::uint64_t noise_mask_ = 0;
};

}  // namespace exawarp::bench
