// A cluster's interconnect as a graph that is computed, not stored: ports, links, distances and
// minimal routes as functions of ids, in O(1) memory.
//
// Vertices are numbered devices first, then switches. Every port carries one full-duplex link to
// one port of another vertex. What a message or packet does at a choice of ports is the routing's
// matter (model/network/); a topology only says which ports lead nearer.
//
// Owner:         the cluster; shared, read-only while a simulation runs.
// Thread safety: every method may be called from several threads at once.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/check.h"
#include "core/ids.h"
#include "core/time.h"

namespace exawarp::model {

// Device d is vertex d; switch s is vertex devices + s.
using VertexId = core::Id<struct VertexTag>;

// Links of one speed and length.
struct LinkKind {
  std::string name;                        // "nvlink", "leaf-spine"
  std::int64_t bandwidth_bytes_per_s = 0;  // per direction, as achieved
  core::Time latency;                      // propagation, end to end
};

struct Link {
  VertexId peer;
  std::uint32_t peer_port = 0;
  std::uint8_t kind = 0;  // index into Topology::link_kinds()
};

// Ports of one vertex, as ranges; in ascending order, without duplicates.
class PortChoices {
 public:
  static constexpr std::uint32_t kRangesMax = 16;
  struct Range {
    std::uint32_t first, count;
  };

  // Requires first behind all ports added before.
  void add(std::uint32_t first, std::uint32_t count = 1) {
    if (count == 0) return;
    total_ += count;
    if (ranges_used_ != 0) {
      Range& last = ranges_[ranges_used_ - 1];
      if (last.first + last.count == first) {
        last.count += count;
        return;
      }
    }
    EXAWARP_CHECK(ranges_used_ < kRangesMax, first, count);
    ranges_[ranges_used_++] = {first, count};
  }
  // The same where there is room for one range more, or none is needed; returns whether.
  bool add_if_room(std::uint32_t port) {
    const bool adjacent =
        ranges_used_ != 0 &&
        ranges_[ranges_used_ - 1].first + ranges_[ranges_used_ - 1].count == port;
    if (!adjacent && ranges_used_ == kRangesMax) return false;
    add(port);
    return true;
  }
  [[nodiscard]] std::uint32_t size() const { return total_; }
  [[nodiscard]] bool empty() const { return total_ == 0; }
  // Requires index < size().
  [[nodiscard]] std::uint32_t operator[](std::uint32_t index) const {
    std::uint32_t r = 0;
    while (index >= ranges_[r].count) index -= ranges_[r++].count;
    return ranges_[r].first + index;
  }
  // Of an object with a name: a loop over those of a temporary would outlive it.
  [[nodiscard]] std::span<const Range> ranges() const&& = delete;
  [[nodiscard]] std::span<const Range> ranges() const& { return {ranges_.data(), ranges_used_}; }

 private:
  // Those from ranges_used_ on are not set: an object is made for each packet and hop.
  std::array<Range, kRangesMax> ranges_;
  std::uint32_t ranges_used_ = 0;
  std::uint32_t total_ = 0;
};

// What a message between two devices passes on a minimal path. Pairs of equal figures share one.
struct Distance {
  core::Time latency{};    // links and switches; no serialisation, no endpoints' software
  core::Time endpoint{};   // both ends' interfaces and software, on top of `latency`
  std::uint32_t switches = 0;  // and devices that pass messages on
  std::uint32_t links = 0;
  std::int64_t bandwidth_bytes_per_s = 0;  // of the slowest link
};

// How a message between two devices leaves and arrives, as far as message fidelity is concerned.
struct MessageRoute {
  std::uint16_t distance = 0;  // index into Topology::distances()
  std::uint16_t tx_port = 0;   // of the sender
  std::uint16_t rx_port = 0;   // of the receiver
};

// Whether a way begins at a vertex, or has come to it on a minimal path.
enum class Way : std::uint8_t { begins, goes_on };

// Sums of the bandwidths of all links: up to 2^48 links of 2^63 bytes/s.
__extension__ using WideRate = __int128;

// Figures for people; exact, by formula.
struct TopologyCounts {
  std::uint64_t switches = 0;
  std::uint64_t links = 0;  // full-duplex
  std::uint32_t diameter_links = 0;
  // Capacity, one direction, between two halves of the devices; docs/reference/topologies.md says
  // which halves.
  WideRate bisection_bytes_per_s = 0;
};

class Topology {
 public:
  Topology() = default;
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;
  virtual ~Topology() = default;

