#include "tests/unit/pdes/exchange_check.h"

#include <vector>

#include "core/random.h"

namespace exawarp::tests {
namespace {

using pdes::Event;

// What rank `from` sends `to` in an exchange: every rank can tell.
std::size_t events_of(std::uint32_t exchange, std::uint32_t from, std::uint32_t to) {
  if (from == to) return 0;
  const std::uint64_t draw = core::random_bits(exchange, (std::uint64_t{from} << 32) | to);
  if (draw % 3 == 0) return 0;
  return draw % 7 == 0 ? 5'000 : 1 + draw % 5;
}

std::vector<Event> events(std::uint32_t exchange, std::uint32_t from, std::size_t count) {
  std::vector<Event> all(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    all[i].source = {from};
    all[i].sequence = i;
    all[i].incarnation = exchange;
  }
  return all;
}

// Now one rank is late, now another.
void dawdle(std::uint32_t exchange, std::uint32_t rank) {
  volatile std::uint64_t sink = 0;
  for (std::uint64_t i = core::random_bits(exchange, rank) % 30'000; i != 0; --i) sink = sink + i;
}

// The exchange of what `count(from, to)` says.
template <class Count>
std::string faults_in_one(pdes::Transport& transport, std::uint32_t exchange, Count count) {
  const std::uint32_t rank = transport.rank().value;
  std::vector<std::vector<Event>> mine(transport.ranks());
  std::vector<std::span<const Event>> outgoing(transport.ranks());
  for (std::uint32_t to = 0; to < transport.ranks(); ++to) {
    mine[to] = events(exchange, rank, count(rank, to));
    outgoing[to] = mine[to];
  }
  std::vector<std::size_t> received(transport.ranks());
  std::string faults;
  const pdes::GvtVote all = transport.exchange(
      outgoing, {.least = core::Time{rank + 10}, .processed = 1},
      [&](std::span<const Event> part) {
        for (const Event& event : part) {
          if (event.incarnation != exchange) faults += "an event of another exchange; ";
          if (event.sequence != received[event.source.value]++) faults += "out of order; ";
        }
      });
  for (std::uint32_t from = 0; from < transport.ranks(); ++from)
    if (received[from] != count(from, rank)) faults += "not all, or too many; ";
  if (all.least != core::Time{10} || all.processed != transport.ranks()) faults += "wrong vote; ";
  return faults.empty() ? faults
                        : "exchange " + std::to_string(exchange) + ", rank " +
                              std::to_string(rank) + ": " + faults.substr(0, 200);
}

}  // namespace

std::string faults_in_exchanges(pdes::Transport& transport, std::size_t largest) {
  constexpr std::uint32_t kExchanges = 300;
  std::string faults;
  for (std::uint32_t e = 0; e < kExchanges; ++e) {
    dawdle(e, transport.rank().value);
    faults += faults_in_one(transport, e, [e](std::uint32_t from, std::uint32_t to) {
      return events_of(e, from, to);
    });
  }
  if (largest == 0) return faults;
  const std::uint32_t last = transport.ranks() - 1;
  return faults + faults_in_one(transport, kExchanges, [&](std::uint32_t from, std::uint32_t to) {
           return from == 0 && to == last ? largest : std::size_t{0};
         });
}

}  // namespace exawarp::tests
