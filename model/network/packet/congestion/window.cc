// A window by delay, as Swift has it (Kumar et al.: "Swift: delay is simple and effective for
// congestion control in the datacenter", SIGCOMM 2020): above the target delay it shrinks in
// proportion, once a round trip, below it grows by a packet a round trip. The target is scaled by
// flow, so that small windows grow while large ones shrink; not by hops. A window below a packet
// spaces packets out.
#include <algorithm>
#include <cmath>

#include "model/network/packet/congestion_control.h"

namespace exawarp::model::congestion {
namespace {

using core::Time;
__extension__ using Wide = __int128;

constexpr int kWindowShift = 16;
constexpr std::uint64_t kPacket = std::uint64_t{1} << kWindowShift;
constexpr std::uint64_t kLeastWindow = kPacket / 64;
constexpr std::uint64_t kMostWindow = kPacket << 20;

constexpr ParameterKind kTime = ParameterKind::time, kCount = ParameterKind::count;
constexpr ParameterKind kShare = ParameterKind::share;
constexpr Parameter kParameters[] = {
    {.key = "target_delay",
     .kind = kTime,
     .meaning = "of a round trip; 0: the unloaded round trip and queueing_delay"},
    {.key = "queueing_delay",
     .kind = kTime,
     .usual = 10'000'000,
     .meaning = "what the target allows for queues"},
    {.key = "flow_scaling",
     .kind = kTime,
     .usual = 40'000'000,
     .meaning = "more for small windows, all of it at 0.1 packets"},
    {.key = "initial_packets",
     .kind = kCount,
     .most = 1 << 20,
     .meaning = "the first window; 0: what the unloaded round trip holds"},
    {.key = "additive_packets",
     .kind = kCount,
     .usual = 1,
     .most = 1'000,
     .meaning = "the window grows by it each round trip; at least 1"},
    {.key = "beta",
     .kind = kShare,
     .usual = 800,
     .most = 1'000,
     .meaning = "the decrease, for each share of the delay that is above the target"},
    {.key = "most_decrease",
     .kind = kShare,
     .usual = 500,
     .most = 1'000,
     .meaning = "of one decrease; 0.001 to 0.9"},
};

struct State {
  std::uint64_t window = 0;  // packets times 2^16
  Time decreased{-1};        // negative: never
  Time round_trip{};         // unloaded
};

class Window final : public CongestionControl {
 public:
  explicit Window(const ParameterValues& v)
      : CongestionControl({.has_state = true, .acknowledged = true}),
        target_delay_(v.time("target_delay")),
        queueing_delay_(v.time("queueing_delay")),
        flow_scaling_(v.time("flow_scaling")),
        initial_packets_(v.count("initial_packets")),
        additive_packets_(v.count("additive_packets")),
        beta_per_mille_(v.count("beta")),
        most_decrease_per_mille_(v.count("most_decrease")) {
    require_option(additive_packets_ >= 1 && beta_per_mille_ <= 1000 &&
                       most_decrease_per_mille_ >= 1 && most_decrease_per_mille_ <= 900,
                   "window",
                   "out of range; expected additive >= 1, beta <= 1, most decrease 0.001 to 0.9");
    require_option(std::max({target_delay_, queueing_delay_, flow_scaling_}) <= kPeriodMax,
                   "window", "expected at most an hour");
  }

  [[nodiscard]] CongestionState start(const CongestionLine& line, Time round_trip) const override {
    const Wide held =
        static_cast<Wide>(line.bytes_per_s) * round_trip.ps / core::kPicosecondsPerSecond;
    const auto fits = static_cast<std::uint64_t>(
                          std::min<Wide>(held / line.packet_bytes, kMostWindow / kPacket)) +
                      1;
    const std::uint64_t packets = initial_packets_ != 0 ? initial_packets_ : fits;
    CongestionState state;
    state.hold(State{.window = std::clamp(packets * kPacket, kPacket, kMostWindow),
                     .round_trip = round_trip});
    return state;
  }

