// The settings of packet fidelity; docs/reference/packet_network.md explains each and names its
// source.
#pragma once

#include <cstdint>

#include <vector>

#include "core/time.h"
#include "model/network/faults/link_faults.h"
#include "model/network/latency_jitter.h"
#include "model/network/packet/routing.h"

namespace exawarp::model {

enum class FlowControl : std::uint8_t {
  none,    // output queues: unbounded, or dropping at the tail
  credit,  // per virtual channel; a packet leaves when the next buffer has room for it
  pfc,     // pause per ingress port and virtual channel (IEEE 802.1Qbb)
};

enum class Transport : std::uint8_t {
  plain,   // sends at the line's rate
  dcqcn,   // rate per message by congestion notifications
  window,  // window per message by delay, as Swift
};

enum class Recovery : std::uint8_t { none, go_back_n, selective_repeat };

// Marking at an egress queue, of packets that are given to the line: never below kmin, with a
// probability that rises to pmax at kmax, and always above.
struct EcnOptions {
  std::int64_t kmin_bytes = 0;  // with kmax 0: no marking
  std::int64_t kmax_bytes = 0;
  std::uint32_t pmax_per_mille = 1000;
};

struct DcqcnOptions {
  core::Time cnp_interval{50'000'000};
  core::Time alpha_period{55'000'000};
  core::Time increase_period{55'000'000};
  std::int64_t increase_bytes = 10'000'000;
  std::uint32_t gain_shift = 8;       // g = 2^-gain_shift
  std::uint32_t fast_recovery_steps = 5;
  std::int64_t additive_bytes_per_s = 5'000'000;
  std::int64_t hyper_bytes_per_s = 50'000'000;
  std::int64_t least_bytes_per_s = 1'000'000;
};

struct WindowOptions {
  core::Time target_delay{0};            // round trip; 0: unloaded round trip + queueing below
  core::Time queueing_delay{10'000'000};
  core::Time flow_scaling{40'000'000};   // more for small windows, all of it at 0.1 packets
  std::uint32_t initial_packets = 0;     // 0: what the unloaded round trip holds
  std::uint32_t additive_packets = 1;    // per round trip
  std::uint32_t beta_per_mille = 800;    // decrease for each share of the delay above target
  std::uint32_t most_decrease_per_mille = 500;
};

constexpr std::int64_t kPacketsMax = std::int64_t{1} << 31;  // of a message: exclusive

struct PacketOptions {
  std::int64_t packet_bytes = 4096;  // payload of a full packet: the MTU, or a chunk
  std::int64_t header_bytes = 0;     // added to each packet on the wire
  std::int64_t control_bytes = 64;   // acknowledgements, notifications, pause frames
  bool cut_through = true;           // switches forward from the head; else from the tail
  FlowControl flow_control = FlowControl::none;
  std::int64_t buffer_bytes = 0;     // none: of an egress queue, 0: unbounded; credit: of an input
                                     // buffer, per channel
  std::int64_t xoff_bytes = 128 << 10;  // pfc: per ingress port and channel
  std::int64_t xon_bytes = 96 << 10;
  std::uint32_t commit_packets = 0;  // how far ahead a line is given packets; 0: 2 with pfc, else 8
  EcnOptions ecn;
  Transport transport = Transport::plain;
  Recovery recovery = Recovery::none;
  std::uint32_t ack_every = 4;       // data packets an acknowledgement, in order
  core::Time retransmit_timeout{100'000'000};
  DcqcnOptions dcqcn;
  WindowOptions window;
  Routing routing;                   // its seed is that of marks, too
  std::uint32_t queue_pairs = 1;     // of a pair of devices: paths that ecmp may take
  std::vector<LinkFaultSpec> link_faults{};
  LatencyJitterSpec latency_jitter{};  // of each packet, where it sets out
  bool count_ports = false;          // says what ports do over time (port_counters.h)

  // Whether a message is of fewer than kPacketsMax packets.
  [[nodiscard]] bool can_carry(std::int64_t message_bytes) const {
    return message_bytes / packet_bytes < kPacketsMax;
  }
};

}  // namespace exawarp::model