  [[nodiscard]] virtual std::string name() const = 0;  // "fat tree, 3 tiers, ..."
  [[nodiscard]] virtual std::uint32_t devices() const = 0;
  [[nodiscard]] virtual std::uint32_t switches() const = 0;
  [[nodiscard]] VertexId vertex_of_switch(std::uint32_t s) const { return {devices() + s}; }
  [[nodiscard]] bool is_device(VertexId v) const { return v.value < devices(); }

  [[nodiscard]] virtual std::span<const LinkKind> link_kinds() const = 0;
  [[nodiscard]] virtual std::uint32_t ports(VertexId v) const = 0;
  // Requires port < ports(v). Symmetric: link(peer, peer_port) leads back to (v, port).
  [[nodiscard]] virtual Link link(VertexId v, std::uint32_t port) const = 0;

  // Whether devices pass on what is not their own, between any two of their ports.
  [[nodiscard]] virtual bool devices_forward() const { return false; }
  // What passing through `v` adds to a path: a switch, or a device that forwards.
  [[nodiscard]] virtual core::Time forwarding_latency(VertexId v) const = 0;

  // Ports of `at` on minimal paths to `to`, a device or a vertex that waypoint() returns; empty
  // where at == to. The first one is deterministic routing's (dimension order where there are
  // dimensions). Minimal is the family's own measure, which its header states.
  [[nodiscard]] virtual PortChoices minimal(VertexId at, VertexId to) const = 0;
  // The same at a vertex that passes on what began elsewhere, and came to it on a minimal path.
  [[nodiscard]] virtual PortChoices onward(VertexId at, VertexId to) const {
    return minimal(at, to);
  }
  // Either, by whether the way begins at `at`.
  [[nodiscard]] PortChoices towards(VertexId at, VertexId to, Way way) const {
    return way == Way::begins ? minimal(at, to) : onward(at, to);
  }

  // Requires a != b.
  [[nodiscard]] virtual MessageRoute message_route(core::DeviceId a, core::DeviceId b) const = 0;
  [[nodiscard]] virtual std::span<const Distance> distances() const = 0;
  // Destination-spread deterministic routing takes minimal(at, to)[spread(at, to) % size]: the
  // paths to one device form a tree, and different devices' trees use different links.
  [[nodiscard]] virtual std::uint32_t spread(VertexId, VertexId) const { return 0; }

  // Least latency, without endpoints, of a path between devices of different atoms of
  // 2^atom_shift ids; over all pairs where there is one atom. At least 1 ps.
  [[nodiscard]] virtual core::Time least_latency(std::uint32_t atom_shift) const = 0;

  // Deadlock freedom: packets use virtual channel 0 first; at `at`, one that came in at `in_port`
  // on channel `vc` and leaves through `out_port` continues in the channel returned. The channels'
  // dependencies over minimal routes (and, where a waypoint is passed, over both legs) have no
  // cycle. in_port is ports(at) for a packet that starts here.
  // Where !every_port_is_safe(), that holds for the first minimal port alone, on each leg.
  [[nodiscard]] virtual bool every_port_is_safe() const { return true; }
  [[nodiscard]] virtual std::uint32_t virtual_channels() const = 0;
  [[nodiscard]] virtual std::uint32_t next_channel(VertexId at, std::uint32_t in_port,
                                                   std::uint32_t out_port,
                                                   std::uint32_t vc) const = 0;

  // Valiant routing: a packet goes first to one of these vertices, then on. 0: detours make no
  // sense here.
  // Requires from != to.
  [[nodiscard]] virtual std::uint32_t waypoints(core::DeviceId from, core::DeviceId to) const = 0;
  [[nodiscard]] virtual VertexId waypoint(core::DeviceId from, core::DeviceId to,
                                          std::uint32_t index) const = 0;

  [[nodiscard]] virtual TopologyCounts counts() const = 0;
};

}  // namespace exawarp::model
