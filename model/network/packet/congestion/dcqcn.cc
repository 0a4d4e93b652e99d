// DCQCN (Zhu et al.: "Congestion control for large-scale RDMA deployments", SIGCOMM 2015): a rate
// that notifications of marks cut, and that two counters, of time and of bytes, raise again.
//
// Its timers are no events. What they would have done by now is caught up with when the rate is
// needed, which is when the next packet leaves or a notification comes.
#include <algorithm>

#include "model/network/packet/congestion_control.h"

namespace exawarp::model::congestion {
namespace {

using core::Time;
__extension__ using Wide = __int128;

constexpr int kAlphaShift = 24;
constexpr std::uint32_t kOne = 1u << kAlphaShift;
constexpr int kCatchUpMax = 4096;  // steps; far fewer bring any rate back to the line's

constexpr ParameterKind kTime = ParameterKind::time, kRate = ParameterKind::rate;
constexpr ParameterKind kCount = ParameterKind::count, kSize = ParameterKind::size;
constexpr Parameter kParameters[] = {
    {.key = "cnp_interval",
     .kind = kTime,
     .usual = 50'000'000,
     .meaning = "a receiver sends at most one notification a message in this time"},
    {.key = "alpha_period",
     .kind = kTime,
     .usual = 55'000'000,
     .meaning = "alpha decays by its gain each time it passes without a notification"},
    {.key = "increase_period",
     .kind = kTime,
     .usual = 55'000'000,
     .meaning = "the rate is raised each time it passes"},
    {.key = "increase_bytes",
     .kind = kSize,
     .usual = 10'000'000,
     .meaning = "the rate is raised each time they have been sent"},
    {.key = "gain_shift",
     .kind = kCount,
     .usual = 8,
     .most = 16,
     .meaning = "the gain of alpha is 2^-gain_shift; at least 1"},
    {.key = "fast_recovery_steps",
     .kind = kCount,
     .usual = 5,
     .most = 1'000,
     .meaning = "raises towards the rate before the last cut, before the target grows"},
    {.key = "additive_increase",
     .kind = kRate,
     .usual = 5'000'000,
     .least = 1,
     .meaning = "the target grows by it once one counter has come round that often"},
    {.key = "hyper_increase",
     .kind = kRate,
     .usual = 50'000'000,
     .least = 1,
     .meaning = "the target grows by it for each round more of both counters"},
    {.key = "least_rate",
     .kind = kRate,
     .usual = 1'000'000,
     .least = 1,
     .meaning = "no cut goes below it"},
};

struct State {
  std::int64_t rate = 0;  // bytes/s
  std::int64_t target_rate = 0;
  Time increased{};         // up to when the increase timer is caught up with
  Time alpha_decayed{};     // likewise alpha
  std::uint32_t alpha = 0;  // times 2^24
  std::uint32_t bytes = 0;  // sent since the last step of the byte counter
  std::uint16_t timer_steps = 0;
  std::uint16_t byte_steps = 0;
  std::uint32_t notified = 0;  // 0: no notification yet, so the line's rate
};

class Dcqcn final : public CongestionControl {
 public:
  explicit Dcqcn(const ParameterValues& v)
      : CongestionControl({.has_state = true,
                           .period = std::max(v.time("alpha_period"), v.time("increase_period")),
                           .notify_every = v.time("cnp_interval")}),
        alpha_period_(v.time("alpha_period")),
        increase_period_(v.time("increase_period")),
        increase_bytes_(v["increase_bytes"]),
        gain_shift_(v.count("gain_shift")),
        fast_recovery_steps_(v.count("fast_recovery_steps")),
        additive_bytes_per_s_(v["additive_increase"]),
        hyper_bytes_per_s_(v["hyper_increase"]),
        least_bytes_per_s_(v["least_rate"]) {
    const Time interval = traits().notify_every;
    require_option(interval.ps > 0 && alpha_period_.ps > 0 && increase_period_.ps > 0, "dcqcn",
                   "an interval of 0; expected 1 ps at least");
    require_option(increase_bytes_ > 0 && additive_bytes_per_s_ > 0 && hyper_bytes_per_s_ > 0 &&
                       least_bytes_per_s_ > 0,
                   "dcqcn", "an increase or least rate of 0; expected more");
    require_option(gain_shift_ >= 1, "dcqcn.gain_shift",
                   "\"" + std::to_string(gain_shift_) + "\"; expected 1 to 16");
    require_option(std::max({interval, alpha_period_, increase_period_}) <= kPeriodMax, "dcqcn",
                   "expected at most an hour");
  }

