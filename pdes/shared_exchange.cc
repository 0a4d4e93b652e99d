// The layout of a board, and the three parts of an exchange: put what this rank has on its own
// board, meet the others by their counters, take what their boards have for it.
#include "pdes/shared_exchange.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>

#include "core/check.h"
#include "core/error.h"
#include "pdes/spin.h"

namespace exawarp::pdes {
namespace {

static_assert(sizeof(Event) == SharedExchange::kLine);
static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free, "shared between processes");

constexpr std::size_t in_lines(std::size_t bytes) {
  return (bytes + SharedExchange::kLine - 1) / SharedExchange::kLine * SharedExchange::kLine;
}
constexpr std::size_t kVoteBytes = in_lines(sizeof(GvtVote));

}  // namespace

// A board: the counter in a line of its own, then two sides. A side: vote, shares, events.
std::size_t SharedExchange::side_bytes(std::uint32_t ranks, std::size_t room) {
  return kVoteBytes + in_lines(ranks * sizeof(Share)) + room * sizeof(Event);
}

std::size_t SharedExchange::board_bytes(std::uint32_t ranks, std::size_t room) {
  return kLine + 2 * side_bytes(ranks, room);
}

// By a system call: where there is no memory it fails, and a write of our own would be a signal.
void SharedExchange::reserve(std::span<std::byte> board) {
  const int zeros = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  int code = zeros < 0 ? errno : 0;
  while (!board.empty() && code == 0) {
    const ssize_t bytes = ::read(zeros, board.data(), board.size());
    if (bytes > 0) {
      board = board.subspan(static_cast<std::size_t>(bytes));
    } else if (errno != EINTR) {
      code = errno;
    }
  }
  if (zeros >= 0) ::close(zeros);
  if (code == 0) return;
  throw core::SystemError(
      "shared memory: no room for the exchange between ranks: " +
      std::generic_category().message(code) +
      "; more room (df /dev/shm), or EXAWARP_EXCHANGE=messages, which needs none, would help");
}

SharedExchange::SharedExchange(std::uint32_t rank, std::vector<std::byte*> boards,
                               std::size_t room)
    : rank_(rank), boards_(std::move(boards)), room_(room) {
  EXAWARP_CHECK(rank < ranks(), rank, ranks());
}

std::atomic_ref<std::uint64_t> SharedExchange::completed(std::uint32_t rank) const {
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(boards_[rank]));
}
std::byte* SharedExchange::side(std::uint32_t rank) const {
  return boards_[rank] + kLine + (exchanges_ & 1) * side_bytes(ranks(), room_);
}
GvtVote& SharedExchange::vote(std::uint32_t rank) const {
  return *reinterpret_cast<GvtVote*>(side(rank));
}
SharedExchange::Share& SharedExchange::share(std::uint32_t rank, std::uint32_t to) const {
  return reinterpret_cast<Share*>(side(rank) + kVoteBytes)[to];
}
Event* SharedExchange::events(std::uint32_t rank) const {
  return reinterpret_cast<Event*>(side(rank) + kVoteBytes + in_lines(ranks() * sizeof(Share)));
}

SharedExchange::Outcome SharedExchange::exchange(Outgoing outgoing, const GvtVote& mine,
                                                 const EventReceiver& receive,
                                                 const Fallback& fallback) {
  put(outgoing, fallback);
  vote(rank_) = mine;
  // release: pairs with the acquire in meet(), in another process; publishes this side.
  completed(rank_).store(exchanges_ + 1, std::memory_order_release);
  const GvtVote all = meet();
  const std::uint64_t messages = take(receive);
  ++exchanges_;
  return {all, messages};
}

void SharedExchange::put(Outgoing outgoing, const Fallback& fallback) {
  std::size_t used = 0;
  for (std::uint32_t to = 0; to < ranks(); ++to) {
    const std::size_t count = std::min(outgoing[to].size(), room_ - used);
    std::copy_n(outgoing[to].begin(), count, events(rank_) + used);
    const std::span<const Event> rest = outgoing[to].subspan(count);
    share(rank_, to) = {used, count, rest.empty() ? 0 : fallback(to, rest)};
    used += count;
  }
}

GvtVote SharedExchange::meet() const {
  GvtVote all = vote(rank_);
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
    if (rank == rank_) continue;
    for (std::uint32_t look = 1; completed(rank).load(std::memory_order_acquire) <= exchanges_;
         ++look)
      pause_after_look(look);
    all = combined(all, vote(rank));
  }
  return all;
}

std::uint64_t SharedExchange::take(const EventReceiver& receive) const {
  std::uint64_t messages = 0;
  for (std::uint32_t from = 0; from < ranks(); ++from) {
    if (from == rank_) continue;
    const Share& mine = share(from, rank_);
    if (mine.count != 0) receive(std::span(events(from) + mine.first, mine.count));
    messages += mine.messages;
  }
  return messages;
}

}  // namespace exawarp::pdes
