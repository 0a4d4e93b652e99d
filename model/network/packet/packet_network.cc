// What a network's options come to: checks them against each other and the topology, turns sizes
// into times for each kind of link, chooses congestion control and routing, and lays out the
// logical processes of switches.
#include "model/network/packet/packet_network.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "core/check.h"
#include "core/error.h"
#include "core/units.h"

namespace exawarp::model {
namespace {

using core::Time;

constexpr std::uint32_t kRunsMax = 64;  // an irregular graph: all switches as the widest
constexpr std::uint32_t kPortsMax = 1u << 15;
constexpr std::uint32_t kChannelsMax = 8;  // bits of PortState::paused
constexpr std::int64_t kPacketBytesMax = std::int64_t{1} << 24;
constexpr std::int64_t kBufferBytesMax = std::int64_t{1} << 30;
constexpr std::int64_t kHeadroomMax = std::int64_t{1} << 61;  // bytes
constexpr std::int64_t kHeldBytesMax = (std::int64_t{1} << 32) - 1;  // ChannelBuffer::held_bytes

void check_sizes(const PacketOptions& o) {
  require_option(o.packet_bytes >= 64 && o.packet_bytes <= kPacketBytesMax, "packet_size",
                 fmt::format("\"{} B\"; expected 64 B to 16 MiB", o.packet_bytes));
  require_option(o.header_bytes >= 0 && o.header_bytes <= 4096, "header_size",
                 fmt::format("\"{} B\"; expected 0 to 4096 B", o.header_bytes));
  require_option(o.control_bytes >= 1 && o.control_bytes <= o.packet_bytes, "control_size",
                 fmt::format("\"{} B\"; expected 1 B to the packet size", o.control_bytes));
  require_option(o.ack_every >= 1 && o.ack_every <= 128, "ack_every",
                 fmt::format("\"{}\"; expected 1 to 128 packets", o.ack_every));
  require_option(o.commit_packets <= 1024, "commit_packets", "expected at most 1024");
}

void check_flow_control(const PacketOptions& o) {
  const std::int64_t full = o.packet_bytes + o.header_bytes;
  require_option(o.buffer_bytes >= 0 && o.buffer_bytes <= kBufferBytesMax, "buffer",
                 fmt::format("\"{} B\"; expected at most 1 GiB", o.buffer_bytes));
  if (o.flow_control == FlowControl::credit) {
    require_option(
        o.buffer_bytes >= 4 * full, "buffer",
        fmt::format("\"{} B\" an input and channel; credits need 4 packets, {} B, at least",
                    o.buffer_bytes, 4 * full));
  }
  if (o.flow_control == FlowControl::none && o.buffer_bytes > 0) {
    require_option(
        o.buffer_bytes >= 2 * full, "buffer",
        fmt::format("\"{} B\" a queue; expected 2 packets, {} B, at least, or 0 for unbounded",
                    o.buffer_bytes, 2 * full));
    require_option(o.recovery != Recovery::none, "recovery",
                   "\"none\" with queues that drop; expected go_back_n or selective_repeat");
  }
  if (o.flow_control == FlowControl::pfc) {
    require_option(
        o.xoff_bytes >= full && o.xoff_bytes <= kBufferBytesMax, "xoff",
        fmt::format("\"{} B\"; expected one packet, {} B, at least", o.xoff_bytes, full));
    require_option(
        o.xon_bytes >= 0 && o.xon_bytes < o.xoff_bytes, "xon",
        fmt::format("\"{} B\"; expected less than xoff, {} B", o.xon_bytes, o.xoff_bytes));
  }
}

void check_marks(const PacketOptions& o) {
  require_option(o.ecn.kmin_bytes >= 0 && o.ecn.kmax_bytes >= o.ecn.kmin_bytes, "ecn.kmin",
                 "above kmax; expected kmin <= kmax");
  require_option(o.ecn.pmax_per_mille <= 1000, "ecn.pmax", "above 1; expected 0 to 1");
}

// Every parameter that was given is one of some algorithm's.
void check_parameters(const GivenParameters& given) {
  std::size_t known = 0;
  const auto count = [&](std::span<const Parameter> table, std::string_view section) {
    for (const Parameter& p : table) known += given.count(parameter_key(section, p.key));
  };
  for (const CongestionAlgorithm& a : congestion_algorithms()) count(a.parameters, a.name);
  for (const RoutingAlgorithm& a : routing_algorithms()) count(a.parameters, "");
  EXAWARP_CHECK(known == given.size(), known, given.size());
}

Time depth_of(std::int64_t bytes, const LinkKind& kind) {
  return bytes == 0 ? Time::max() : core::transfer_time(bytes, kind.bandwidth_bytes_per_s);
}

LinkFigures figures_of(const LinkKind& kind, const PacketOptions& o, Time passing) {
  require_option(kind.bandwidth_bytes_per_s > 0, "link", kind.name + ": bandwidth of 0 B/s");
  require_option(kind.latency.ps >= 1, "link",
                 kind.name + ": latency of 0; packets need 1 ps at least");
  const std::int64_t full = o.packet_bytes + o.header_bytes;
  const Time full_wire = core::transfer_time(full, kind.bandwidth_bytes_per_s);
  const bool pfc = o.flow_control == FlowControl::pfc;
  const std::uint32_t ahead = o.commit_packets != 0 ? o.commit_packets : pfc ? 2 : 8;
  const bool drops = o.flow_control == FlowControl::none;
  LinkFigures f{.bytes_per_s = kind.bandwidth_bytes_per_s,
                .latency = kind.latency,
                .full_wire = full_wire,
                .commit = core::product_to_end(ahead, full_wire),
                .buffer = drops ? depth_of(o.buffer_bytes, kind) : Time::max(),
                .kmin = o.ecn.kmax_bytes == 0 ? Time::max() : depth_of(o.ecn.kmin_bytes, kind),
                .kmax = depth_of(o.ecn.kmax_bytes, kind)};
  if (o.ecn.kmax_bytes != 0 && o.ecn.kmin_bytes == 0) f.kmin = Time{0};
  // From Xoff on: the pause frame's way there, what was under way or committed, the packet on the
  // line, and what is in the sender's pipeline, its software among it.
  const Time control = core::transfer_time(o.control_bytes, kind.bandwidth_bytes_per_s);
  const Time packets = core::sum_to_end(f.commit, core::product_to_end(3, full_wire));
  const Time reaction =
      core::sum_to_end(core::sum_to_end(kind.latency * 2 + passing, control), packets);
  const core::WidePs headroom = static_cast<core::WidePs>(reaction.ps) *
                                kind.bandwidth_bytes_per_s / core::kPicosecondsPerSecond;
  f.headroom_bytes =
      static_cast<std::int64_t>(std::min<core::WidePs>(headroom, kHeadroomMax)) + 2 * full;
  return f;
}

// Whether a link leads from one device to another.
bool links_devices(const Topology& topology) {
  for (std::uint32_t d = 0; d < topology.devices(); ++d) {
    for (std::uint32_t p = 0; p < topology.ports({d}); ++p) {
      if (topology.is_device(topology.link({d}, p).peer)) return true;
    }
  }
  return false;
}

std::uint32_t aligned(std::uint32_t id, std::uint32_t shift) {
  const std::uint32_t atom = 1u << shift;
  return (id + atom - 1) / atom * atom;
}

}  // namespace

PacketNetwork::PacketNetwork(const Topology& topology, const PacketOptions& options,
                             std::uint32_t atom_shift)
    : topology_(&topology),
      options_(options),
      channels_(topology.virtual_channels()),
      latency_jitter_(options.latency_jitter, options.routing.seed) {
  check_sizes(options);
  check_flow_control(options);
  check_marks(options);
  choose_control_and_routing();
  require_option(channels_ >= 1 && channels_ <= kChannelsMax, "topology",
                 fmt::format("{} virtual channels; expected 1 to {}", channels_, kChannelsMax));
  lookahead_ = Time::max();
  Time passing{0};
  for (const Distance& d : topology.distances()) passing = std::max(passing, d.endpoint);
  passing = core::sum_to_end(passing, options.overhead_max);
  passing = core::sum_to_end(passing, latency_jitter_.most());
  for (std::uint32_t v = 0; v < topology.devices() + topology.switches(); ++v) {
    passing = std::max(passing, topology.forwarding_latency({v}));
  }
  for (const LinkKind& kind : topology.link_kinds()) {
    figures_.push_back(figures_of(kind, options, passing));
    lookahead_ = std::min(lookahead_, kind.latency);
  }
  require_option(!figures_.empty(), "topology", "no links");
  const std::int64_t full = full_bytes();
  credit_quantum_ =
      static_cast<std::uint32_t>(std::max(full, std::min(options.buffer_bytes / 4, 8 * full)));
  devices_forward_ = links_devices(topology);
  check_routing();
  look_at_faults();
  const auto pairs = options.parameters.find("queue_pairs");
  if (pairs != options.parameters.end()) queue_pairs_ = static_cast<std::uint32_t>(pairs->second);
  has_one_rate_ = faults() == nullptr &&
                  std::ranges::all_of(figures_, [this](const LinkFigures& f) {
                    return f.bytes_per_s == figures_.front().bytes_per_s;
                  });
  check_queues();
  check_timeout();
  trains_ = options.trains && trains_allowed();
  check_skips();
  lay_out(atom_shift);
}

namespace {

EscapeRoutes::Kind escape_kind_of(const Topology& topology, const PacketOptions& options) {
  if (options.flow_control == FlowControl::none) return EscapeRoutes::Kind::any;
  return topology.virtual_channels() < kChannelsMax ? EscapeRoutes::Kind::up_then_down
                                                    : EscapeRoutes::Kind::none;
}

}  // namespace

PacketNetwork::Faulty::Faulty(const Topology& topology, const PacketOptions& options)
    : faults(topology, options.link_faults),
      routes(topology, faults, escape_kind_of(topology, options)) {}

void PacketNetwork::look_at_faults() {
  if (options_.link_faults.empty()) return;
  faulty_ = std::make_shared<const Faulty>(*topology_, options_);
  const bool around = routes()->escape_routes().kind() != EscapeRoutes::Kind::none;
  if (around && faults()->any_failure()) ++channels_;
  if (failures_drop() || !faults()->fails_for_ever_later()) return;
  throw core::InputError(options_.link_faults.front().place,
                         "a link fails for ever while packets may be on it, and nothing sends them "
                         "again; expected packet.recovery: go_back_n or selective_repeat, an "
                         "\"until\", or no \"from\"");
}

void PacketNetwork::choose_control_and_routing() {
  const PacketOptions& o = options_;
  check_parameters(o.parameters);
  congestion_ = make_congestion_control(o.transport, o.parameters);
  congestion_traits_ = congestion_->traits();
  require_option(congestion_traits_.notify_every.ps < 0 || o.ecn.kmax_bytes > 0, "ecn",
                 fmt::format("no marking; {} needs kmin and kmax", o.transport));
  require_option(o.retransmit_timeout.ps > 0, "retransmit_timeout", "\"0 s\"; expected more");
  require_option(o.retransmit_timeout <= kPeriodMax, "retransmit_timeout",
                 "expected at most an hour");
  routing_ = make_routing_policy(o.routing.policy, o.parameters);
  routing_traits_ = routing_algorithm(o.routing.policy).traits;
}

void PacketNetwork::check_routing() const {
  const bool safe = topology_->every_port_is_safe() || routing_traits_.keeps_to_first_port;
  require_option(
      !has_queues() || safe, "routing",
      "this topology's channels keep deterministic, valiant and ugal routes free of deadlock; "
      "expected one of them, or flow_control: none");
}

// What waits at a port is counted by its time on the line, whose sum has to be a time.
void PacketNetwork::check_queues() const {
  if (!has_queues()) return;
  std::uint32_t widest = 1;
  for (std::uint32_t v = 0; v < topology_->devices() + topology_->switches(); ++v) {
    widest = std::max(widest, topology_->ports({v}));
  }
  std::int64_t buffer = options_.buffer_bytes;
  if (options_.flow_control == FlowControl::pfc) {
    for (const LinkFigures& f : figures_) {
      buffer = std::max(buffer, options_.xoff_bytes + f.headroom_bytes);
    }
    require_option(
        buffer <= kHeldBytesMax, "xoff",
        fmt::format(
            "{} bytes an input and channel with what comes until the sender has stopped; "
            "expected less than 4 GiB, by a smaller xoff, shorter latencies or less overhead",
            buffer));
  }
  for (std::size_t k = 0; k < figures_.size(); ++k) {
    const Time one = core::transfer_time(buffer, figures_[k].bytes_per_s);
    if (core::product_to_end(std::int64_t{widest} * channels_, one) < core::kEndOfTime) continue;
    throw core::InputError(
        fmt::format("packet network: simulated time passes {}: links of kind {} take that for what "
                    "the buffers of {} ports and {} channels hold, at {} B/s; expected faster "
                    "links, or smaller buffers or packets",
                    core::kEndOfTimeText, topology_->link_kinds()[k].name, widest, channels_,
                    figures_[k].bytes_per_s));
  }
}

// A timer that runs out thousands of times while one packet is on a line does nothing but keep the
// run from ending.
void PacketNetwork::check_timeout() const {
  if (options_.recovery == Recovery::none) return;
  constexpr std::int64_t kTimeoutsMax = 65'536;
  for (const LinkFigures& f : figures_) {
    const Time most = core::product_to_end(kTimeoutsMax, options_.retransmit_timeout);
    require_option(
        f.full_wire <= most, "retransmit_timeout",
        fmt::format("\"{}\" is far too short for packets that take {} at {} B/s; expected more",
                    core::format_time(options_.retransmit_timeout), core::format_time(f.full_wire),
                    f.bytes_per_s));
  }
}

// Where the way of a message follows from the message, and lines stay as they are.
void PacketNetwork::check_skips() const {
  if (options_.skip_error_per_million == 0) return;
  require_option(routing_traits_.keeps_order && !routing_traits_.takes_waypoints, "fast_forward",
                 fmt::format("routing \"{}\" chooses a way for each packet; expected one of "
                             "deterministic, destination and ecmp",
                             options_.routing.policy));
  require_option(!devices_forward_ && !topology_->devices_forward(), "fast_forward",
                 "packets pass through devices of this topology; expected one of switches");
  require_option(faulty_ == nullptr && latency_jitter_.off(), "fast_forward",
                 "links are slow, fail or jitter; expected a network without faults");
}

namespace {

// Whether some vertex has two links to one other. Their packets may arrive in the same instant, in
// an order that only the events of single packets know.
bool has_parallel_links(const Topology& topology) {
  std::vector<std::uint32_t> peers;
  for (std::uint32_t v = 0; v < topology.devices() + topology.switches(); ++v) {
    peers.clear();
    for (std::uint32_t p = 0; p < topology.ports({v}); ++p) {
      peers.push_back(topology.link({v}, p).peer.value);
    }
    std::sort(peers.begin(), peers.end());
    if (std::adjacent_find(peers.begin(), peers.end()) != peers.end()) return true;
  }
  return false;
}

}  // namespace

// Where a packet's departure follows from the arrivals at its port alone, its way from its message,
// and switches take some time to pass it on: train_forwarder.cc says what each is needed for.
bool PacketNetwork::trains_allowed() const {
  const bool plain = !congestion_traits_.has_state && !congestion_traits_.acknowledged &&
                     congestion_traits_.notify_every.ps < 0 && options_.queues_without_answer();
  const bool one_way = routing_traits_.keeps_order && !routing_traits_.takes_waypoints;
  const bool devices_end = !devices_forward_ && !topology_->devices_forward();
  const bool as_built = faulty_ == nullptr && latency_jitter_.off();
  if (!plain || !as_built || !one_way || !devices_end) return false;
  for (std::uint32_t s = 0; s < topology_->switches(); ++s) {
    if (topology_->forwarding_latency(topology_->vertex_of_switch(s)).ps < 1) return false;
  }
  return !has_parallel_links(*topology_);
}

void PacketNetwork::lay_out(std::uint32_t atom_shift) {
  const Topology& t = *topology_;
  std::uint32_t widest = 0;
  for (std::uint32_t s = 0; s < t.switches(); ++s) {
    const std::uint32_t ports = t.ports(t.vertex_of_switch(s));
    require_option(ports <= kPortsMax, "topology",
                   fmt::format("switch {} has {} ports; expected at most {}", s, ports, kPortsMax));
    widest = std::max(widest, ports);
    if (runs_.empty() || (runs_.back().ports != ports && runs_.size() <= kRunsMax)) {
      runs_.push_back({.first = s, .count = 1, .ports = ports, .first_lp = {}});
    } else {
      ++runs_.back().count;
    }
  }
  if (runs_.size() > kRunsMax) runs_ = {{0, t.switches(), widest, {}}};
  lp_count_ = t.devices();
  for (SwitchRun& run : runs_) {
    run.first_lp = {aligned(lp_count_, atom_shift)};
    lp_count_ = run.first_lp.value + run.count;
  }
  if (!skips()) return;
  watch_ = {aligned(lp_count_, atom_shift)};
  lp_count_ = watch_.value + 1;
}

core::LpId PacketNetwork::lp_of(VertexId v) const {
  if (topology_->is_device(v)) return {v.value};
  const std::uint32_t s = v.value - topology_->devices();
  std::size_t r = runs_.size() - 1;
  while (runs_[r].first > s) --r;
  return {runs_[r].first_lp.value + (s - runs_[r].first)};
}

VertexId PacketNetwork::vertex_of(core::LpId lp) const {
  if (is_device(lp)) return {lp.value};
  std::size_t r = runs_.size() - 1;
  while (runs_[r].first_lp > lp) --r;
  return topology_->vertex_of_switch(runs_[r].first + (lp.value - runs_[r].first_lp.value));
}

Time PacketNetwork::unloaded_delay(core::DeviceId from, core::DeviceId to,
                                   std::int64_t bytes) const {
  const Distance& d = topology_->distances()[topology_->message_route(from, to).distance];
  const Time wire = core::transfer_time(bytes, d.bandwidth_bytes_per_s);
  return core::sum_to_end(d.endpoint + d.latency,
                          core::product_to_end(options_.cut_through ? 1 : d.links, wire));
}

}  // namespace exawarp::model
