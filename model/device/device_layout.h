// What lies where in a device's block: the one list of its parts, from which their addresses, the
// block's size, its start state and its description follow.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/check.h"
#include "model/block_parts.h"
#include "model/device/background_state.h"
#include "model/device/device_state.h"

namespace exawarp::model {

// What a device's block has behind its DeviceState.
struct DeviceSlots {
  std::uint8_t stream_slots = 0;
  std::uint8_t channel_slots = 0;
  bool stepped = false;
  bool packets = false;  // or flows: messages that are handed over
  bool flows = false;
  bool background = false;
  bool passes = false;
  bool served = false;
  bool shares = false;  // its interfaces, at analytical fidelity
  bool lines = false;   // at others
  std::uint32_t further = 0;         // interfaces with FurtherClocks
  std::uint32_t endpoint_bytes = 0;  // of the EndpointState, with its parts

  [[nodiscard]] std::uint32_t state_bytes() const;
};

// Parts that handlers of any fidelity go to, in their order.
template <class State>  // DeviceState or const DeviceState
struct NearParts {
  Like<State, InterfaceLine>* lines;  // by interface, where they have clocks
  Like<State, ChannelState>* channels;
  Like<State, StreamState>* streams;
  Like<State, DeviceAccount>* account;
  Like<State, SteppedState>* stepped;   // null: the device has none
  Like<State, PassAccount>* passes;     // the same
  Like<State, ServedState>* served;     // the same
  Like<State, SharingState>* sharing;   // the same
  Like<State, SharedFlow>* flows;       // by stream, where there is a SharingState
  Like<State, FurtherClocks>* further;  // null: the device has none

  // What there is, says a DeviceSlots or, in every event, the state itself.
  template <class Has, class Visitor>
  void visit(const Has& has, Visitor&& visitor) {
    visitor.array(lines, has.lines ? kInterfaceCount : 0);
    visitor.array(channels, has.channel_slots);
    visitor.array(streams, has.stream_slots);
    visitor.array(account, 1);
    visitor.one_if(stepped, has.stepped);
    visitor.one_if(passes, has.passes);
    visitor.one_if(served, has.served);
    visitor.one_if(sharing, has.shares);
    visitor.array(flows, has.shares ? has.stream_slots : 0);
    visitor.one_if(further, has.further != 0);
  }
};

// What follows them: of background traffic, and at packet and flow fidelity.
template <class State>
struct FarParts {
  Like<State, core::Time>* clocks = nullptr;  // of further interfaces: sending, then receiving
  Like<State, InterfaceLine>* lines = nullptr;  // the same
  Like<State, BackgroundState>* background = nullptr;
  Like<State, ReceiveShare>* shares = nullptr;  // of further interfaces
  Like<State, PacketsState>* packets = nullptr;
  Like<State, ChannelPackets>* channel_packets = nullptr;
  Like<State, EndpointState>* endpoint = nullptr;

  template <class Visitor>
  void visit(const DeviceSlots& has, Visitor&& visitor) {
    visitor.array(clocks, 2 * std::size_t{has.further});
    visitor.array(lines, has.lines ? has.further : 0);
    visitor.one_if(background, has.background);
    // Where packets carry what goes across nodes, they say what a receiver's line is taken by.
    visitor.array(shares, has.background && !has.packets ? has.further : 0);
    if (!has.packets) return;
    visitor.one_if(packets, true);
    visitor.array(channel_packets, has.channel_slots);
    if (has.flows) return;
    visitor.next_line();  // the endpoint's ports start at cache lines
    visitor.block(endpoint, has.endpoint_bytes);
  }
};

inline std::uint32_t DeviceSlots::state_bytes() const {
  PartFinder finder(static_cast<const DeviceState*>(nullptr));
  NearParts<DeviceState>{}.visit(*this, finder);
  FarParts<DeviceState>{}.visit(*this, finder);
  return static_cast<std::uint32_t>(finder.bytes());
}

// What a device has, as far as its state says: `further` is 0 or kRailClocks, and the size of the
// endpoint is not known.
inline DeviceSlots slots_of(const DeviceState& s) {
  return {.stream_slots = s.stream_slots,
          .channel_slots = s.channel_slots,
          .stepped = s.stepped,
          .packets = s.packets,
          .flows = s.flows,
          .background = s.background,
          .passes = s.passes,
          .served = s.served,
          .shares = s.shares,
          .lines = s.lines,
          .further = s.further ? kRailClocks : 0};
}

// The parts of a device's block. Requires the slots to be set.
template <class State>
struct DeviceParts : NearParts<State> {
  explicit DeviceParts(State& s) : state(s) {
    PartFinder finder(&s);
    this->visit(s, finder);
    if (!s.packets) return;
    FarParts<State> far;  // where there are packets, further interfaces are rails
    far.visit(slots_of(s), finder);
    packets = far.packets;
    channel_packets = far.channel_packets;
    endpoint = far.endpoint;
  }

  // Of further interfaces: the send sides, then the receive sides.
  [[nodiscard]] Like<State, core::Time>* further_clocks() const {
    return reinterpret_cast<Like<State, core::Time>*>(this->further + 1);
  }
  [[nodiscard]] std::uint32_t further_count() const {
    return this->further == nullptr ? 0 : static_cast<std::uint32_t>(this->further->count);
  }
  // When an interface's send or receive side is free.
  [[nodiscard]] Like<State, core::Time>& tx_free(Interface interface) const {
    const auto i = static_cast<std::size_t>(interface);
    return i < kInterfaceCount ? state.tx_free[i] : further_clocks()[i - kInterfaceCount];
  }
  [[nodiscard]] Like<State, core::Time>& rx_free(Interface interface) const {
    const auto i = static_cast<std::size_t>(interface);
    return i < kInterfaceCount ? state.rx_free[i]
                               : further_clocks()[further_count() + further_index(i)];
  }

  // Requires that there are lines.
  [[nodiscard]] Like<State, InterfaceLine>& line(Interface interface) const {
    const auto i = static_cast<std::size_t>(interface);
    return i < kInterfaceCount ? this->lines[i] : further_lines()[further_index(i)];
  }
  [[nodiscard]] Like<State, InterfaceLine>* further_lines() const {
    return reinterpret_cast<Like<State, InterfaceLine>*>(further_clocks() +
                                                         2 * std::size_t{further_count()});
  }

  // Of an interface that a message brought. Requires that the device has it.
  [[nodiscard]] std::size_t further_index(std::size_t interface) const {
    EXAWARP_CHECK(interface - kInterfaceCount < further_count(), interface, further_count());
    return interface - kInterfaceCount;
  }

  State& state;
  // Null but at packet and flow fidelity.
  Like<State, PacketsState>* packets = nullptr;
  Like<State, ChannelPackets>* channel_packets = nullptr;
  // Null but at packet fidelity.
  Like<State, EndpointState>* endpoint = nullptr;
};

// All parts of a block; for what is not in a handler's way. Requires them to be set or made.
template <class State>
FarParts<State> far_parts_of(State& state) {
  NearParts<State> near;
  FarParts<State> far;
  PartFinder finder(&state);
  DeviceSlots slots = slots_of(state);
  near.visit(slots, finder);
  if (near.further != nullptr) slots.further = static_cast<std::uint32_t>(near.further->count);
  far.visit(slots, finder);
  return far;
}

}  // namespace exawarp::model