  Time packet_sent(CongestionState& state, const CongestionLine&,
                   const SentPacket& sent) const override {
    const State s = state.as<State>();
    if (s.window >= kPacket) return sent.end;
    const auto spread = static_cast<Wide>(s.round_trip.ps) * kPacket / s.window;
    return core::sum_to_end(sent.start, core::time_to_end(spread));
  }

  void acknowledged(CongestionState& state, const CongestionLine&,
                    const Acknowledgement& a) const override {
    State s = state.as<State>();
    const Time target = target_of(s);
    if (a.round_trip <= target) {
      const std::uint64_t gain = std::uint64_t{a.packets} * additive_packets_ * kPacket;
      s.window += s.window < kPacket ? gain : gain * kPacket / s.window;
      s.window = std::min(s.window, kMostWindow);
      return state.hold(s);
    }
    if (s.decreased.ps >= 0 && a.now - s.decreased < a.round_trip) return;
    const Wide above = static_cast<Wide>((a.round_trip - target).ps) * beta_per_mille_;
    const auto share = std::min(static_cast<std::uint64_t>(above / a.round_trip.ps),
                                std::uint64_t{most_decrease_per_mille_});
    s.window = std::max(s.window * (1000 - share) / 1000, kLeastWindow);
    s.decreased = a.now;
    state.hold(s);
  }

  void timed_out(CongestionState& state, const CongestionLine&) const override {
    State s = state.as<State>();
    s.window = std::max(s.window / 2, kLeastWindow);
    state.hold(s);
  }

  void postponed(CongestionState& state, Time by) const override {
    State s = state.as<State>();
    if (s.decreased.ps >= 0) s.decreased = core::sum_to_end(s.decreased, by);
    state.hold(s);
  }

  [[nodiscard]] std::uint32_t packets_max(const CongestionState& state) const override {
    const std::uint64_t whole = state.as<State>().window / kPacket;
    return static_cast<std::uint32_t>(std::max<std::uint64_t>(whole, 1));
  }

 private:
  // range * (1 / sqrt(w) - 1 / sqrt(100)) / (1 / sqrt(0.1) - 1 / sqrt(100)) more, within
  // [0, range]. The square root of a whole double is exact to the last bit on every machine
  // (IEEE 754).
  [[nodiscard]] Time target_of(const State& s) const {
    constexpr std::int64_t kRootShift = 16;
    constexpr std::int64_t kAtMost = 207'243;  // 1 / sqrt(0.1) times 2^16
    constexpr std::int64_t kAtLeast = 6'554;   // 1 / sqrt(100) times 2^16
    const std::uint64_t squared = (std::uint64_t{1} << (kWindowShift + 2 * kRootShift)) / s.window;
    const auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(squared)));
    const std::int64_t above = std::clamp(root, kAtLeast, kAtMost) - kAtLeast;
    const auto scaled = static_cast<std::int64_t>(static_cast<Wide>(flow_scaling_.ps) * above /
                                                  (kAtMost - kAtLeast));
    const Time base = target_delay_.ps > 0 ? target_delay_ : s.round_trip + queueing_delay_;
    return base + Time{scaled};
  }

  Time target_delay_, queueing_delay_, flow_scaling_;
  std::uint32_t initial_packets_, additive_packets_, beta_per_mille_, most_decrease_per_mille_;
};

}  // namespace

CongestionAlgorithm window() {
  return {
      .name = "window",
      .meaning = "a window for each message, by delay, as Swift (SIGCOMM 2020)",
      .parameters = kParameters,
      .state = {state_field("window", &State::window), state_field("decreased", &State::decreased),
                state_field("round_trip", &State::round_trip)},
      .make = [](const ParameterValues& values) -> std::unique_ptr<const CongestionControl> {
        return std::make_unique<const Window>(values);
      }};
}

}  // namespace exawarp::model::congestion
