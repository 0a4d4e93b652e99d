// A cluster's interconnect at flow fidelity: what the handler of its region reads.
//
// A message is a flow over the links of one way between two devices, and the flows on a link share
// it (fair_shares.h). The whole fabric is one logical process, the region, which knows all flows:
// shares are a matter of all of them. Devices tell it of a message by an event that takes a
// `notice`; all of the region's time is so much later than the devices', so that the notice costs
// a message nothing: it arrives when it would, had the region known at once.
//
// Ways are those that packets take, by the routing policies that keep to one way a message.
//
// Thread safety: read-only after construction, but for the region's scratch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/time.h"
#include "model/network/flow/fair_shares.h"
#include "model/network/packet/packet_network.h"
#include "model/topology/link_numbers.h"
#include "model/topology/topology.h"
#include "pdes/context.h"

namespace exawarp::model {

// A message's bytes go in 40 bits.
constexpr std::int64_t kFlowBytesMax = (std::int64_t{1} << 40) - 1;

// So many times the bandwidth, and as many times shorter latencies (FasterBy).
struct FasterLinks {
  std::int64_t bandwidth = 1, latency = 1;
};

class FlowNetwork {
 public:
  // Of `packets`, the routing and its parameters count. `notice`: what word between a device and
  // the region takes, at least 1 ps. Throws core::InputError where the routing takes several ways
  // for one message, or a link has no bandwidth. `topology` outlives the network.
  FlowNetwork(const Topology& topology, const PacketOptions& packets, core::LpId region,
              core::Time notice, const FasterLinks& faster = {});

  [[nodiscard]] const Topology& topology() const { return packets_.topology(); }
  [[nodiscard]] core::LpId region() const { return region_; }
  [[nodiscard]] core::Time notice() const { return notice_; }

  // A directed link: a port of a vertex, numbered through.
  [[nodiscard]] std::uint32_t links() const { return static_cast<std::uint32_t>(links_.count()); }
  [[nodiscard]] std::uint32_t link_at(VertexId v, std::uint32_t port) const {
    return static_cast<std::uint32_t>(links_.of(v, port));
  }
  [[nodiscard]] std::pair<VertexId, std::uint32_t> port_of(std::uint32_t link) const {
    return links_.port_of(link);
  }
  // A flow has room for 1 << hop_shift() links, as many as any way has.
  [[nodiscard]] std::uint32_t hop_shift() const { return hop_shift_; }
  // The links of the way between two devices, in order; of which there are as many as `way` has
  // room for. `label` tells connections apart. Returns how many; 0: there is no way of so many.
  [[nodiscard]] std::uint32_t find_way(core::DeviceId from, core::DeviceId to, std::uint32_t label,
                                       pdes::Context& ctx, std::span<std::uint32_t> way) const;
  // From when a message's tail has left the first link to its arrival.
  [[nodiscard]] core::Time latency(core::DeviceId from, core::DeviceId to) const;
  // Of any two devices.
  [[nodiscard]] core::Time least_latency() const;

  // Bytes, and what a rate of so many units carries in a picosecond: exact, as both are whole
  // numbers of it.
  __extension__ using Work = unsigned __int128;
  [[nodiscard]] Work work_of(std::int64_t bytes) const {
    const Work bytes_here = static_cast<Work>(bytes < 0 ? 0 : bytes);
    const Work work = (bytes_here << rate_shift_) * core::kPicosecondsPerSecond;
    return work == 0 ? 1 : work;  // an empty message takes 1 ps
  }
  [[nodiscard]] Work work_a_ps(std::uint64_t rate) const { return Work{rate} * rate_divisor_; }

  // The region's; nobody else's.
  [[nodiscard]] FairShares& shares() const { return *shares_; }
  struct Scratch {
    std::vector<std::uint32_t> links;  // whose flows have changed
    std::vector<std::uint32_t> late;   // flows that are over at this very instant
    std::vector<std::uint32_t> way;
  };
  [[nodiscard]] Scratch& scratch() const { return *scratch_; }

 private:
  void check_links() const;
  [[nodiscard]] std::uint32_t find_hop_shift() const;
  [[nodiscard]] std::vector<std::uint64_t> capacities();

  PacketNetwork packets_;  // its topology and routing
  core::LpId region_;
  core::Time notice_;
  FasterLinks faster_;
  LinkNumbers links_;
  std::uint32_t hop_shift_ = 0;
  std::uint64_t rate_divisor_ = 1;  // a unit of rate is so many bytes a second
  std::uint32_t rate_shift_ = 0;    // over 2 to the power of that
  std::unique_ptr<FairShares> shares_;
  std::unique_ptr<Scratch> scratch_;
};

// A 16th of the least latency between devices, as at analytical fidelity; 1 ps at least.
core::Time flow_notice(core::Time least_latency);

}  // namespace exawarp::model
