// TIMELY (Mittal et al.: "TIMELY: RTT-based congestion control for the datacenter", SIGCOMM 2015):
// a rate by the gradient of round-trip times. Algorithm 1 of the paper, for each acknowledgement,
// which stands for the paper's segment (16 to 64 KB: `ack_every` packets):
//
//   difference = (1 - weight) difference + weight (rtt - rtt before)
//   rtt < low_delay:   rate += increase
//   rtt > high_delay:  rate *= 1 - beta (1 - high_delay / rtt)
//   difference <= 0:   rate += increase, five times that from the fifth such answer in a row on
//   else:              rate *= 1 - beta difference / least_round_trip
//
// The rate changes at most once in a least round trip, as in the model of Zhu et al. ("ECN or
// delay", CoNEXT 2016): answers in between are passed over. Where answers come more often than that
// senders gain at one pace and come to fair shares; where they come less often, a sender gains in
// proportion to its rate, and shares stay as they are or drift, as that paper shows.
//
// A gradient above 1 / beta would leave no rate at all, so a decrease is bounded. The paper runs on
// lossless networks; a timeout, where there are losses, is taken as the largest decrease.
#include <algorithm>

#include "model/network/packet/congestion_control.h"

namespace exawarp::model::congestion {
namespace {

using core::Time;
__extension__ using Wide = __int128;

constexpr std::int64_t kOne = 1'000;  // shares are in thousandths
constexpr std::uint32_t kHyperSteps = 5;

constexpr ParameterKind kTime = ParameterKind::time, kRate = ParameterKind::rate;
constexpr ParameterKind kCount = ParameterKind::count, kShare = ParameterKind::share;
constexpr Parameter kParameters[] = {
    {.key = "low_delay",
     .kind = kTime,
     .usual = 50'000'000,
     .most = kPeriodMax.ps,
     .meaning = "below this round trip the rate grows, whatever the gradient"},
    {.key = "high_delay",
     .kind = kTime,
     .usual = 500'000'000,
     .least = 1,
     .most = kPeriodMax.ps,
     .meaning = "above this round trip the rate falls, whatever the gradient"},
    {.key = "least_round_trip",
     .kind = kTime,
     .usual = 20'000'000,
     .least = 1,
     .most = kPeriodMax.ps,
     .meaning = "what a difference of round trips is measured by, and the least time between "
                "changes of the rate"},
    {.key = "difference_weight",
     .kind = kShare,
     .usual = 875,
     .most = 1'000,
     .meaning = "of a new difference of round trips in the running mean"},
    {.key = "beta", .kind = kShare, .usual = 800, .most = 1'000, .meaning = "of decreases"},
    {.key = "most_decrease",
     .kind = kShare,
     .usual = 500,
     .least = 1,
     .most = 900,
     .meaning = "of one decrease"},
    {.key = "increase",
     .kind = kRate,
     .usual = 1'250'000,
     .least = 1,
     .meaning = "the rate grows by it for each answer"},
    {.key = "hyper_after",
     .kind = kCount,
     .usual = 5,
     .least = 1,
     .most = 1'000,
     .meaning =
         "answers in a row without a rising round trip, from which on it grows by five times "
         "that"},
    {.key = "least_rate",
     .kind = kRate,
     .usual = 1'250'000,
     .least = 1,
     .meaning = "no decrease goes below it"},
};

struct State {
  std::int64_t rate = 0;   // bytes/s
  Time round_trip{-1};     // of the answer before; negative: none yet
  Time difference{};       // running mean; negative where round trips get shorter
  Time changed{-1};        // when the rate changed last; negative: not yet
  std::uint64_t calm = 0;  // answers in a row without a rising round trip
};

class Timely final : public CongestionControl {
 public:
  explicit Timely(const ParameterValues& v)
      : CongestionControl({.has_state = true,
                           .acknowledged = true,
                           .period = v.time("least_round_trip")}),
        low_(v.time("low_delay")),
        high_(v.time("high_delay")),
        least_round_trip_(v.time("least_round_trip")),
        weight_(v["difference_weight"]),
        beta_(v["beta"]),
        most_decrease_(v["most_decrease"]),
        increase_(v["increase"]),
        hyper_after_(v.count("hyper_after")),
        least_bytes_per_s_(v["least_rate"]) {
    require_option(low_ < high_, "timely", "low_delay is not below high_delay; expected less");
  }

  [[nodiscard]] CongestionState start(const CongestionLine& line, Time) const override {
    CongestionState state;
    state.hold(State{.rate = line.bytes_per_s});
    return state;
  }

  Time packet_sent(CongestionState& state, const CongestionLine& line,
                   const SentPacket& sent) const override {
    const State s = state.as<State>();
    if (s.rate >= line.bytes_per_s) return sent.end;
    return std::max(sent.end,
                    core::sum_to_end(sent.start, core::transfer_time(sent.bytes, s.rate)));
  }

  void acknowledged(CongestionState& state, const CongestionLine& line,
                    const Acknowledgement& a) const override {
    State s = state.as<State>();
    if (s.changed.ps >= 0 && a.now - s.changed < least_round_trip_) return;
    s.changed = a.now;
    if (s.round_trip.ps >= 0) {
      const Wide last = (a.round_trip - s.round_trip).ps;
      const Wide sum = (kOne - weight_) * static_cast<Wide>(s.difference.ps) + weight_ * last;
      s.difference = Time{static_cast<std::int64_t>(sum / kOne)};
    }
    s.round_trip = a.round_trip;
    const bool between = a.round_trip >= low_ && a.round_trip <= high_;
    const bool calm = between && s.difference.ps <= 0;
    s.calm = calm ? std::min<std::uint64_t>(s.calm + 1, hyper_after_) : 0;
    if (a.round_trip < low_ || calm) {
      const std::int64_t steps = s.calm >= hyper_after_ ? kHyperSteps : 1;
      const Wide raised = s.rate + static_cast<Wide>(increase_) * steps;
      s.rate = static_cast<std::int64_t>(std::min<Wide>(raised, line.bytes_per_s));
    } else if (between) {
      cut(s, s.difference, least_round_trip_);
    } else {
      cut(s, a.round_trip - high_, a.round_trip);
    }
    state.hold(s);
  }

  void postponed(CongestionState& state, Time by) const override {
    State s = state.as<State>();
    if (s.changed.ps >= 0) s.changed = core::sum_to_end(s.changed, by);
    state.hold(s);
  }

  void timed_out(CongestionState& state, const CongestionLine&) const override {
    State s = state.as<State>();
    s.calm = 0;
    s.rate -= std::max<std::int64_t>(most_cut(s), 0);
    state.hold(s);
  }

 private:
  // The largest decrease that both bounds allow.
  [[nodiscard]] std::int64_t most_cut(const State& s) const {
    const Wide share = static_cast<Wide>(s.rate) * most_decrease_ / kOne;
    return std::min(static_cast<std::int64_t>(share), s.rate - least_bytes_per_s_);
  }
  // By beta part / whole of the rate. Requires part > 0 and whole > 0.
  void cut(State& s, Time part, Time whole) const {
    const Wide wanted = static_cast<Wide>(s.rate) * beta_ / kOne * part.ps / whole.ps;
    const Wide bounded = std::min<Wide>(wanted, most_cut(s));
    s.rate -= static_cast<std::int64_t>(std::max<Wide>(bounded, 0));
  }

  Time low_, high_, least_round_trip_;
  std::int64_t weight_, beta_, most_decrease_, increase_;
  std::uint32_t hyper_after_;
  std::int64_t least_bytes_per_s_;
};

}  // namespace

CongestionAlgorithm timely() {
  return {
      .name = "timely",
      .meaning = "a rate for each message, by gradients of the round trip (SIGCOMM 2015)",
      .parameters = kParameters,
      .state = {state_field("rate", &State::rate), state_field("round_trip", &State::round_trip),
                state_field("difference", &State::difference),
                state_field("changed", &State::changed), state_field("calm", &State::calm)},
      .make = [](const ParameterValues& values) -> std::unique_ptr<const CongestionControl> {
        return std::make_unique<const Timely>(values);
      }};
}

}  // namespace exawarp::model::congestion
