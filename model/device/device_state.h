// What a device remembers: one block of words, hot first, as long as the largest program needs.
//
//   48 bytes  clocks, masks     with the engine's 16-byte header: one cache line
//   32 each   channels          progress of the collective of a (stream, group) pair
//   16 each   streams           cursor and who waits for it
//   96 bytes  account           where its time went; messages that came before their receive
//   32 bytes  stepped           lanes in progress, where collectives other than plain rings run
//    8 bytes  further           where there are several interfaces across nodes: how many
//                               clocks follow, and
//   16 each   further clocks    of those interfaces
//  168 bytes  beside            background traffic, in studies that have some (beside.h)
//   40 each   further shares    the same of further interfaces, at message fidelity
//
// and at packet fidelity
//
//   16 bytes  packets           chunks that overtook others
//   16 each   channel packets   what a channel has handed to the network
//             the endpoint      model/network/packet/endpoint_state.h, from the next cache line
//
// A chunk of a collective touches the first line and its channel, nothing else. A device of a
// Llama step (3 channels, 8 streams) takes 368 bytes, six lines with its header.
// Everything is in the digest; nothing is a pointer but the early messages' block.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "core/ids.h"
#include "core/time.h"
#include "model/device/time_class.h"
#include "model/network/message/network.h"
#include "model/network/packet/endpoint_state.h"
#include "pdes/undo_vector.h"

namespace exawarp::model {

struct DeviceState {
  std::array<core::Time, kInterfaceCount> tx_free;  // when each interface's send side is free
  std::array<core::Time, kInterfaceCount> rx_free;
  std::uint32_t busy = 0;  // bit s: the node at stream s's cursor is in progress
  std::uint32_t program = 0;
  std::uint8_t stream_slots = 0;
  std::uint8_t channel_slots = 0;
  std::uint8_t unfinished = 0;  // streams with nodes left
  TimeClass time_class = TimeClass::waiting;  // since DeviceAccount::since
  bool stepped : 1 = false;     // whether the block has a SteppedState
  bool packets : 1 = false;     // whether it has a PacketsState and what follows that
  bool beside : 1 = false;      // whether it has a BesideState (beside.h)
  bool further : 1 = false;     // whether it has FurtherClocks
  std::uint8_t unused : 4 = 0;
  // Its rank in its job, low byte first; 0 where that is its id (no RankMap). Kept because the way
  // from a device to its rank is a permutation's inverse, several times the cost of a message.
  std::array<std::uint8_t, 3> rank{};

  void set_rank(core::DeviceId r) {
    for (std::size_t b = 0; b < rank.size(); ++b) {
      rank[b] = static_cast<std::uint8_t>(r.value >> (8 * b));
    }
  }
  [[nodiscard]] core::DeviceId get_rank() const {
    return {rank[0] | std::uint32_t{rank[1]} << 8 | std::uint32_t{rank[2]} << 16};
  }
};
static_assert(sizeof(DeviceState) == 48);

// A stepped channel (stepped.h) counts in `arrived` the lanes that are not over, has 1 in `steps`
// while a collective is in progress, and in `wire` when its own last send has left.
struct ChannelState {
  std::uint32_t next_and_tier = 0;  // successor in the ring (24 bits), how far it is (8 bits)
  std::uint32_t ordinal = 0;        // collectives of this channel that are over
  std::uint32_t arrived = 0;        // chunks of collective `ordinal`; may come before it starts
  std::uint32_t steps = 0;          // of the collective in progress; 0: none is
  core::Time wire;                  // of one of its chunks; once the last is sent: when it has left
  core::Time last_entry;            // when the last member came to it, as far as known here

  static constexpr std::uint32_t kIdBits = 24;  // kDevicesMax of validate.h
  [[nodiscard]] core::LpId next() const { return {next_and_tier & ((1u << kIdBits) - 1)}; }
  // How far the successor is; none where that is too large a number to be kept here.
  [[nodiscard]] std::optional<Tier> tier() const {
    const std::uint32_t kept = next_and_tier >> kIdBits;
    return kept == kFar ? std::nullopt : std::optional(static_cast<Tier>(kept));
  }
  [[nodiscard]] static std::uint32_t pack(core::DeviceId next, Tier tier) {
    return next.value | std::min(static_cast<std::uint32_t>(tier), kFar) << kIdBits;
  }

