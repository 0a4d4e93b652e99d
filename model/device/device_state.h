// What a device remembers: one block of words, hot first, as long as the largest program needs.
// Here stand its parts; device_layout.h says which of them a block has, and in which order.
//
// The head, of 48 bytes, shares a cache line with the engine's 16-byte header. A chunk of a
// collective touches that line, its channel and an InterfaceLine, nothing else. A device of a Llama
// step (3 channels, 8 streams) takes 496 bytes, eight lines with its header.
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
#include "model/network/message/line.h"
#include "model/network/message/message.h"
#include "model/network/message/network.h"
#include "model/network/packet/endpoint_state.h"
#include "pdes/undo_ring.h"
#include "pdes/undo_vector.h"

namespace exawarp::model {

struct DeviceState {
  std::array<core::Time, kInterfaceCount> tx_free;  // when each interface's send side is free
  std::array<core::Time, kInterfaceCount> rx_free;
  std::uint32_t busy = 0;  // bit s: the node at stream s's cursor is in progress
  std::uint32_t program = 0;
  std::uint8_t stream_slots : 6 = 0;  // kStreamsMax at most
  bool lines : 1 = false;        // whether it has an InterfaceLine for each interface
  bool shares : 1 = false;       // whether it has a SharingState and flows
  std::uint8_t channel_slots = 0;
  std::uint8_t unfinished = 0;  // streams with nodes left
  TimeClass time_class = TimeClass::waiting;  // since DeviceAccount::since
  bool stepped : 1 = false;     // whether the block has a SteppedState
  bool packets : 1 = false;     // whether it has a PacketsState and what follows that
  bool background : 1 = false;      // whether it has a BackgroundState (background_traffic.h)
  bool further : 1 = false;     // whether it has FurtherClocks
  bool passes : 1 = false;      // whether it has a PassAccount
  bool flows : 1 = false;       // whether what follows PacketsState lacks an endpoint
  bool served : 1 = false;      // whether it has a ServedState
  bool serves : 1 = false;      // whether its tasks come from a scheduler (served_program.h)
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

// Of an interface whose clocks say when messages have left and are received.
struct InterfaceLine {
  SendLine sends;
  ReceiveLine receives;
};
static_assert(sizeof(InterfaceLine) == 64);

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
  static constexpr std::uint32_t kTiersKept = 0xff;
  [[nodiscard]] core::LpId next() const { return {next_and_tier & ((1u << kIdBits) - 1)}; }
  // How far the successor is; none where that is too large a number to be kept here.
  [[nodiscard]] std::optional<Tier> tier() const {
    const std::uint32_t kept = next_and_tier >> kIdBits;
    return kept == kTiersKept ? std::nullopt : std::optional(static_cast<Tier>(kept));
  }
  [[nodiscard]] static std::uint32_t pack(core::DeviceId next, Tier tier) {
    return next.value | std::min(static_cast<std::uint32_t>(tier), kTiersKept) << kIdBits;
  }
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

// What a device's time went to, waits for others and for messages of the pipeline left out, by the
// pass that it was in: a schema::Phase, which marks of the program change.
constexpr std::size_t kPassCount = 8;
struct PassAccount {
  core::Time begun;                          // so much of it was over when the pass began
  std::array<core::Time, kPassCount> spent;  // in passes that are over
  std::uint64_t pass = 0;
};
static_assert(sizeof(PassAccount) == 80);

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

// Of a device that serves (served_program.h). Positions are those of its streams, which count on
// over all iterations and transfers.
struct KeysToSend {
  std::uint32_t to;  // a device
  std::uint32_t request;
  std::int64_t bytes;
  std::uint32_t tokens;  // of a message of some layers; 0: of all
  std::uint32_t unused;
};
// Of which layers are sent as they are computed.
struct KeysByLayer {
  KeysDue due;
  std::uint32_t sent;  // messages of this device's plan (serving::KvPlan)
  std::uint32_t unused;
};
struct ServedState {
  pdes::UndoRing<IterationBegins> told;  // that have not begun
  pdes::UndoRing<KeysToSend> transfers;  // from position `sent` on
  pdes::UndoVector<KeysByLayer> by_layer;
  IterationBegins now{};  // at positions begin to end, exclusive
  std::uint32_t begin = 0, end = 0;
  std::uint32_t sent = 0, transfers_end = 0;
};

// Of a device that shares its interfaces at analytical fidelity (shared_interfaces.h). What sends:
// a collective or message, by stream.
struct SharingState {
  core::Time until;         // what flows have left is of that time
  std::uint32_t flows = 0;  // bit s: stream s has one
  std::uint32_t unused = 0;
};
// In millionths of what each interface carries.
struct InterfaceUse {
  std::array<std::uint32_t, kInterfaceCount> ppm{};
};
struct SharedFlow {
  core::Time left;  // with the interfaces to itself
  InterfaceUse use;
};
static_assert(sizeof(SharedFlow) == 16);

// Of further interfaces out of the node, where there are any: this head, then `count` times of
// tx_free, as many of rx_free, and as many lines.
struct FurtherClocks {
  std::uint64_t count = 0;
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

}  // namespace exawarp::model
