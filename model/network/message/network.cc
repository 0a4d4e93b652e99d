// The figures that messages ask for, computed once: latencies and bandwidths by tier of the fat
// tree, or by class of a topology's distances, and the interfaces that a device's ports stand for.
#include "model/network/message/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "core/check.h"
#include "core/error.h"

namespace exawarp::model {
namespace {

constexpr core::Time kLatencyMax{core::kPicosecondsPerSecond};  // 1 s: far beyond any fabric

// Without a place: `fabric` is none in a file.
void require(bool condition, const std::string& fabric, const char* what) {
  if (!condition) throw core::InputError(fabric + ": " + what);
}

bool is_latency(core::Time t) { return t >= core::Time{0} && t <= kLatencyMax; }

// Of nodes on a fat tree; other networks are checked by make_topology().
const ClosSpec& checked(const Fabric& fabric) {
  EXAWARP_CHECK(fabric.nodes.has_value() && fabric.clos() != nullptr);
  const NodesSpec& n = *fabric.nodes;
  const std::string node = fmt::format("fabric \"{}\"", n.name);
  require(n.devices >= 1, node, "devices per node: 0; expected at least 1");
  require(n.bandwidth_bytes_per_s > 0, node, "bandwidth: not above 0 B/s");
  require(is_latency(n.latency) && n.latency.ps > 0, node,
          "latency: out of range; expected 1 ps to 1 s");
  const ClosSpec& s = *fabric.clos();
  require(s.host.bandwidth_bytes_per_s > 0, fabric.place, "bandwidth: not above 0 B/s");
  require(is_latency(s.latencies.endpoint) && is_latency(s.latencies.forwarding) &&
              is_latency(s.host.latency),
          fabric.place, "latency: out of range; expected 0 to 1 s each");
  require((s.latencies.endpoint + s.latencies.forwarding + s.host.latency).ps > 0, fabric.place,
          "latency: 0 in all; expected an endpoint, switch or link latency of at least 1 ps");
  require(s.devices_per_leaf >= 1, fabric.place, "devices per leaf: 0; expected at least 1");
  require(s.groups_per_pod >= 1, fabric.place, "leaves per pod: 0; expected at least 1");
  constexpr std::uint32_t kWidthMax = 1u << 12;
  require(s.groups_per_pod <= kWidthMax && s.spines_per_pod <= kWidthMax &&
              s.cores <= kWidthMax * kWidthMax,
          fabric.place, "more than 4096 leaves or spines per pod, or 2^24 cores");
  return s;
}

// Equal ports of a device that all lead everywhere.
std::uint32_t rails_of(const Fabric& spec) {
  if (spec.networks.size() != 1) return 1;
  const FamilySpec& family = spec.networks.front();
  std::uint32_t ports = 1;
  if (const auto* one = std::get_if<SingleSwitchSpec>(&family.shape)) ports = one->planes;
  if (const auto* clos = std::get_if<ClosSpec>(&family.shape)) {
    ports = clos->leaves_per_device * family.planes;
  }
  return std::min(ports, kRailsMax);
}

// Ports of any device out of its node, except the first.
std::uint32_t further_ports(const Topology& topology, std::uint32_t first_port) {
  std::uint32_t most = first_port + 1;
  for (std::uint32_t d = 0; d < topology.devices(); ++d) {
    most = std::max(most, topology.ports({d}));
  }
  return most - first_port - 1;
}

}  // namespace

Network::Network(const Fabric& fabric, std::uint32_t devices, PortRates rates)
    : layout_(std::max(1u, fabric.devices_per_node())),
      devices_(devices),
      bandwidth_bytes_per_s_{} {
  EXAWARP_CHECK(devices_ >= 1);
  if (fabric.by_tier) {
    use_tree(fabric);
  } else {
    use_topology(fabric, rates);
  }
  EXAWARP_CHECK(latency_.size() >= kTierCount && bandwidth_bytes_per_s_[0] >= 1 &&
                bandwidth_bytes_per_s_[1] >= 1, latency_.size());
}

void Network::use_tree(const Fabric& fabric) {
  const ClosSpec& spec = checked(fabric);
  const Clos clos(spec, devices_);
  tree_ = clos.layout();
  switches_ = clos.switches();
  bandwidth_bytes_per_s_ = {fabric.nodes->bandwidth_bytes_per_s, spec.host.bandwidth_bytes_per_s};
  latency_.push_back(fabric.nodes->latency);
  for (const Tier tier : {Tier::leaf, Tier::pod, Tier::core}) {
    const Distance path = path_over_tier(spec, tier);
    latency_.push_back(path.latency + path.endpoint);
  }
  least_across_ = tree_->devices() > layout_.devices() ? latency(Tier::leaf)
                  : tree_->leaves() > 1                ? latency(Tier::pod)
                                                       : latency(Tier::core);
}

void Network::use_topology(const Fabric& spec, PortRates rates) {
  topology_ = make_topology(spec, devices_);
  switches_ = topology_->switches();
  rails_ = rails_of(spec);
  const bool has_nodes = spec.nodes.has_value();
  first_class_ = has_nodes ? 0 : 1;  // class 0 is Tier::node
  const auto distances = topology_->distances();
  constexpr std::size_t kClassesMax = 1u << 16;  // of a Tier
  if (distances.size() + first_class_ > kClassesMax) {
    throw core::InputError(
        spec.place, fmt::format("{} different paths; expected at most {} at network.fidelity "
                                "message: a smaller diameter",
                                distances.size(), kClassesMax - first_class_));
  }
  std::int64_t rate = 0;
  first_port_ = layout_.devices() > 1 ? spec.nodes->planes : 0;
  further_ = rails_ > 1 ? rails_ - 1 : further_ports(*topology_, first_port_);
  for (std::uint32_t p = first_port_; p < topology_->ports({0}); ++p) {
    const std::int64_t of_port =
        topology_->link_kinds()[topology_->link({0}, p).kind].bandwidth_bytes_per_s;
    if (rate != 0 && of_port != rate && rates == PortRates::one) {
      throw core::InputError(
          spec.place, fmt::format("a device has links of {} and {} B/s; expected one bandwidth at "
                                  "network.fidelity message",
                                  rate, of_port));
    }
    rate = rate == 0 ? of_port : std::min(rate, of_port);
  }
  const std::int64_t inside = has_nodes ? spec.nodes->bandwidth_bytes_per_s : rate;
  bandwidth_bytes_per_s_ = {inside, rate != 0 ? rate : std::max<std::int64_t>(1, inside)};
  if (bandwidth_bytes_per_s_[0] == 0) bandwidth_bytes_per_s_[0] = 1;  // one device, no port at all
  core::Time least_endpoint = core::Time::max();
  if (!has_nodes) latency_.push_back(core::Time{0});
  for (const Distance& d : distances) {
    latency_.push_back(std::max(core::Time{1}, d.latency + d.endpoint));
    if (latency_.size() > 1) least_endpoint = std::min(least_endpoint, d.endpoint);
  }
  find_slow_paths();
  if (!has_nodes) latency_[0] = *std::max_element(latency_.begin(), latency_.end());
  while (latency_.size() < kTierCount) latency_.push_back(latency_.back());
  if (least_endpoint == core::Time::max()) least_endpoint = core::Time{0};
  least_across_ = topology_->least_latency(layout_.atom_shift()) + least_endpoint;
}

// A way that crosses its own node first has no port of its own out of it.
Ends Network::ends_across(core::DeviceId a, core::DeviceId b, std::uint32_t connection) const {
  const auto interface = [](std::uint32_t index) {
    return static_cast<Interface>(static_cast<std::uint32_t>(Interface::scale_out) + index);
  };
  if (rails_ > 1) {
    const Interface rail = interface((a.value + b.value + connection) % rails_);
    return {rail, rail};
  }
  const MessageRoute route = topology_->message_route(a, b);
  const auto of_port = [&](std::uint32_t port) {
    return interface(port < first_port_ ? 0 : port - first_port_);
  };
  return {of_port(route.tx_port), of_port(route.rx_port)};
}

void Network::find_slow_paths() {
  bool any = false;
  std::vector<std::int64_t> slowest(std::max<std::size_t>(latency_.size(), kTierCount),
                                    bandwidth_bytes_per_s_.back());
  if (first_class_ == 0) slowest[0] = bandwidth_bytes_per_s_[0];
  for (std::size_t c = 0; c < topology_->distances().size(); ++c) {
    const std::size_t tier = c + first_class_;
    if (static_cast<Tier>(tier) == Tier::node) continue;
    const std::int64_t rate = topology_->distances()[c].bandwidth_bytes_per_s;
    if (rate <= 0 || rate >= slowest[tier]) continue;
    slowest[tier] = rate;
    any = true;
  }
  if (any) slowest_ = std::move(slowest);
}

// A slower link passes the message on as it comes, so the tail is late by the difference alone.
core::Time Network::lag(Tier tier, core::Time wire) const {
  const std::int64_t slow = slowest_[static_cast<std::size_t>(tier)];
  const std::int64_t rate = bandwidth_bytes_per_s_[static_cast<std::size_t>(interface_of(tier))];
  return core::time_to_end(
      (static_cast<core::WidePs>(wire.ps) * (rate - slow) + slow - 1) / slow);
}

core::Time Network::least_latency_between_atoms() const {
  const bool node_is_split = layout_.devices() > 1 && layout_.atom_shift() == 0;
  if (devices_ <= layout_.devices() && layout_.devices() > 1) return latency(Tier::node);
  return node_is_split ? std::min(latency(Tier::node), least_across_) : least_across_;
}

void Network::make_faster(std::int64_t bandwidth, std::int64_t latency) {
  const auto carry_more = [&](std::int64_t& bytes_per_s) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    bytes_per_s = bytes_per_s > kMost / bandwidth ? kMost : bytes_per_s * bandwidth;
  };
  std::ranges::for_each(bandwidth_bytes_per_s_, carry_more);
  std::ranges::for_each(slowest_, carry_more);
  const auto shorten = [&](core::Time& time) {
    if (latency > 1) time = core::Time{time.ps / latency + (time.ps % latency != 0)};
  };
  std::ranges::for_each(latency_, shorten);
  shorten(least_across_);
}

}  // namespace exawarp::model
