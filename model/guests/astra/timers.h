// Things a rank does after a delay. As in ASTRA-sim, all that a rank does at one time is one event,
// at the place in the order of insertion of the first of them.
#pragma once

#include <cstdint>
#include <vector>

#include "model/guests/astra/event_queue.h"

namespace exawarp::model::astra {

struct Timer {
  enum class Kind : std::uint8_t { packet, node, custom_node, collective, memory, bus };
  Kind kind = Kind::packet;
  bool reduces = false;         // packet: it still has its reduction to do
  std::uint32_t index = 0;      // stream (packet, custom_node), node, memory, or end of a bus
  std::uint64_t argument = 0;   // packet: bytes; custom_node: node; bus: event
};

class Timers {
 public:
  Timers(std::uint32_t ranks, EventQueue& events) : of_rank_(ranks), events_(events) {}

  // Requires delay <= kEndNs.
  void start(Rank rank, Ns delay, const Timer& timer) {
    const Ns time = sum_to_end(events_.now(), delay);
    const std::uint32_t cell = new_cell(timer);
    for (Slot& slot : of_rank_[rank]) {
      if (slot.time != time) continue;
      cells_[slot.last].next = cell;
      slot.last = cell;
      return;
    }
    of_rank_[rank].push_back({time, cell, cell});
    events_.push(time, {Event::Kind::tick, rank});
  }

  // Runs `handle(timer)` for each that is due, those started meanwhile for now included.
  template <class Handle>
  void run(Rank rank, const Handle& handle) {
    const Ns now = events_.now();
    for (std::uint32_t cell = slot_at(rank, now).first; cell != kNone;) {
      const Timer timer = cells_[cell].timer;
      handle(timer);
      const std::uint32_t done = cell;
      cell = cells_[cell].next;  // only now: the handler may have appended one
      free_.push_back(done);
    }
    std::vector<Slot>& slots = of_rank_[rank];
    slots.erase(slots.begin() + (&slot_at(rank, now) - slots.data()));
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  struct Cell {
    Timer timer;
    std::uint32_t next = kNone;
  };
  struct Slot {
    Ns time;
    std::uint32_t first, last;  // cells
  };
  std::uint32_t new_cell(const Timer& timer) {
    if (free_.empty()) {
      cells_.push_back({timer});
      return static_cast<std::uint32_t>(cells_.size() - 1);
    }
    const std::uint32_t cell = free_.back();
    free_.pop_back();
    cells_[cell] = {timer};
    return cell;
  }
  Slot& slot_at(Rank rank, Ns time) {
    for (Slot& slot : of_rank_[rank]) {
      if (slot.time == time) return slot;
    }
    EXAWARP_CHECK(false, rank, time);
    return of_rank_[rank].front();
  }
  std::vector<std::vector<Slot>> of_rank_;  // few for a rank, in order of insertion
  std::vector<Cell> cells_;
  std::vector<std::uint32_t> free_;
  EventQueue& events_;
};

}  // namespace exawarp::model::astra
