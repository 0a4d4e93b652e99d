// Events between partitions of one rank, and out to other ranks, by value.
//
// Idea: a partition writes boxes that only it writes. Their readers read them one epoch later,
// after a barrier, when nobody writes them any more (two generations alternate). So there is no
// lock and no atomic: the executor's barrier orders everything.
// Invariant: a box keeps the order of sends, so an anti-message never overtakes its event.
// Cost:      up to kPairsMax partitions every pair has its box, found by index. With more, a pair
//            gets one with its first event, so that memory grows with the pairs that talk and not
//            with the square of partitions.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pdes/event.h"

namespace exawarp::pdes {

class Mailboxes {
 public:
  // Partitions of a rank up to which every pair has a box: 8 MiB.
  static constexpr std::uint32_t kPairsMax = 256;

  // `locals`: partitions of this rank; `ranks`: in all.
  Mailboxes(std::uint32_t locals, std::uint32_t ranks);

  // A new event for a partition or a rank, to be filled in place before the next is asked for. By
  // the worker that runs partition `from`. `from` and `to` count within the rank.
  [[nodiscard]] Event& new_local(std::uint32_t from, std::uint32_t to) {
    if (locals_ > kPairsMax) [[unlikely]]
      return box_on_demand(from, to).events.emplace_back();
    return generations_[epoch_ & 1][from * locals_ + to].events.emplace_back();
  }
  [[nodiscard]] Event& new_for_rank(std::uint32_t from, std::uint32_t to_rank) {
    return outgoing_[from * ranks_ + to_rank].events.emplace_back();
  }

  // By the worker that runs partition `to`: calls visitor(event) for all that was sent to it in
  // the epoch before, and all that came from other ranks since; then empties them.
  template <class Visitor>
  void drain(std::uint32_t to, Visitor&& visitor) {
    if (locals_ > kPairsMax) {
      for (Box* box : on_demand_[(epoch_ + 1) & 1].by_receiver[to]) empty(*box, visitor);
    } else {
      for (std::uint32_t from = 0; from < locals_; ++from)
        empty(generations_[(epoch_ + 1) & 1][from * locals_ + to], visitor);
    }
    empty(incoming_[to], visitor);
  }

  // By the rank's main thread, between epochs.
  void next_epoch();
  void receive(std::uint32_t to, const Event& event) { incoming_[to].events.push_back(event); }
  // All that partitions sent to `rank`, in order of partitions. Valid until clear_outgoing().
  [[nodiscard]] std::span<const Event> outgoing(std::uint32_t rank);
  void clear_outgoing();

 private:
  // A line of its own: every send writes here, and its neighbours have other writers.
  struct alignas(64) Box {
    std::vector<Event> events;
  };
  // Boxes of a generation where not every pair has one.
  struct Sender {
    std::unordered_map<std::uint32_t, Box> boxes;       // by receiver; they stay where they are
    std::vector<std::pair<std::uint32_t, Box*>> fresh;  // of this epoch, with their receivers
  };
  struct OnDemand {
    std::vector<Sender> by_sender;
    std::vector<std::vector<Box*>> by_receiver;  // in order of their first event, then of senders
  };
  // By the worker that runs partition `from`.
  [[nodiscard]] Box& box_on_demand(std::uint32_t from, std::uint32_t to);

  template <class Visitor>
  static void empty(Box& box, Visitor& visitor) {
    for (const Event& event : box.events) visitor(event);
    box.events.clear();
  }

  std::uint32_t locals_;
  std::uint32_t ranks_;
  std::uint64_t epoch_ = 0;
  std::vector<Box> generations_[2];  // [from * locals + to]
  OnDemand on_demand_[2];            // instead
  std::vector<Box> outgoing_;        // [from * ranks + rank]
  std::vector<Box> incoming_;        // [to]
};

}  // namespace exawarp::pdes
