// A cluster's interconnect at packet fidelity: what the handlers of switches and endpoints read.
// Vertices become logical processes here: device d is LP d; switches follow from the next multiple
// of the atom, in runs of equal radix, each with a type of its own.
//
// Thread safety: read-only after construction.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/ids.h"
#include "core/time.h"
#include "model/network/faults/live_routes.h"
#include "model/network/packet/congestion_control.h"
#include "model/network/packet/packet.h"
#include "model/network/packet/packet_options.h"
#include "model/network/packet/routing_policy.h"
#include "model/topology/topology.h"

namespace exawarp::model {

// What the options come to on links of one kind. Depths of queues are times: what is waiting, over
// the line's rate.
struct LinkFigures {
  std::int64_t bytes_per_s = 0;
  core::Time latency;
  core::Time full_wire;   // of a full packet
  core::Time commit;      // a line is given packets that start up to this far ahead
  core::Time buffer;      // flow control none: depth of a queue that drops; max: unbounded
  core::Time kmin, kmax;  // marking; max: never
  std::int64_t headroom_bytes = 0;  // pfc: what may still come after Xoff

  // An endpoint wakes when no more than this is left of what it gave to the line.
  [[nodiscard]] core::Time commit_half() const { return core::Time{commit.ps / 2}; }
};

// Consecutive switches of one radix.
struct SwitchRun {
  std::uint32_t first = 0;  // switch
  std::uint32_t count = 0;
  std::uint32_t ports = 0;
  core::LpId first_lp;
};

class PacketNetwork {
 public:
  // Throws core::InputError, naming the option, where the options contradict each other or the
  // topology. `topology` outlives the network.
  PacketNetwork(const Topology& topology, const PacketOptions& options, std::uint32_t atom_shift);