  [[nodiscard]] CongestionState start(const CongestionLine& line, Time) const override {
    CongestionState state;
    state.hold(State{.rate = line.bytes_per_s, .target_rate = line.bytes_per_s, .alpha = kOne});
    return state;
  }

  Time packet_sent(CongestionState& state, const CongestionLine& line,
                   const SentPacket& sent) const override {
    State s = state.as<State>();
    if (s.notified == 0) return sent.end;
    catch_up(s, line, sent.start);
    s.bytes += static_cast<std::uint32_t>(sent.bytes);
    if (s.bytes >= increase_bytes_) {
      s.bytes = 0;
      s.byte_steps = static_cast<std::uint16_t>(std::min(s.byte_steps + 1, 0x7fff));
      increase(s, line);
    }
    state.hold(s);
    if (s.rate >= line.bytes_per_s) return sent.end;
    return core::sum_to_end(sent.start, core::transfer_time(sent.bytes, s.rate));
  }

  void notified(CongestionState& state, const CongestionLine& line, Time now) const override {
    State s = state.as<State>();
    if (s.notified != 0) catch_up(s, line, now);
    s.notified = 1;
    s.target_rate = s.rate;
    const Wide cut = static_cast<Wide>(s.rate) * s.alpha >> (kAlphaShift + 1);
    s.rate = std::max(s.rate - static_cast<std::int64_t>(cut), least_bytes_per_s_);
    s.alpha += (kOne - s.alpha) >> gain_shift_;
    s.alpha_decayed = now;
    s.increased = now;
    s.bytes = 0;
    s.timer_steps = 0;
    s.byte_steps = 0;
    state.hold(s);
  }

  void postponed(CongestionState& state, Time by) const override {
    State s = state.as<State>();
    s.increased = core::sum_to_end(s.increased, by);
    s.alpha_decayed = core::sum_to_end(s.alpha_decayed, by);
    state.hold(s);
  }

 private:
  // What both timers would have done since they were last looked at.
  void catch_up(State& s, const CongestionLine& line, Time now) const {
    for (int i = 0; i < kCatchUpMax && s.alpha_decayed + alpha_period_ <= now; ++i) {
      s.alpha_decayed += alpha_period_;
      s.alpha -= s.alpha >> gain_shift_;
    }
    for (int i = 0; i < kCatchUpMax && s.increased + increase_period_ <= now; ++i) {
      s.increased += increase_period_;
      s.timer_steps = static_cast<std::uint16_t>(std::min(s.timer_steps + 1, 0x7fff));
      increase(s, line);
    }
  }

  // Fast recovery, additive or hyper increase, by how often both counters have come round.
  void increase(State& s, const CongestionLine& line) const {
    const std::uint32_t most = std::max(s.timer_steps, s.byte_steps);
    const std::uint32_t least = std::min(s.timer_steps, s.byte_steps);
    Wide target = s.target_rate;
    if (least > fast_recovery_steps_) {
      target += static_cast<Wide>(hyper_bytes_per_s_) * (least - fast_recovery_steps_);
    } else if (most >= fast_recovery_steps_) {
      target += additive_bytes_per_s_;
    }
    s.target_rate = static_cast<std::int64_t>(std::min<Wide>(target, line.bytes_per_s));
    // The mean, rounded up, so that it reaches its target.
    s.rate += (s.target_rate - s.rate + 1) / 2;
  }

  Time alpha_period_, increase_period_;
  std::int64_t increase_bytes_;
  std::uint32_t gain_shift_, fast_recovery_steps_;
  std::int64_t additive_bytes_per_s_, hyper_bytes_per_s_, least_bytes_per_s_;
};

}  // namespace

CongestionAlgorithm dcqcn() {
  return {
      .name = "dcqcn",
      .meaning = "a rate for each message, by notifications of marks (SIGCOMM 2015)",
      .parameters = kParameters,
      .state = {state_field("rate", &State::rate), state_field("target_rate", &State::target_rate),
                state_field("increased", &State::increased),
                state_field("alpha_decayed", &State::alpha_decayed),
                state_field("alpha", &State::alpha), state_field("bytes", &State::bytes),
                state_field("timer_steps", &State::timer_steps),
                state_field("byte_steps", &State::byte_steps),
                state_field("notified", &State::notified)},
      .make = [](const ParameterValues& values) -> std::unique_ptr<const CongestionControl> {
        return std::make_unique<const Dcqcn>(values);
      }};
}

}  // namespace exawarp::model::congestion
