// Latency that varies: what a message takes beyond its path's latency, never less, so that the
// model's lookahead holds. A pure function of (seed, sender, receiver, time): nothing is kept.
//
// Time is cut into slots as long as the mean. In slot k messages between two devices are late by
// J(k), drawn for the slot, at most kCap means. No message overtakes one sent before it between the
// same two devices (transports deliver in order): who leaves at t arrives no earlier than the last
// possible one of each slot before, so the delay is
//
//   max(J(k), max over i = 1 .. kCap of (end of slot k - i) + J(k - i) - t)
//
// which is FIFO because each term's arrival never falls with t.
//
// Cost: kCap + 1 random numbers a message; few of them are looked at closely.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/check.h"
#include "core/random.h"
#include "core/time.h"
#include "model/variation.h"

namespace exawarp::model {

struct LatencyJitterSpec {
  core::Time mean{};  // 0: none
  VariationSpec variation{1.0, Distribution::exponential};
};

class LatencyJitter {
 public:
  static constexpr std::int64_t kCap = 16;

  LatencyJitter(const LatencyJitterSpec& spec, std::uint64_t seed)
      : mean_ps_(spec.mean.ps), variation_(spec.variation), seed_(seed) {}

  [[nodiscard]] bool off() const { return mean_ps_ == 0; }
  // What extra() is at most.
  [[nodiscard]] core::Time most() const { return core::product_to_end(kCap, core::Time{mean_ps_}); }

  // Of a message from `from` to `to` that leaves at `at` (>= 0). Requires !off().
  [[nodiscard]] core::Time extra(std::uint32_t from, std::uint32_t to, core::Time at) const {
    EXAWARP_DCHECK(!off() && at.ps >= 0, mean_ps_, at.ps);
    const std::uint64_t stream = core::stream_of(seed_ ^ kPurpose, std::uint64_t{from} << 32 | to);
    const std::int64_t slot = at.ps / mean_ps_;
    std::int64_t late = of_slot(bits_of(stream, slot));
    for (std::int64_t i = 1; i <= std::min(kCap, slot); ++i) {
      const std::int64_t since = at.ps - (slot - i + 1) * mean_ps_;  // the slot's end
      const std::uint64_t bits = bits_of(stream, slot - i);
      if (variation_.scaled_at_most(mean_ps_, bits) - since <= late) continue;
      late = std::max(late, of_slot(bits) - since);
    }
    return core::Time{late};
  }

 private:
  static constexpr std::uint64_t kPurpose = 0x6c617465;  // "late": a stream of its own

  [[nodiscard]] static std::uint64_t bits_of(std::uint64_t stream, std::int64_t slot) {
    return core::random_bits(stream, static_cast<std::uint64_t>(slot));
  }
  [[nodiscard]] std::int64_t of_slot(std::uint64_t bits) const {
    const std::int64_t drawn = variation_.off() ? mean_ps_ : variation_.scaled(mean_ps_, bits);
    return std::min(drawn, kCap * mean_ps_);
  }

  std::int64_t mean_ps_;
  Variation variation_;
  std::uint64_t seed_;
};

}  // namespace exawarp::model
