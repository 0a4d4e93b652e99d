// Slow and failed links and latency jitter at message fidelity: when a message may leave, how long
// it takes on the interfaces, and how long it travels.
//
//   path      at each vertex the live minimal port that destination-spread routing takes, around
//             what is down when the message sets out (live_routes.h); where there is no way, the
//             message waits at its sender until there is one
//   slow      both interfaces are taken for as long as the slowest link of the path takes, so a
//             link at 1/f of the interfaces' rate lets a sender through at 1/f of it. Several
//             senders over one slow link do not wait for each other: packet fidelity says that
//   in flight what has set out arrives, whatever happens behind it
//
// Thread safety: read-only after construction.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/ids.h"
#include "core/time.h"
#include "model/network/faults/live_routes.h"
#include "model/network/latency_jitter.h"

namespace exawarp::model {

// How a message would go if nothing were wrong.
struct UsualTransfer {
  core::Time ready;    // when the sending interface is free, not before now
  core::Time wire;     // its time on the interfaces; 0: it takes none
  core::Time latency;  // of the path and of both ends
};

struct Travel {
  core::Time start;  // when it leaves: its first byte
  core::Time wire;
  core::Time latency;
};

class MessageFaults {
 public:
  // Throws core::InputError where a fault names what is not there. The topology is that of the
  // cluster's fabric.
  MessageFaults(std::unique_ptr<Topology> topology, const std::vector<LinkFaultSpec>& faults,
                 const LatencyJitterSpec& jitter, std::uint64_t seed);

  // Nothing: there is no way, and never will be.
  [[nodiscard]] std::optional<Travel> travel(core::DeviceId from, core::DeviceId to,
                                             const UsualTransfer& usual) const;
  // A device that has no way to `to`, from `at` on; none: all have. For saying why a run is stuck.
  [[nodiscard]] std::optional<core::DeviceId> cut_off_from(core::DeviceId to, core::Time at) const;

 private:
  struct Path {
    core::Time latency;  // links and what is between them
    core::Time wire;     // of the slowest link
  };
  [[nodiscard]] Path follow(core::DeviceId from, core::DeviceId to, const UsualTransfer& usual,
                            core::Time start) const;
  struct Sent {
    core::Time start, wire;
    std::int64_t rate;      // bytes/s that `wire` was computed with
    bool around = false;    // over any links that are left
    Way way = Way::begins;
  };
  [[nodiscard]] std::int64_t interface_rate(core::DeviceId from, core::DeviceId to) const;
  void leg(VertexId at, VertexId to, Sent sent, Path& path) const;

  std::unique_ptr<Topology> topology_;
  LinkFaults faults_;
  LiveRoutes routes_;
  LatencyJitter jitter_;
};

}  // namespace exawarp::model
