// The watch of steady flows: one logical process that knows all messages of a packet network, and
// has stretches skipped in which nothing would change (packet.fast_forward).
//
// A part is the messages that share lines with each other, directly or by others. Senders say how
// evenly their packets leave (steady_run.h). A part is settled when each of its messages has left
// evenly, to within the error asked for, since the part last changed, for
//
//   32 packets                     where each has the equal share of its sender's line, and no line
//                                  is asked for more than it carries: so nothing queues
//   the longest of 64 packets, 32 round trips and 16 periods of the congestion control's timers
//                                  elsewhere; with no line that is asked for more than it carries
//
// Then its lines stand still (frozen_port.h) until a little before the first of its messages would
// end, or until another message wants one of them, which cuts the stretch short; and each message
// has sent, by its rate, what it would have. Where messages queue, a stretch is also no longer than
// the part's drift allows: a rate that changed by d from the beginning of a run to its end is off
// by about d (1 + stretch / run) on average, which is to be no more than the error asked for; and
// no longer than 32 times what was simulated since the stretch before.
//
// One stretch of 16, and of 64 after the first 256, drawn at random, is not skipped but simulated,
// up to 4,096 packets of each message, and what was sent is compared with what would have been
// taken for sent: that is the error that a run reports (SkipTotals).
//
// Memory: 24 bytes a line of the network where the watch is, and on every rank, which may become
// its, what fair shares know of a line: 40 bytes. Shares of lines are a matter of all of them.
//
// After M. Xu et al. (Wormhole, arXiv:2602.10615), who skip steady states by parts of ports in
// ns-3. What a disturbance does to a stretch there, a jump back, is here an event: the watch has
// not told anyone how long a stretch will last, and under Time Warp it is the engine that takes
// back what was done too far ahead.
#pragma once

#include <cstdint>
#include <vector>

#include "core/time.h"
#include "model/network/flow/flow_network.h"
#include "model/network/flow/link_flows.h"
#include "model/network/packet/packet_network.h"
#include "model/network/packet/steady/steady_run.h"
#include "pdes/context.h"
#include "pdes/logical_process.h"
#include "pdes/undo_table.h"
#include "pdes/undo_vector.h"

namespace exawarp::pdes {
class Transport;
}

namespace exawarp::model {

// What a watch reads: the network, and its lines by number.
struct SteadyNetwork {
  const PacketNetwork& packets;
  FlowNetwork flows;
  // The watch's, by line, zeros between its events; nobody else's.
  mutable std::vector<std::uint64_t> skipped;

  // Requires that the network skips.
  explicit SteadyNetwork(const PacketNetwork& network);
};

constexpr std::uint64_t kNobody = ~std::uint64_t{0};

struct WatchedFlow {
  std::uint32_t source = 0, message = 0;
  std::uint32_t destination = 0;
  std::uint32_t packets = 0;      // in all, but for those that were skipped
  std::uint32_t sent = 0;         // of the latest report: it started at `at`
  std::uint32_t run_packets = 0;  // that had left evenly by then, over `run`; 0: no report yet
  core::Time at{}, run{};
  // A stretch that is simulated to be compared: from packet replay_sent at replay_at on, at the
  // rate of then.
  core::Time replay_at{-1}, replay_run{};
  std::uint32_t replay_sent = 0, replay_run_packets = 0;
  std::uint32_t replay_packets = 0;  // its length
  std::uint32_t stretch = 0;         // that its lines stand still for; 0: none
  std::uint64_t waits_for = kNobody;  // the flow of its part that had not settled
  core::Time still_since{};       // in a stretch
  core::Time not_before{};        // nothing more is skipped; grows with what was
  std::int32_t drift_per_million = 0;  // of the latest report
  // It takes its turns on its sender's line and nothing queues: stretches are of whole packets.
  std::uint32_t even = 0;
  std::int64_t owed_per_million = 0;  // of a packet, that stretches so far have left over
};

struct WatchedLink {
  core::Time changed{};       // a message came to it or left it
  std::uint32_t stretch = 0;  // for which it stands still; 0: none
  std::uint32_t unused = 0;
};

struct FlowPlace {
  std::uint64_t key = 0;  // source and message
  std::uint64_t place = 0;
};

// What was skipped, and how well. Packets are of messages, each counted once.
struct SkipTotals {
  std::uint64_t stretches = 0;
  std::uint64_t skipped_packets = 0;
  std::uint64_t skipped_hops = 0;      // through switches' ports and devices'
  std::uint64_t cut_short = 0;         // stretches that another message ended
  std::uint64_t replays = 0;           // messages of stretches that were simulated and compared
  std::uint64_t replayed_packets = 0;  // that were sent in them
  std::uint64_t missed_milli = 0;      // thousandths of packets that were sent but not expected
  std::uint64_t excess_milli = 0;      // expected but not sent

  // Of packets expected, over those sent: above 0 where skipping is too fast. 0 without replays.
  [[nodiscard]] double error() const;
  // The same without signs.
  [[nodiscard]] double mean_error() const;
  // Of whoever has the watch, known to all ranks; collective.
  void combine(pdes::Transport& transport);
};

struct SteadyWatchState {
  std::uint32_t stretches = 0;  // begun
  std::uint32_t unused = 0;
  SkipTotals totals;
  pdes::UndoTable<FlowPlace> places;
  pdes::UndoVector<WatchedFlow> flows;
  LinkFlows on_links;
  pdes::UndoVector<WatchedLink> links;
};

void start_steady_watch(const SteadyNetwork& network, void* state, pdes::Context& ctx);
void handle_steady_watch(const SteadyNetwork& network, void* state, const pdes::Event& event,
                         pdes::Context& ctx);
void describe_steady_watch(void* state, pdes::StateArchive& archive);

// Of a `Model` with a member `const SteadyNetwork& steady_network() const`.
template <class Model>
pdes::LpType steady_watch_type() {
  return {"watch", static_cast<std::uint32_t>(sizeof(SteadyWatchState)),
          [](void* state) { ::new (state) SteadyWatchState{}; },
          [](void* state, const pdes::Event& event, pdes::Context& ctx) {
            handle_steady_watch(ctx.model<Model>().steady_network(), state, event, ctx);
          },
          describe_steady_watch};
}

}  // namespace exawarp::model
