// What a host has to do and when: its operations that may start, and the messages that arrived.
//
// A host may have as much to do as its schedule has operations, so nothing here may cost more than
// what an event touches. Two ideas:
//   run   what one event frees for one CPU and NIC is one entry, a chain of operations: a link of
//         8 bytes for each but the first
//   lane  what waits for a CPU (a calculation), for CPU and send side (a send) or for CPU and
//         receive side (a message) waits in the order of creation, with no time of its own: it is
//         due when these are free. So a busy CPU puts off all that wait for it by its clock alone
// What is due later than that, and receives, which wait for nothing, stand in a heap by due time.
//
// Cost: an operation O(lanes in use + log of what came out of order); of undo, a few words.
#pragma once

#include <compare>
#include <cstdint>
#include <tuple>

#include "model/guests/goal/schedule.h"
#include "pdes/undo_table.h"
#include "pdes/undo_vector.h"

namespace exawarp::model::goal {

// Of an operation among those that depend on what creates them: type by type, and of a type in the
// order of the schedule.
constexpr std::uint32_t ordinal_of(OpType type, std::uint32_t position) {
  return (static_cast<std::uint32_t>(type) << 28 | position) + 1;
}

// Where something stands among all that its creator created: 0: a message, which comes first; else
// an operation, its host + 1 above its ordinal in kOrdinalBits: type, and position up to a most.
using Place = std::uint64_t;
inline constexpr unsigned kOrdinalBits = 12;
constexpr Place place_at(std::uint32_t host, std::uint32_t bits) {
  return bits == 0 ? 0 : (Place{host} + 1) << 32 | bits;
}
constexpr Place place_of(std::uint32_t host, std::uint32_t ordinal) {
  if (ordinal == 0) return 0;
  constexpr std::uint32_t most = (1u << (kOrdinalBits - 2)) - 2;
  const std::uint32_t type = (ordinal - 1) >> 28, position = (ordinal - 1) & ((1u << 28) - 1);
  return place_at(host, type << (kOrdinalBits - 2) | ((position < most ? position : most) + 1));
}

// What is due at one time at one host is done in this order. LogGOPSim takes the one that was
// created first in its whole simulation, by a global counter; a parallel run has none, so here
// stands what that counter follows from, as far as two generations back: when it was created, when
// its creator was, when the creator's creator was; of those created together, from the oldest on,
// which was first. What is equal in all of it is in the order of hosts, and of their creations.
struct CreationOrder {
  std::int64_t created = 0;  // engine ticks; -1: free from the start
  std::int64_t creator_created = 0;
  std::int64_t before_created = 0;  // the creator's creator
  Place before_place = 0;
  Place creator_place = 0;
  std::uint32_t host = 0;      // of the creator
  std::uint32_t sequence = 0;  // its count: of messages the engine's, else of what it set free
  friend constexpr auto operator<=>(const CreationOrder&, const CreationOrder&) = default;
  // Whether the creator comes before that of `other`.
  [[nodiscard]] bool creator_is_before(const CreationOrder& other) const {
    return std::tie(created, creator_created, before_created, before_place, creator_place) <
           std::tie(other.created, other.creator_created, other.before_created,
                    other.before_place, other.creator_place);
  }
};

struct Which {
  std::uint32_t op = 0;       // of this host; of order.host where this is a message
  std::uint32_t ordinal = 0;  // 0: a message; else an operation: ordinal_of()
  friend constexpr bool operator==(const Which&, const Which&) = default;
};

struct AgendaItem {
  std::int64_t due = 0;  // units
  CreationOrder order;
  Which which;
  friend constexpr auto operator<=>(const AgendaItem& a, const AgendaItem& b) {
    if (const auto by_due = a.due <=> b.due; by_due != 0) return by_due;
    if (const auto by_order = a.order <=> b.order; by_order != 0) return by_order;
    return a.which.ordinal <=> b.which.ordinal;
  }
  friend constexpr bool operator==(const AgendaItem&, const AgendaItem&) = default;
  // Of two that are due at one time.
  [[nodiscard]] bool is_before(const AgendaItem& other) const {
    if (const auto by_order = order <=> other.order; by_order != 0) return by_order < 0;
    return which.ordinal < other.which.ordinal;
  }
  [[nodiscard]] bool is_message() const { return which.ordinal == 0; }
};
static_assert(sizeof(AgendaItem) == 64);

// What an item waits for; `receive` for nothing.
struct LaneId {
  enum class Kind : std::uint8_t { calc, send, message, receive };
  Kind kind = Kind::calc;
  std::uint8_t cpu = 0;
  std::uint8_t nic = 0;
  [[nodiscard]] std::uint32_t bits() const {
    return (static_cast<std::uint32_t>(kind) << 16) | (std::uint32_t{cpu} << 8) | nic;
  }
  static LaneId of_bits(std::uint32_t bits) {
    return {static_cast<Kind>(bits >> 16), static_cast<std::uint8_t>(bits >> 8),
            static_cast<std::uint8_t>(bits)};
  }
};

class Agenda {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;
  static constexpr std::int64_t kWaitsForNothing = -1;

  // What is first, and where it stands.
  struct Turn {
    AgendaItem item;
    std::uint32_t run = kNone;  // kNone: there is nothing to do
    LaneId lane;
    bool in_lane = false;
  };

