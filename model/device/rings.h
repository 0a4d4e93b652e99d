// Plain rings of a device: collectives in which every member sends to the next and receives from
// the one before, chunk by chunk.
//
// Such a collective needs no more than a count: chunk k leaves when k chunks have arrived. Chunks
// that come before the stream reaches the collective are counted all the same; when it starts,
// those that they release leave at once. A ring neighbour cannot be more than one collective of a
// channel ahead: to finish collective c it needs a chunk that starts here in c.
//
// A chunk carries the latest time at which a member that it has passed came to the collective.
// After n - 1 steps every member knows the latest of all, so the wait for stragglers, which is no
// communication, can be told from the collective itself.
//
// Cost: a chunk of a collective in progress reads three cache lines of state and writes four words
// (receive clock, what the line was busy before, count, send clock).
#pragma once

#include <algorithm>
#include <optional>

#include "model/collective/ring.h"
#include "model/device/device_frame.h"
#include "model/device/message_port.h"
#include "model/device/program_table.h"

namespace exawarp::model {

template <class Port>
class Rings {
 public:
  Rings(DeviceFrame& frame, Port& port) : frame_(frame), port_(port) {}

  // `task` is reached, a ring of one step at least: its first chunks leave. Returns whether all
  // have come, so that finish() is due.
  bool start(const Task& task, const Channel& ring, core::Time wire, std::uint32_t steps) {
    ChannelState& channel = frame_.parts.channels[task.channel];
    pdes::Context& ctx = frame_.ctx;
    ctx.set(channel.steps, steps);
    ctx.set(channel.wire, wire);
    ctx.set(channel.last_entry, ctx.now());
    const std::uint32_t released = std::min(channel.arrived, steps - 1);
    for (std::uint32_t step = 0; step <= released; ++step) send(channel, ring.number, step);
    return channel.arrived >= steps;
  }

  // A chunk has come. Returns whether it was the last one of the collective in progress, so that
  // finish() is due.
  bool take(ChannelState& channel, const Chunk& chunk) {
    pdes::Context& ctx = frame_.ctx;
    const bool in_order = chunk.ordinal == channel.ordinal && chunk.step == channel.arrived;
    ctx.check(in_order, "a chunk of a collective arrived out of order");
    if (!in_order) return false;
    const std::uint32_t arrived = channel.arrived + 1;
    if (channel.steps == 0) {  // early: counted until then
      ctx.set(channel.arrived, arrived);
      return false;
    }
    if (channel.last_entry.ps < chunk.entry_ps) {
      ctx.set(channel.last_entry, core::Time{chunk.entry_ps});
    }
    if (arrived >= channel.steps) return true;
    ctx.set(channel.arrived, arrived);
    send(channel, chunk.channel, arrived);
    return false;
  }

  // All chunks have arrived, so all have been sent. Returns when the last one has left;
  // Time::max(): the port will say, or it never does.
  core::Time finish(ChannelState& channel) {
    frame_.ctx.set(channel.steps, 0u);
    frame_.ctx.set(channel.arrived, 0u);
    frame_.ctx.set(channel.ordinal, channel.ordinal + 1);
    return port_.ring_left_at(channel, tier_of(channel));
  }

  // How far the channel's successor is.
  [[nodiscard]] Tier tier_of(const ChannelState& channel) const {
    if (const std::optional<Tier> kept = channel.tier()) [[likely]]
      return *kept;
    return frame_.model.network.tier_between(frame_.self(), {channel.next().value});
  }

 private:
  void send(ChannelState& channel, std::uint16_t number, std::uint32_t step) {
    const core::Time left =
        port_.send_chunk({{channel.next().value}, tier_of(channel), channel.wire, number}, channel,
                         Chunk{0, channel.last_entry.ps, channel.ordinal, step, number, 0, 0});
    if (left != kSaidLater && step + 1 == channel.steps) frame_.ctx.set(channel.wire, left);
  }

  DeviceFrame& frame_;
  Port& port_;
};

}  // namespace exawarp::model