 private:
  static constexpr std::uint32_t kFar = 0xff;
};
static_assert(sizeof(ChannelState) == 32);

struct StreamState {
  std::uint32_t cursor = 0;   // nodes that are over; the next one's position
  std::uint32_t waiters = 0;  // bit t: the head of stream t waits for a node of this stream
  std::uint32_t awaited = 0;  // that node's position, while this stream's own head waits
  TimeClass time_class = TimeClass::idle;  // of the node in progress; waiting: a receive
  std::array<std::uint8_t, 3> unused{};
};
static_assert(sizeof(StreamState) == 16);

// A point-to-point message, or the request for one, that no receive has asked for yet.
struct EarlyMessage {
  std::uint32_t source;
  std::uint32_t tag;
  std::uint32_t request;  // 1 + the sender's stream; 0: the message itself
};

struct DeviceAccount {
  core::Time since;        // everything before is in `spent`
  core::Time finish{-1};   // when the last node was over; negative: not yet
  std::array<core::Time, kTimeClassCount - 1> spent;  // by TimeClass, but idle
  pdes::UndoVector<EarlyMessage> early;               // in order of arrival
};
static_assert(sizeof(DeviceAccount) == 96);

// A lane of a stepped collective in progress; the lanes of one lie together, in order.
struct SteppedLane {
  std::uint32_t channel;  // index into ProgramTable::channels
  std::uint32_t lane;
  std::uint32_t phase;
  std::uint32_t arrived;  // messages of that phase
};

// Messages of a phase that their receiver has not come to.
struct EarlySteps {
  std::int64_t entry_ps;  // the latest that they know of, see Chunk
  std::uint32_t ordinal;
  std::uint32_t phase;
  std::uint32_t count;
  std::uint16_t channel;  // Channel::number
  std::uint16_t lane;
};

struct SteppedState {
  pdes::UndoVector<SteppedLane> lanes;
  pdes::UndoVector<EarlySteps> early;
};

// Of further interfaces out of the node, where there are any: this head, then `count` times of
// tx_free, then as many of rx_free.
struct FurtherClocks {
  std::uint64_t count = 0;

  [[nodiscard]] static std::uint32_t bytes(std::uint32_t count) {
    return static_cast<std::uint32_t>(sizeof(FurtherClocks) + 2 * count * sizeof(core::Time));
  }
};
// Interfaces that all lead everywhere have so many clocks, used or not.
constexpr std::uint32_t kRailClocks = kRailsMax - 1;

struct PacketsState {
  pdes::UndoVector<EarlySteps> overtaken;  // chunks of rings that came before their predecessors
};
static_assert(sizeof(PacketsState) == 16);

// Messages of a channel's collective in progress that were handed to the endpoint.
struct ChannelPackets {
  core::Time left_at;         // when the last of those that have left had left
  std::uint32_t leaving = 0;  // those of which no more is known
  std::uint32_t unused = 0;
};
static_assert(sizeof(ChannelPackets) == 16);

constexpr std::size_t kBesideBytes = 168;      // of a BesideState
constexpr std::size_t kShareBytes = 40;        // and of a further interface's ReceiveShare

struct DeviceSlots {
  std::uint8_t streams = 0;
  std::uint8_t channels = 0;
  bool stepped = false;
  bool packets = false;
  bool beside = false;
  std::uint32_t further = 0;         // interfaces with FurtherClocks
  std::uint32_t endpoint_bytes = 0;  // of the EndpointState, with its parts

