// The exchange of an epoch between ranks that share memory: each puts its vote and what it has for
// the others on its own board, and reads the boards of the others.
//
// Idea: between the processes of one machine a message costs more than its bytes: it is matched,
// acknowledged and copied twice, and a reduction of votes is messages again. Here the events are
// copied once by their sender, and a counter says that a board is complete.
// Two sides of a board alternate with the exchanges: a rank is at most one ahead of another, so
// it never writes what the other still reads.
//
// Owner:     each rank has an object of its own over the same boards; its main thread.
// Invariant: a board is written by its rank alone; its counter is the number of exchanges that it
//            has been completed for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "pdes/transport.h"

namespace exawarp::pdes {

class SharedExchange {
 public:
  static constexpr std::size_t kLine = 64;
  // Of one rank's board, with room for `room` events in an exchange. It starts with a line, which
  // is all zero before the first one.
  [[nodiscard]] static std::size_t board_bytes(std::uint32_t ranks, std::size_t room);
  // Has the system give memory for all of a board, and makes it zero. Throws core::SystemError
  // where it has none; a first write later on would then be a bus error.
  static void reserve(std::span<std::byte> board);

  // `boards`: of all ranks, where this one sees them.
  SharedExchange(std::uint32_t rank, std::vector<std::byte*> boards, std::size_t room);

  // Sends the events that the board has no room for in another way. Returns in how many messages.
  using Fallback = std::function<std::uint64_t(std::uint32_t to, std::span<const Event> events)>;
  struct Outcome {
    GvtVote votes;           // combined
    std::uint64_t messages;  // that come to this rank in the other way
  };
  // As Transport::exchange(), except for what goes by `fallback`: it comes after the rest.
  Outcome exchange(Outgoing outgoing, const GvtVote& vote, const EventReceiver& receive,
                   const Fallback& fallback);

 private:
  struct Share {  // of one rank in what is on a side
    std::uint64_t first;
    std::uint64_t count;
    std::uint64_t messages;  // in the other way
  };
  void put(Outgoing outgoing, const Fallback& fallback);
  [[nodiscard]] GvtVote meet() const;
  std::uint64_t take(const EventReceiver& receive) const;

  [[nodiscard]] static std::size_t side_bytes(std::uint32_t ranks, std::size_t room);
  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(boards_.size()); }
  [[nodiscard]] std::atomic_ref<std::uint64_t> completed(std::uint32_t rank) const;
  // Of the side in use.
  [[nodiscard]] std::byte* side(std::uint32_t rank) const;
  [[nodiscard]] GvtVote& vote(std::uint32_t rank) const;
  [[nodiscard]] Share& share(std::uint32_t rank, std::uint32_t to) const;
  [[nodiscard]] Event* events(std::uint32_t rank) const;

  std::uint32_t rank_;
  std::vector<std::byte*> boards_;
  std::size_t room_;
  std::uint64_t exchanges_ = 0;  // that this rank is through with
};

}  // namespace exawarp::pdes