  // `followers` has an element for each operation of the host, for what follows it in its run; it
  // lives as long as this.
  void start(Which* followers) { followers_ = followers; }

  // `lane_free` is when what `lane` waits for is free; kWaitsForNothing for receives. Requires
  // item.due >= lane_free.
  void push(pdes::Context& ctx, const AgendaItem& item, LaneId lane, std::int64_t lane_free);
  // The same of an operation that comes after what was created with it, of which some may be done.
  void push_late(pdes::Context& ctx, const AgendaItem& item, LaneId lane, std::int64_t lane_free);

  // The least by (due, order); in a lane that is due when it is free, free_at(LaneId).
  template <class FreeAt>
  [[nodiscard]] Turn first(const FreeAt& free_at) const;

  // Removes the first. Requires a Turn of first() that was not followed by a change.
  void take(pdes::Context& ctx, const Turn& turn);
  // The first found its lane busy, and waits there with what is in its run. Requires !turn.in_lane.
  void wait_in_lane(pdes::Context& ctx, const Turn& turn);

  // All of it, as it lies; the digest takes the items in the order in which they stand. `ops` is
  // the number of followers.
  void describe(pdes::StateArchive& archive, std::uint32_t ops);

 private:
  struct Run {
    AgendaItem first;            // in a lane without a time: due is 0
    std::uint32_t last = 0;      // operation
    std::uint32_t lane = 0;      // LaneId::bits()
    std::uint32_t next = kNone;  // in its lane, or of the free slots
    std::uint32_t unused = 0;
  };
  using Runs = pdes::UndoVector<Run>;
  // A binary heap of runs, by their first items.
  class Heap {
   public:
    [[nodiscard]] bool empty() const { return slots_.empty(); }
    [[nodiscard]] std::uint32_t top() const { return slots_[0]; }
    void push(pdes::Context& ctx, const Runs& runs, std::uint32_t run);
    void pop(pdes::Context& ctx, const Runs& runs);
    // The first item of the run at the top comes later than it did.
    void sink(pdes::Context& ctx, const Runs& runs);
    [[nodiscard]] const pdes::UndoVector<std::uint32_t>& slots() const { return slots_; }
    void describe(pdes::StateArchive& archive) {
      slots_.describe(archive, [&](std::uint32_t& run) { archive.kept(run); });
    }

   private:
    pdes::UndoVector<std::uint32_t> slots_;
  };
  // Runs that were created one after the other as a list, others as a heap.
  struct Lane {
    std::uint64_t key = 0;  // LaneId::bits()
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
    std::uint32_t timed = kNone;  // the run made last that is due at a time of its own
    std::uint32_t unused = 0;
    Heap out_of_order;
  };

  [[nodiscard]] std::uint32_t least_of(const Lane& lane) const {
    if (lane.out_of_order.empty()) return lane.first;
    const std::uint32_t top = lane.out_of_order.top();
    if (lane.first == kNone) return top;
    return runs_[top].first < runs_[lane.first].first ? top : lane.first;
  }
  Lane& lane_of(pdes::Context& ctx, std::uint32_t bits) {
    if (Lane* const lane = lanes_.find(bits)) return *lane;
    Lane lane;
    lane.key = bits;
    return lanes_.insert(ctx, lane);
  }
  [[nodiscard]] std::uint32_t add_run(pdes::Context& ctx, const Run& run);
  void free_run(pdes::Context& ctx, std::uint32_t at);
  void append(pdes::Context& ctx, std::uint32_t at, const AgendaItem& item);
  void push_run(pdes::Context& ctx, const AgendaItem& item, Lane& lane, bool timed);
  void join(pdes::Context& ctx, Lane& lane, std::uint32_t at);
  void leave(pdes::Context& ctx, Lane& lane, std::uint32_t at);
  void digest_items(pdes::StateArchive& archive) const;
  void digest_run(pdes::StateArchive& archive, std::uint32_t at) const;

  Which* followers_ = nullptr;
  Runs runs_;
  pdes::UndoTable<Lane> lanes_;
  Heap timed_;
  std::uint32_t free_ = kNone;
  [[maybe_unused]] std::uint32_t unused_ = 0;  // no byte of a state is left unset
};

template <class FreeAt>
Agenda::Turn Agenda::first(const FreeAt& free_at) const {
  const Run* best = nullptr;
  Turn turn;
  if (!timed_.empty()) {
    turn.run = timed_.top();
    best = &runs_[turn.run];
    turn.item.due = best->first.due;
  }
  lanes_.visit([&](const Lane& lane) {
    const std::uint32_t least = least_of(lane);
    if (least == kNone) return;
    const Run& run = runs_[least];
    const std::int64_t due = free_at(LaneId::of_bits(run.lane));
    if (best != nullptr && due > turn.item.due) return;
    if (best != nullptr && due == turn.item.due && !run.first.is_before(best->first)) return;
    best = &run;
    turn.run = least;
    turn.item.due = due;
    turn.in_lane = true;
  });
  if (best == nullptr) return turn;
  turn.item.order = best->first.order;
  turn.item.which = best->first.which;
  turn.lane = LaneId::of_bits(best->lane);
  return turn;
}

}  // namespace exawarp::model::goal
