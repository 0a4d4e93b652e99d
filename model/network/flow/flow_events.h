// What devices and the region of a fabric tell each other at flow fidelity.
#pragma once

#include <cstdint>

#include "core/ids.h"
#include "model/network/flow/flow_network.h"
#include "model/network/packet/packet.h"
#include "pdes/event.h"

namespace exawarp::model {

// The numbers lie above those of all other events that a device takes.
enum class FlowEvent : pdes::EventKind {
  starts = 128,  // to the region: FlowStart
  arrives,       // to the receiver: FlowArrival
  left,          // to the sender: MessageBody
  due,           // to the region, of itself: FlowDue
  changed,       // to the region, of itself: shares are to be solved
};
constexpr pdes::EventKind kFirstFlowEvent = 128;
constexpr pdes::EventKind kind_of(FlowEvent e) { return static_cast<pdes::EventKind>(e); }

// A message that its sender, the event's source, hands over.
struct FlowStart {
  MessageBody body;
  std::uint64_t to_and_bytes = 0;

  static constexpr std::uint32_t kBytesBits = 40;  // kFlowBytesMax
  [[nodiscard]] static std::uint64_t pack(core::DeviceId to, std::int64_t bytes) {
    return std::uint64_t{to.value} << kBytesBits | static_cast<std::uint64_t>(bytes);
  }
  [[nodiscard]] core::DeviceId to() const {
    return {static_cast<std::uint32_t>(to_and_bytes >> kBytesBits)};
  }
  [[nodiscard]] std::int64_t bytes() const {
    return static_cast<std::int64_t>(to_and_bytes & ((std::uint64_t{1} << kBytesBits) - 1));
  }
};
static_assert(kFlowBytesMax < std::int64_t{1} << FlowStart::kBytesBits);

struct FlowArrival {
  MessageBody body;
  std::uint32_t from = 0;
  std::uint32_t unused = 0;
};

struct FlowDue {
  std::uint32_t flow;
  std::uint32_t unused;
};

static_assert(sizeof(FlowStart) == pdes::kPayloadBytes);
static_assert(sizeof(FlowArrival) == pdes::kPayloadBytes);

}  // namespace exawarp::model