  [[nodiscard]] const Topology& topology() const { return *topology_; }
  [[nodiscard]] const PacketOptions& options() const { return options_; }
  [[nodiscard]] const LinkFigures& figures(std::uint8_t kind) const { return figures_[kind]; }
  // The topology's, and where links fail one more, for ways around them.
  [[nodiscard]] std::uint32_t channels() const { return channels_; }
  // The last one, of ways around: a packet's, that came by such a way.
  [[nodiscard]] std::uint32_t around_channel() const { return topology_->virtual_channels(); }
  // The channel in which a packet goes on (Topology::next_channel); `packet` as choose_port() left
  // it, its own channel that by which it came.
  [[nodiscard]] std::uint8_t next_channel(VertexId at, std::uint32_t in_port,
                                          std::uint32_t out_port, const Packet& packet) const {
    return static_cast<std::uint8_t>(
        packet.goes_around() ? around_channel()
                             : topology_->next_channel(at, in_port, out_port, packet.channel));
  }
  // Whether packets of a message travel as trains: asked for, and proven here (trains_allowed()).
  [[nodiscard]] bool trains() const { return trains_; }
  // Whether ports and endpoints are more than processors' caches hold, so that asking for lines
  // ahead gains more than it costs. Training steps with trains, 32 MiB of L3, events a second
  // against none: 1,024 and 4,096 devices 0.88, 8,192 1.02, 16,384 1.24, 32,768 1.36.
  [[nodiscard]] bool outgrows_caches() const { return topology_->devices() > 8'192; }
  // Between two devices; a message's number says by which it goes.
  [[nodiscard]] std::uint32_t queue_pairs() const { return queue_pairs_; }
  // Whether stretches in which rates have settled are skipped: asked for, and packets are single.
  [[nodiscard]] bool skips() const { return options_.skip_error_per_million != 0 && !trains_; }
  // Who watches for such stretches; behind all others. Requires skips().
  [[nodiscard]] core::LpId watch() const { return watch_; }
  [[nodiscard]] bool is_watch(core::LpId lp) const { return skips() && lp == watch_; }
  // Whether waiting packets are stored, per channel (any flow control).
  [[nodiscard]] bool has_queues() const { return options_.flow_control != FlowControl::none; }
  [[nodiscard]] std::int64_t full_bytes() const {
    return options_.packet_bytes + options_.header_bytes;
  }
  // Freed buffer space is returned in portions of at least this.
  [[nodiscard]] std::uint32_t credit_quantum() const { return credit_quantum_; }

  // Time of `bytes` on the line.
  [[nodiscard]] core::Time wire(std::uint8_t kind, std::int64_t bytes) const {
    const LinkFigures& f = figures_[kind];
    return bytes == full_bytes() ? f.full_wire : core::transfer_time(bytes, f.bytes_per_s);
  }
  // Whether all links have one rate and none is ever slow or down.
  [[nodiscard]] bool has_one_rate() const { return has_one_rate_; }
  // Of the fastest link.
  [[nodiscard]] std::int64_t most_bytes_per_s() const {
    std::int64_t most = 1;
    for (const LinkFigures& f : figures_) most = std::max(most, f.bytes_per_s);
    return most;
  }
  [[nodiscard]] bool is_device(core::LpId lp) const { return lp.value < topology_->devices(); }
  // Devices have links to devices, so packets of others pass through them (a torus, say).
  [[nodiscard]] bool devices_forward() const { return devices_forward_; }
  // Whether what arrives at `lp` stays there, so that it needs no room in a buffer.
  [[nodiscard]] bool is_sink(core::LpId lp) const { return is_device(lp) && !devices_forward_; }
  [[nodiscard]] core::LpId lp_of(VertexId v) const;
  // Requires an LP of this network.
  [[nodiscard]] VertexId vertex_of(core::LpId lp) const;
  [[nodiscard]] std::span<const SwitchRun> switch_runs() const { return runs_; }
  [[nodiscard]] std::uint32_t lp_count() const { return lp_count_; }  // ids end here
  // The least delay of an event between two vertices.
  [[nodiscard]] core::Time lookahead() const { return lookahead_; }
  // Links that are ever slow or down, and ways around them; null: all are well.
  [[nodiscard]] const LinkFaults* faults() const {
    return faulty_ == nullptr ? nullptr : &faulty_->faults;
  }
  [[nodiscard]] const LiveRoutes* routes() const {
    return faulty_ == nullptr ? nullptr : &faulty_->routes;
  }
  // Whether packets that meet a failed link are lost, and sent again; else it holds them.
  [[nodiscard]] bool failures_drop() const { return options_.recovery != Recovery::none; }
  [[nodiscard]] const LatencyJitter& latency_jitter() const { return latency_jitter_; }
  // What options().transport and .routing name, chosen once.
  [[nodiscard]] const CongestionControl& congestion_control() const { return *congestion_; }
  [[nodiscard]] const CongestionTraits& congestion_traits() const { return congestion_traits_; }
  [[nodiscard]] const RoutingPolicy& routing_policy() const { return *routing_; }
  [[nodiscard]] const RoutingTraits& routing_traits() const { return routing_traits_; }

  // From the first byte's start to the tail's end at the other device, nothing in the way.
  [[nodiscard]] core::Time unloaded_delay(core::DeviceId from, core::DeviceId to,
                                          std::int64_t bytes) const;
  // What the interfaces of both ends add; charged where a packet sets out.
  [[nodiscard]] core::Time endpoint_delay(core::DeviceId from, core::DeviceId to) const {
    return topology_->distances()[topology_->message_route(from, to).distance].endpoint;
  }

 private:
  struct Faulty {
    LinkFaults faults;
    LiveRoutes routes;
    Faulty(const Topology& topology, const PacketOptions& options);
  };
  void choose_control_and_routing();
  void check_routing() const;
  void check_queues() const;
  void check_timeout() const;
  void check_skips() const;
  [[nodiscard]] bool trains_allowed() const;
  void look_at_faults();
  void lay_out(std::uint32_t atom_shift);

  const Topology* topology_;
  PacketOptions options_;
  std::vector<LinkFigures> figures_;  // by kind
  std::vector<SwitchRun> runs_;
  std::uint32_t channels_;
  std::uint32_t credit_quantum_ = 0;
  std::uint32_t lp_count_ = 0;
  core::LpId watch_;
  bool devices_forward_ = false;
  std::uint32_t queue_pairs_ = 1;
  bool trains_ = false;
  bool has_one_rate_ = false;
  core::Time lookahead_;
  std::shared_ptr<const Faulty> faulty_;
  LatencyJitter latency_jitter_;
  std::shared_ptr<const CongestionControl> congestion_;
  CongestionTraits congestion_traits_;
  std::shared_ptr<const RoutingPolicy> routing_;
  RoutingTraits routing_traits_;
};

}  // namespace exawarp::model
