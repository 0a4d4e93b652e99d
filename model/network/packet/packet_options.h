// The settings of packet fidelity; docs/reference/packet_network.md explains each and names its
// source.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/names.h"
#include "core/time.h"
#include "model/network/faults/link_faults.h"
#include "model/network/latency_jitter.h"
#include "model/network/packet/parameters.h"

namespace exawarp::model {

enum class FlowControl : std::uint8_t {
  none,    // output queues: unbounded, or dropping at the tail
  credit,  // per virtual channel; a packet leaves when the next buffer has room for it
  pfc,     // pause per ingress port and virtual channel (IEEE 802.1Qbb)
};

inline constexpr core::Named<FlowControl> kFlowControlNames[] = {
    {"none", FlowControl::none}, {"credit", FlowControl::credit}, {"pfc", FlowControl::pfc}};
constexpr std::span<const core::Named<FlowControl>> names_of(FlowControl) {
  return kFlowControlNames;
}
static_assert(core::names_each(kFlowControlNames));

enum class Recovery : std::uint8_t { none, go_back_n, selective_repeat };

inline constexpr core::Named<Recovery> kRecoveryNames[] = {
    {"none", Recovery::none},
    {"go_back_n", Recovery::go_back_n},
    {"selective_repeat", Recovery::selective_repeat}};
constexpr std::span<const core::Named<Recovery>> names_of(Recovery) { return kRecoveryNames; }
static_assert(core::names_each(kRecoveryNames));

// Marking at an egress queue, of packets that are given to the line: never below kmin, with a
// probability that rises to pmax at kmax, and always above.
struct EcnOptions {
  std::int64_t kmin_bytes = 0;  // with kmax 0: no marking
  std::int64_t kmax_bytes = 0;
  std::uint32_t pmax_per_mille = 1000;
};

struct Routing {
  std::string policy = "deterministic";  // of routing/
  std::uint64_t seed = 1;                // of hashes and draws
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
  std::string transport = "plain";   // congestion control: of congestion/
  Recovery recovery = Recovery::none;
  std::uint32_t ack_every = 4;       // data packets an acknowledgement, in order
  core::Time retransmit_timeout{100'000'000};
  Routing routing;                   // its seed is that of marks, too
  GivenParameters parameters;        // of congestion controls and routing policies
  std::vector<LinkFaultSpec> link_faults{};
  LatencyJitterSpec latency_jitter{};  // of each packet, where it sets out
  core::Time overhead_max{};           // of any message's software (OutgoingMessage::overhead)
  // Messages of one connection (MessageBody::connection) by one queue pair follow each other, as on
  // a reliable connection; else each takes its turn, packet by packet.
  bool in_order = true;
  bool trains = true;                // packets that follow evenly are one event (train_forwarder.h)
  // Stretches in which all rates that depend on each other have settled, to within so many
  // millionths, are skipped (steady/steady_watch.h); 0: none are.
  std::uint32_t skip_error_per_million = 0;
  bool count_ports = false;          // says what ports do over time (port_counters.h)
  bool trace_messages = false;       // says when each message was sent and came (message_trace.h)

  // Whether queues take all that comes and nothing answers to what they hold, but for congestion
  // control.
  [[nodiscard]] bool queues_without_answer() const {
    return flow_control == FlowControl::none && buffer_bytes == 0 && recovery == Recovery::none &&
           ecn.kmax_bytes == 0;
  }
  // Whether a message is of fewer than kPacketsMax packets.
  [[nodiscard]] bool can_carry(std::int64_t message_bytes) const {
    return message_bytes / packet_bytes < kPacketsMax;
  }
};

}  // namespace exawarp::model
