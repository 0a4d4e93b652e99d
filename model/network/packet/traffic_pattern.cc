// The random permutation is one cycle through all devices in a random order, so that nobody sends
// to itself: d goes to P(P^-1(d) + 1), where P is the order (core/permutation.h).
#include "model/network/packet/traffic_pattern.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "core/error.h"
#include "core/random.h"

namespace exawarp::model {
namespace {

constexpr std::uint64_t kDestinations = 0xde57;

void require_of_traffic(bool condition, const char* option, const std::string& what) {
  if (!condition) throw core::InputError(fmt::format("traffic: {}: {}", option, what));
}

}  // namespace

TrafficPlan::TrafficPlan(const TrafficOptions& options, std::uint32_t devices)
    : options_(options), devices_(devices), order_(std::max(1u, devices), options.seed) {
  TrafficOptions& o = options_;
  require_of_traffic(devices >= 2, "devices", fmt::format("\"{}\"; expected at least 2", devices));
  require_of_traffic(o.message_bytes >= 0 && o.message_bytes <= std::int64_t{1} << 40, "size",
                     fmt::format("\"{} B\"; expected at most 1 TiB", o.message_bytes));
  require_of_traffic(o.concurrent >= 1, "concurrent", "\"0\"; expected at least 1");
  require_of_traffic(o.messages <= 1u << 20, "messages", "expected at most 2^20");
  const std::uint32_t most = o.pattern == TrafficPattern::pairs ? devices / 2 : devices - 1;
  if (o.senders == 0) o.senders = most;
  require_of_traffic(
      o.senders <= most, "senders",
      fmt::format("\"{}\"; this pattern has {} at most on {} devices", o.senders, most, devices));
  require_of_traffic(
      o.shift % devices != 0 || o.pattern != TrafficPattern::shift, "shift",
      fmt::format("\"{}\" leads from each of {} devices to itself", o.shift, devices));
  require_of_traffic(o.load > 0 && o.load <= 1, "load",
                     fmt::format("\"{}\"; expected above 0 to 1", o.load));
  require_of_traffic(o.hot_share >= 0 && o.hot_share <= 1, "hot_share",
                     fmt::format("\"{}\"; expected 0 to 1", o.hot_share));
  require_of_traffic(o.start_spread.ps <= 86'400 * core::kPicosecondsPerSecond, "start_spread",
                     "expected at most a day");
  require_of_traffic(o.pattern != TrafficPattern::flows || o.flows != nullptr, "flows",
                     "is absent; expected a list of flows for this pattern");
  require_of_traffic(o.pattern == TrafficPattern::flows || o.flows_file.empty(), "flows",
                     fmt::format("\"{}\" is of no use to this pattern; expected pattern: flows",
                                 o.flows_file));
  hot_ = static_cast<std::uint32_t>(o.hot_share * 0xffffffffu);
}

std::uint32_t TrafficPlan::messages_of(core::DeviceId d) const {
  const TrafficOptions& o = options_;
  switch (o.pattern) {
    case TrafficPattern::incast:
      return d.value >= 1 && d.value <= o.senders ? o.messages : 0;
    case TrafficPattern::outcast:
      return d.value == 0 ? o.messages * o.senders : 0;
    case TrafficPattern::pairs:
      return d.value < o.senders ? o.messages : 0;
    case TrafficPattern::all_to_all:
      return o.messages * (devices_ - 1);
    case TrafficPattern::flows:
      return static_cast<std::uint32_t>(o.flows->of(d).size());
    case TrafficPattern::permutation:
    case TrafficPattern::uniform:
    case TrafficPattern::hotspot:
    case TrafficPattern::shift:
      return o.messages;
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
      return {order_.forward((order_.inverse(d.value) + 1) % devices_)};
    case TrafficPattern::incast:
      return {0};
    case TrafficPattern::outcast:
      return {1 + k % o.senders};
    case TrafficPattern::all_to_all:
      return other(1 + k % (devices_ - 1));
    case TrafficPattern::shift:
      return other(o.shift);
    case TrafficPattern::pairs:
      return {d.value + devices_ - o.senders};
    case TrafficPattern::flows:
      return {o.flows->of(d)[k].destination};
    case TrafficPattern::uniform:
    case TrafficPattern::hotspot:
      break;
  }
  const std::uint64_t bits = core::random_bits(core::stream_of(o.seed, d.value, kDestinations), k);
  const bool hot = o.pattern == TrafficPattern::hotspot && d.value != 0 &&
                   static_cast<std::uint32_t>(bits) < hot_;
  if (hot) return {0};
  return other(1 + ((bits >> 32) * (devices_ - 1) >> 32));
}

std::int64_t TrafficPlan::bytes(core::DeviceId d, std::uint32_t k) const {
  return is_listed() ? options_.flows->of(d)[k].bytes : options_.message_bytes;
}

core::WidePs TrafficPlan::bytes_of(core::DeviceId d) const {
  if (!is_listed()) return static_cast<core::WidePs>(options_.message_bytes) * messages_of(d);
  core::WidePs sum = 0;
  for (const ListedFlow& flow : options_.flows->of(d)) sum += flow.bytes;
  return sum;
}

std::int64_t TrafficPlan::longest() const {
  if (!is_listed()) return options_.message_bytes;
  std::int64_t most = 0;
  for (const ListedFlow& flow : options_.flows->all()) most = std::max(most, flow.bytes);
  return most;
}

}  // namespace exawarp::model
