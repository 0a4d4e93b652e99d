// Congestion control of one message at its sender, in integers: DCQCN or a window by delay.
//
// DCQCN (Zhu et al.: "Congestion control for large-scale RDMA deployments", SIGCOMM 2015) has
// timers; here none is an event. What they would have done by now is caught up with when the rate
// is needed, which is when the next packet leaves or a notification comes.
// The window follows Swift (Kumar et al.: "Swift: delay is simple and effective for congestion
// control in the datacenter", SIGCOMM 2020): above the target delay it shrinks in proportion, once
// a round trip, below it grows by a packet a round trip. The
// target is scaled by flow, so that small windows grow while large ones shrink; not by hops.
#pragma once

#include <cstdint>

#include "core/time.h"
#include "model/network/packet/packet_options.h"

namespace exawarp::model {

struct Congestion {
  // dcqcn
  std::int64_t rate = 0;         // bytes/s
  std::int64_t target_rate = 0;
  core::Time increased{};        // up to when the increase timer is caught up with
  core::Time alpha_decayed{};      // likewise alpha
  std::uint32_t alpha = 0;       // times 2^24
  std::uint32_t bytes = 0;       // sent since the last step of the byte counter
  std::uint16_t timer_steps = 0;
  std::uint16_t byte_steps = 0;
  std::uint32_t notified = 0;    // 0: no notification yet, so the line's rate
  // window
  std::uint64_t window = 0;      // packets times 2^16
  core::Time decreased{-1};
  core::Time round_trip{};       // unloaded
};
static_assert(sizeof(Congestion) == 72);

class CongestionControl {
 public:
  static constexpr int kWindowShift = 16;
  static constexpr int kAlphaShift = 24;

  CongestionControl(const PacketOptions& options, std::int64_t line_bytes_per_s,
                    std::int64_t packet_bytes)
      : options_(options), line_(line_bytes_per_s), packet_bytes_(packet_bytes) {}

  // Of a message whose unloaded round trip is `round_trip`.
  [[nodiscard]] Congestion start(core::Time round_trip) const;

  // A packet of `bytes` left during [start, end). Returns when the next one may start.
  core::Time packet_sent(Congestion& c, core::Time start, core::Time end,
                         std::int64_t bytes) const;
  void notified(Congestion& c, core::Time now) const;
  // `packets` were acknowledged anew, by an answer that took `round_trip`.
  void acknowledged(Congestion& c, core::Time now, std::uint32_t packets,
                    core::Time round_trip) const;
  // Nothing came back for a whole timeout.
  void timed_out(Congestion& c) const;
  // How many packets may be under way.
  [[nodiscard]] std::uint32_t packets_max(const Congestion& c) const;

 private:
  void catch_up(Congestion& c, core::Time now) const;
  void increase(Congestion& c) const;
  [[nodiscard]] core::Time target_delay(const Congestion& c) const;

  const PacketOptions& options_;
  std::int64_t line_;
  std::int64_t packet_bytes_;
};

}  // namespace exawarp::model