  [[nodiscard]] std::uint32_t state_bytes() const {
    return packets ? endpoint_offset() + endpoint_bytes : own_bytes();
  }
  [[nodiscard]] std::uint32_t own_bytes() const {
    return static_cast<std::uint32_t>(
        sizeof(DeviceState) + channels * sizeof(ChannelState) + streams * sizeof(StreamState) +
        sizeof(DeviceAccount) + (stepped ? sizeof(SteppedState) : 0) +
        (beside ? kBesideBytes : 0) + (further != 0 ? FurtherClocks::bytes(further) : 0) +
        further_shares() * kShareBytes);
  }
  // Where packets carry what goes across nodes, they say what a receiver's line is taken by.
  [[nodiscard]] std::uint32_t further_shares() const { return beside && !packets ? further : 0; }
  // A multiple of 64, so that the endpoint's ports start at cache lines.
  [[nodiscard]] std::uint32_t endpoint_offset() const {
    const auto all = static_cast<std::uint32_t>(own_bytes() + sizeof(PacketsState) +
                                                channels * sizeof(ChannelPackets));
    return (all + 63) / 64 * 64;
  }
};

// The parts of a device's block. Requires the slots to be set.
template <class State>  // DeviceState or const DeviceState
struct DeviceParts {
  template <class T>
  using Like = std::conditional_t<std::is_const_v<State>, const T, T>;

  explicit DeviceParts(State& s) : state(s) {
    auto* at = reinterpret_cast<Like<std::byte>*>(&s) + sizeof(DeviceState);
    channels = reinterpret_cast<Like<ChannelState>*>(at);
    at += s.channel_slots * sizeof(ChannelState);
    streams = reinterpret_cast<Like<StreamState>*>(at);
    at += s.stream_slots * sizeof(StreamState);
    account = reinterpret_cast<Like<DeviceAccount>*>(at);
    at += sizeof(DeviceAccount);
    stepped = s.stepped ? reinterpret_cast<Like<SteppedState>*>(at) : nullptr;
    if (s.stepped) at += sizeof(SteppedState);
    further = s.further ? reinterpret_cast<Like<FurtherClocks>*>(at) : nullptr;
    if (!s.packets) return;
    const DeviceSlots slots{.streams = s.stream_slots,
                            .channels = s.channel_slots,
                            .stepped = s.stepped,
                            .packets = true,
                            .beside = s.beside,
                            .further = s.further ? kRailClocks : 0};
    at = reinterpret_cast<Like<std::byte>*>(&s) + slots.own_bytes();
    packets = reinterpret_cast<Like<PacketsState>*>(at);
    channel_packets = reinterpret_cast<Like<ChannelPackets>*>(packets + 1);
    endpoint = reinterpret_cast<Like<EndpointState>*>(reinterpret_cast<Like<std::byte>*>(&s) +
                                                      slots.endpoint_offset());
  }

  // Of further interfaces: the send sides, then the receive sides.
  [[nodiscard]] Like<core::Time>* further_clocks() const {
    return reinterpret_cast<Like<core::Time>*>(further + 1);
  }
  [[nodiscard]] std::uint32_t further_count() const {
    return further == nullptr ? 0 : static_cast<std::uint32_t>(further->count);
  }
  // When an interface's send or receive side is free.
  [[nodiscard]] Like<core::Time>& tx_free(Interface interface) const {
    const auto i = static_cast<std::size_t>(interface);
    return i < kInterfaceCount ? state.tx_free[i] : further_clocks()[i - kInterfaceCount];
  }
  [[nodiscard]] Like<core::Time>& rx_free(Interface interface) const {
    const auto i = static_cast<std::size_t>(interface);
    return i < kInterfaceCount ? state.rx_free[i]
                               : further_clocks()[further->count + i - kInterfaceCount];
  }

  State& state;
  Like<ChannelState>* channels;
  Like<StreamState>* streams;
  Like<DeviceAccount>* account;
  Like<SteppedState>* stepped;  // null: the device has none
  Like<FurtherClocks>* further;  // the same
  // Null but at packet fidelity.
  Like<PacketsState>* packets = nullptr;
  Like<ChannelPackets>* channel_packets = nullptr;
  Like<EndpointState>* endpoint = nullptr;
};

}  // namespace exawarp::model
