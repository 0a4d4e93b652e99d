// The random permutation is one cycle through all devices in a random order, so that nobody sends
// to itself: d goes to P(P^-1(d) + 1), where P is a Feistel network (Luby, Rackoff: "How to
// construct pseudorandom permutations", 1988) on a power of four, walked until it falls among the
// devices.
#include "model/network/traffic_pattern.h"

#include <fmt/core.h>

#include <bit>
#include <string>

#include "core/error.h"
#include "core/random.h"

namespace exawarp::model {
namespace {

constexpr std::uint32_t kRounds = 4;
constexpr std::uint64_t kDestinations = 0xde57;

void require(bool condition, const char* option, const std::string& what) {
  if (!condition) throw core::InputError(fmt::format("traffic: {}: {}", option, what));
}

}  // namespace

TrafficPlan::TrafficPlan(const TrafficOptions& options, std::uint32_t devices)
    : options_(options), devices_(devices) {
  TrafficOptions& o = options_;
  require(devices >= 2, "devices", fmt::format("\"{}\"; expected at least 2", devices));
  require(o.message_bytes >= 0 && o.message_bytes <= std::int64_t{1} << 40, "size",
          fmt::format("\"{} B\"; expected at most 1 TiB", o.message_bytes));
  require(o.concurrent >= 1, "concurrent", "\"0\"; expected at least 1");
  require(o.messages <= 1u << 20, "messages", "expected at most 2^20");
  const std::uint32_t most = o.pattern == TrafficPattern::pairs ? devices / 2 : devices - 1;
  if (o.senders == 0) o.senders = most;
  require(o.senders <= most, "senders",
          fmt::format("\"{}\"; this pattern has {} at most on {} devices", o.senders, most,
                      devices));
  require(o.shift % devices != 0 || o.pattern != TrafficPattern::shift, "shift",
          fmt::format("\"{}\" leads from each of {} devices to itself", o.shift, devices));
  require(o.load > 0 && o.load <= 1, "load", fmt::format("\"{}\"; expected above 0 to 1", o.load));
  require(o.hot_share >= 0 && o.hot_share <= 1, "hot_share",
          fmt::format("\"{}\"; expected 0 to 1", o.hot_share));
  hot_ = static_cast<std::uint32_t>(o.hot_share * 0xffffffffu);
  half_bits_ = (static_cast<std::uint32_t>(std::bit_width(devices - 1)) + 1) / 2;
}

std::uint32_t TrafficPlan::messages_of(core::DeviceId d) const {
  const TrafficOptions& o = options_;
  switch (o.pattern) {
    case TrafficPattern::incast: return d.value >= 1 && d.value <= o.senders ? o.messages : 0;
    case TrafficPattern::outcast: return d.value == 0 ? o.messages * o.senders : 0;
    case TrafficPattern::pairs: return d.value < o.senders ? o.messages : 0;
    case TrafficPattern::all_to_all: return o.messages * (devices_ - 1);
    case TrafficPattern::permutation:
    case TrafficPattern::uniform:
    case TrafficPattern::hotspot:
    case TrafficPattern::shift: return o.messages;
  }
  return 0;
}

core::DeviceId TrafficPlan::destination(core::DeviceId d, std::uint32_t k) const {
  const TrafficOptions& o = options_;
  const auto other = [&](std::uint64_t n) {
    return core::DeviceId{static_cast<std::uint32_t>((d.value + n) % devices_)};
  };
  switch (o.pattern) {
    case TrafficPattern::permutation:
      return {permuted((permuted(d.value, false) + 1) % devices_, true)};
    case TrafficPattern::incast: return {0};
    case TrafficPattern::outcast: return {1 + k % o.senders};
    case TrafficPattern::all_to_all: return other(1 + k % (devices_ - 1));
    case TrafficPattern::shift: return other(o.shift);
    case TrafficPattern::pairs: return {d.value + devices_ - o.senders};
    case TrafficPattern::uniform:
    case TrafficPattern::hotspot: break;
  }
  const std::uint64_t bits =
      core::random_bits(core::stream_of(o.seed, d.value, kDestinations), k);
  const bool hot = o.pattern == TrafficPattern::hotspot && d.value != 0 &&
                   static_cast<std::uint32_t>(bits) < hot_;
  if (hot) return {0};
  return other(1 + ((bits >> 32) * (devices_ - 1) >> 32));
}

std::uint32_t TrafficPlan::permuted(std::uint32_t i, bool forward) const {
  do {
    i = scramble(i, forward);
  } while (i >= devices_);
  return i;
}

std::uint32_t TrafficPlan::scramble(std::uint32_t i, bool forward) const {
  const std::uint32_t mask = (1u << half_bits_) - 1;
  std::uint32_t left = i >> half_bits_, right = i & mask;
  for (std::uint32_t r = 0; r < kRounds; ++r) {
    const std::uint32_t round = forward ? r : kRounds - 1 - r;
    const std::uint32_t key = forward ? right : left;
    const auto mixed =
        static_cast<std::uint32_t>(core::stream_of(options_.seed, round, key)) & mask;
    if (forward) {
      const std::uint32_t next = left ^ mixed;
      left = right;
      right = next;
    } else {
      const std::uint32_t before = right ^ mixed;
      right = left;
      left = before;
    }
  }
  return left << half_bits_ | right;
}

}  // namespace exawarp::model
