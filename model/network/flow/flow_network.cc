// The links of a topology as numbers, their capacities as units of rate, and the ways of messages.
#include "model/network/flow/flow_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <string>

#include "core/error.h"
#include "model/network/packet/packet_routing.h"
#include "model/network/packet/routing_policy.h"

namespace exawarp::model {
namespace {

using core::DeviceId;
using core::Time;

// Shares are exact to 2^-47 of the greatest rate that divides all links'; less where a link is so
// much faster that 62 bits do not do. So sizes and rates that are N times as large make the same
// shares, and no difference to any time. With 40 bits each for a message's bytes and a second's
// picoseconds, work has 127.
constexpr std::uint32_t kRateShift = 47;
constexpr std::uint32_t kRateBits = 62;
constexpr std::int64_t kNoticesInLatency = 16;

std::string routings_that_keep_order() {
  std::string names;
  for (const RoutingAlgorithm& algorithm : routing_algorithms()) {
    if (!algorithm.traits.keeps_order) continue;
    names += names.empty() ? "" : ", ";
    names += algorithm.name;
  }
  return names;
}

// Packets' routing, and nothing else of them.
PacketOptions routing_of(const PacketOptions& options) {
  PacketOptions out;
  out.routing = options.routing;
  out.parameters = options.parameters;
  return out;
}

}  // namespace

Time flow_notice(Time least_latency) {
  return std::max(Time{1}, Time{least_latency.ps / kNoticesInLatency});
}

FlowNetwork::FlowNetwork(const Topology& topology, const PacketOptions& packets, core::LpId region,
                         Time notice, const FasterLinks& faster)
    : packets_(topology, routing_of(packets), 0),
      region_(region),
      notice_(notice),
      faster_(faster),
      links_(topology),
      scratch_(std::make_unique<Scratch>()) {
  require_option(packets_.routing_traits().keeps_order, "routing",
                 fmt::format("\"{}\" chooses a way for each packet, and a flow has one; expected "
                             "one of: {}, or fidelity: packet",
                             packets.routing.policy, routings_that_keep_order()));
  check_links();
  hop_shift_ = find_hop_shift();
  shares_ = std::make_unique<FairShares>(capacities());
  scratch_->way.resize(std::size_t{1} << hop_shift_);
}

void FlowNetwork::check_links() const {
  if (links_.count() < kNoLink) return;
  throw core::InputError(
      fmt::format("network: more than {} ports; expected fewer at fidelity flow", kNoLink));
}

std::uint32_t FlowNetwork::find_hop_shift() const {
  const Topology& t = topology();
  std::uint32_t most = std::max(1u, t.counts().diameter_links);
  for (const Distance& d : t.distances()) most = std::max(most, d.links);
  return static_cast<std::uint32_t>(std::bit_width(most - 1));
}

// In units that all links have a whole number of and the fastest has room for.
std::vector<std::uint64_t> FlowNetwork::capacities() {
  const Topology& t = topology();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() >> (63 - kRateBits);
  std::vector<std::uint64_t> rates;
  std::uint64_t most = 1, divisor = 0;
  for (const LinkKind& kind : t.link_kinds()) {
    const std::int64_t rate = kind.bandwidth_bytes_per_s;
    const bool fits = rate <= kMost / faster_.bandwidth;
    rates.push_back(static_cast<std::uint64_t>(fits ? rate * faster_.bandwidth : kMost));
    most = std::max(most, rates.back());
    divisor = std::gcd(divisor, rates.back());
  }
  rate_divisor_ = std::max<std::uint64_t>(1, divisor);
  const auto bits = static_cast<std::uint32_t>(std::bit_width(most / rate_divisor_));
  rate_shift_ = std::min(kRateShift, kRateBits - bits);
  std::vector<std::uint64_t> out(links());
  for (std::uint32_t v = 0; v < t.devices() + t.switches(); ++v) {
    for (std::uint32_t p = 0; p < t.ports({v}); ++p) {
      out[link_at({v}, p)] = (rates[t.link({v}, p).kind] / rate_divisor_) << rate_shift_;
    }
  }
  return out;
}

std::uint32_t FlowNetwork::find_way(DeviceId from, DeviceId to, std::uint32_t label,
                                    pdes::Context& ctx, std::span<std::uint32_t> way) const {
  const Topology& t = topology();
  const Packet packet{.source = from.value, .destination = to.value, .message = label};
  const VertexId end{to.value};
  std::uint32_t links = 0;
  for (VertexId at{from.value}; at != end;) {
    const PortChoices choices = t.towards(at, end, links == 0 ? Way::begins : Way::goes_on);
    if (choices.empty() || links == way.size()) return 0;
    std::uint32_t port = choices[0];
    if (choices.size() > 1) {
      const Ports none(packets_, at, nullptr, nullptr, 0, ctx);
      port = packets_.routing_policy().choose({packets_, none, at, end, packet}, choices);
    }
    way[links++] = link_at(at, port);
    at = t.link(at, port).peer;
  }
  return links;
}

Time FlowNetwork::latency(DeviceId from, DeviceId to) const {
  const Topology& t = topology();
  const Distance& d = t.distances()[t.message_route(from, to).distance];
  const std::int64_t ps = std::max<std::int64_t>(1, (d.latency + d.endpoint).ps);
  return Time{ps / faster_.latency + (ps % faster_.latency != 0)};
}

Time FlowNetwork::least_latency() const {
  Time least = Time::max();
  for (const Distance& d : topology().distances()) least = std::min(least, d.latency + d.endpoint);
  if (least == Time::max()) return Time{1};
  return std::max(Time{1}, Time{least.ps / faster_.latency});
}

}  // namespace exawarp::model
