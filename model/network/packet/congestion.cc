#include "model/network/packet/congestion.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace exawarp::model {
namespace {

using core::Time;
__extension__ using Wide = __int128;

constexpr std::uint64_t kPacket = std::uint64_t{1} << CongestionControl::kWindowShift;
constexpr std::uint64_t kLeastWindow = kPacket / 64;
constexpr std::uint64_t kMostWindow = kPacket << 20;
constexpr std::uint32_t kOne = 1u << CongestionControl::kAlphaShift;
constexpr int kCatchUpMax = 4096;  // steps; far fewer bring any rate back to the line's

}  // namespace

Congestion CongestionControl::start(Time round_trip) const {
  Congestion c{.rate = line_, .target_rate = line_,
               .alpha = kOne, .round_trip = round_trip};
  const std::uint32_t initial = options_.window.initial_packets;
  const Wide held = static_cast<Wide>(line_) * round_trip.ps / core::kPicosecondsPerSecond;
  const auto fits =
      static_cast<std::uint64_t>(std::min<Wide>(held / packet_bytes_, kMostWindow / kPacket)) + 1;
  c.window = std::clamp((initial != 0 ? initial : fits) * kPacket, kPacket, kMostWindow);
  return c;
}

Time CongestionControl::packet_sent(Congestion& c, Time start, Time end,
                                    std::int64_t bytes) const {
  if (options_.transport == Transport::window && c.window < kPacket) {
    const auto spread = static_cast<Wide>(c.round_trip.ps) * kPacket / c.window;
    return core::sum_to_end(start, core::time_to_end(spread));
  }
  if (options_.transport != Transport::dcqcn || c.notified == 0) return end;
  catch_up(c, start);
  c.bytes += static_cast<std::uint32_t>(bytes);
  if (c.bytes >= options_.dcqcn.increase_bytes) {
    c.bytes = 0;
    c.byte_steps = static_cast<std::uint16_t>(std::min(c.byte_steps + 1, 0x7fff));
    increase(c);
  }
  if (c.rate >= line_) return end;
  return core::sum_to_end(start, core::transfer_time(bytes, c.rate));
}

void CongestionControl::notified(Congestion& c, Time now) const {
  if (options_.transport != Transport::dcqcn) return;
  if (c.notified != 0) catch_up(c, now);
  c.notified = 1;
  c.target_rate = c.rate;
  const Wide cut = static_cast<Wide>(c.rate) * c.alpha >> (kAlphaShift + 1);
  c.rate = std::max(c.rate - static_cast<std::int64_t>(cut), options_.dcqcn.least_bytes_per_s);
  const std::uint32_t shift = options_.dcqcn.gain_shift;
  c.alpha += (kOne - c.alpha) >> shift;
  c.alpha_decayed = now;
  c.increased = now;
  c.bytes = 0;
  c.timer_steps = 0;
  c.byte_steps = 0;
}

// What both timers would have done since they were last looked at.
void CongestionControl::catch_up(Congestion& c, Time now) const {
  const DcqcnOptions& d = options_.dcqcn;
  for (int i = 0; i < kCatchUpMax && c.alpha_decayed + d.alpha_period <= now; ++i) {
    c.alpha_decayed += d.alpha_period;
    c.alpha -= c.alpha >> d.gain_shift;
  }
  for (int i = 0; i < kCatchUpMax && c.increased + d.increase_period <= now; ++i) {
    c.increased += d.increase_period;
    c.timer_steps = static_cast<std::uint16_t>(std::min(c.timer_steps + 1, 0x7fff));
    increase(c);
  }
}

// Fast recovery, additive or hyper increase, by how often both counters have come round.
void CongestionControl::increase(Congestion& c) const {
  const DcqcnOptions& d = options_.dcqcn;
  const std::uint32_t most = std::max(c.timer_steps, c.byte_steps);
  const std::uint32_t least = std::min(c.timer_steps, c.byte_steps);
  Wide target = c.target_rate;
  if (least > d.fast_recovery_steps) {
    target += static_cast<Wide>(d.hyper_bytes_per_s) * (least - d.fast_recovery_steps);
  } else if (most >= d.fast_recovery_steps) {
    target += d.additive_bytes_per_s;
  }
  c.target_rate = static_cast<std::int64_t>(std::min<Wide>(target, line_));
  // The mean, rounded up, so that it reaches its target.
  c.rate += (c.target_rate - c.rate + 1) / 2;
}

// range * (1 / sqrt(w) - 1 / sqrt(100)) / (1 / sqrt(0.1) - 1 / sqrt(100)) more, within [0, range].
// The square root of a whole double is exact to the last bit on every machine (IEEE 754).
Time CongestionControl::target_delay(const Congestion& c) const {
  constexpr std::int64_t kRootShift = 16;
  constexpr std::int64_t kAtMost = 207'243;  // 1 / sqrt(0.1) times 2^16
  constexpr std::int64_t kAtLeast = 6'554;   // 1 / sqrt(100) times 2^16
  const WindowOptions& w = options_.window;
  const std::uint64_t squared = (std::uint64_t{1} << (kWindowShift + 2 * kRootShift)) / c.window;
  const auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(squared)));
  const std::int64_t above = std::clamp(root, kAtLeast, kAtMost) - kAtLeast;
  const auto scaled = static_cast<std::int64_t>(static_cast<Wide>(w.flow_scaling.ps) * above /
                                                (kAtMost - kAtLeast));
  const Time base = w.target_delay.ps > 0 ? w.target_delay : c.round_trip + w.queueing_delay;
  return base + Time{scaled};
}

void CongestionControl::acknowledged(Congestion& c, Time now, std::uint32_t packets,
                                     Time round_trip) const {
  if (options_.transport != Transport::window) return;
  const WindowOptions& w = options_.window;
  const Time target = target_delay(c);
  if (round_trip <= target) {
    const std::uint64_t gain = std::uint64_t{packets} * w.additive_packets * kPacket;
    c.window += c.window < kPacket ? gain : gain * kPacket / c.window;
    c.window = std::min(c.window, kMostWindow);
    return;
  }
  if (c.decreased.ps >= 0 && now - c.decreased < round_trip) return;
  const Wide above = static_cast<Wide>((round_trip - target).ps) * w.beta_per_mille;
  const auto share = std::min(static_cast<std::uint64_t>(above / round_trip.ps),
                              std::uint64_t{w.most_decrease_per_mille});
  c.window = std::max(c.window * (1000 - share) / 1000, kLeastWindow);
  c.decreased = now;
}

void CongestionControl::timed_out(Congestion& c) const {
  if (options_.transport == Transport::window) c.window = std::max(c.window / 2, kLeastWindow);
}

std::uint32_t CongestionControl::packets_max(const Congestion& c) const {
  if (options_.transport != Transport::window) return std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(c.window / kPacket, 1));
}

}  // namespace exawarp::model
