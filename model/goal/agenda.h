// What a host has to do and when: its operations that may start, and the messages that arrived.
//
// A binary heap by (due time, order), in an undoable vector: a push or pop changes O(log n)
// entries of 40 bytes. What is due and finds its CPU or NIC busy goes back with the time they
// come free, and keeps its order.
#pragma once

#include <compare>
#include <cstdint>

#include "pdes/undo_vector.h"

namespace exawarp::model::goal {

// What is due at one time at one host is done in this order. LogGOPSim takes the one that was
// created first in its whole simulation, by a global counter; a parallel run has none, so here
// stands what that counter follows from: when it was created, when that which created it was
// created, and then by whom, and the how-manieth of its creations.
struct CreationOrder {
  std::int64_t created = 0;          // units; -1: free from the start
  std::int64_t creator_created = 0;
  std::uint32_t host = 0;
  std::uint32_t sequence = 0;
  friend constexpr auto operator<=>(const CreationOrder&, const CreationOrder&) = default;
};

struct AgendaItem {
  std::int64_t due = 0;  // units
  CreationOrder order;
  std::uint32_t op = 0;       // of this host; of order.host where this is a message
  std::uint32_t ordinal = 0;  // 0: a message; else an operation, counted from 1 among those that
                              // one rendezvous released
  friend constexpr auto operator<=>(const AgendaItem& a, const AgendaItem& b) {
    if (const auto by_due = a.due <=> b.due; by_due != 0) return by_due;
    if (const auto by_order = a.order <=> b.order; by_order != 0) return by_order;
    return a.ordinal <=> b.ordinal;
  }
  friend constexpr bool operator==(const AgendaItem&, const AgendaItem&) = default;
  [[nodiscard]] bool is_message() const { return ordinal == 0; }
};
static_assert(sizeof(AgendaItem) == 40);

class Agenda {
 public:
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] std::uint32_t size() const { return heap_.size(); }
  // Requires !empty().
  [[nodiscard]] const AgendaItem& first() const { return heap_[0]; }

  void push(pdes::Context& ctx, const AgendaItem& item) {
    std::uint32_t at = heap_.size();
    heap_.push_back(ctx, item);
    while (at != 0) {
      const std::uint32_t parent = (at - 1) / 2;
      if (!(item < heap_[parent])) break;
      heap_.assign(ctx, at, heap_[parent]);
      at = parent;
    }
    if (at + 1 != heap_.size()) heap_.assign(ctx, at, item);
  }

  // Requires !empty().
  void pop(pdes::Context& ctx) {
    const AgendaItem last = heap_[heap_.size() - 1];
    heap_.erase(ctx, heap_.size() - 1);
    if (!heap_.empty()) sink(ctx, last);
  }

  // first() is due later. Requires !empty() and due >= first().due.
  void postpone(pdes::Context& ctx, std::int64_t due) {
    AgendaItem item = heap_[0];
    item.due = due;
    sink(ctx, item);
  }

 private:
  // Puts `item` where it belongs, from the top, in place of what is there.
  void sink(pdes::Context& ctx, const AgendaItem& item) {
    std::uint32_t at = 0;
    for (;;) {
      std::uint32_t child = 2 * at + 1;
      if (child >= heap_.size()) break;
      if (child + 1 < heap_.size() && heap_[child + 1] < heap_[child]) ++child;
      if (!(heap_[child] < item)) break;
      heap_.assign(ctx, at, heap_[child]);
      at = child;
    }
    heap_.assign(ctx, at, item);
  }

  pdes::UndoVector<AgendaItem> heap_;
};

}  // namespace exawarp::model::goal
