// Each figure is the least over batches of rounds: what interrupts a batch only makes it longer.
// Between two meetings every worker has something to do, for as long as it takes all of them to
// begin: workers who find nothing to do measure how fast one of them is alone.
#include "io/life/machine_costs.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "core/machine.h"
#include "pdes/executor.h"
#include "pdes/shared_exchange.h"

namespace exawarp::io {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBatches = 80;
constexpr int kRoundsOfABatch = 50;
constexpr std::chrono::milliseconds kMeasuredWithin{200};  // each figure, on a busy machine
constexpr std::chrono::microseconds kBusy{5};
constexpr std::chrono::milliseconds kWorkersComeWithin{500};
constexpr std::uint32_t kEventsOfARound = 256;  // to tell an event's cost from a round's
// Where one core leaves nothing to measure: two threads, two ranks on the machine of
// docs/laboratory/scaling.md.
constexpr double kBarrierNs = 500, kExchangeNs = 1'000, kExchangeEventNs = 20;

double beyond_busy_ns(double ns) {
  return std::max(0.0, ns - std::chrono::duration<double, std::nano>(kBusy).count());
}

// Of one round.
template <class Round>
double least_ns(Round&& round) {
  double least = std::numeric_limits<double>::max();
  const Clock::time_point latest = Clock::now() + kMeasuredWithin;
  for (int b = 0; b == 0 || (b < kBatches && Clock::now() < latest); ++b) {
    const Clock::time_point start = Clock::now();
    for (int r = 0; r < kRoundsOfABatch; ++r) round();
    const double batch_ns = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
    least = std::min(least, batch_ns / kRoundsOfABatch);
  }
  return least;
}

// By the clock, so that who is interrupted does not do it longer.
void be_busy() {
  const Clock::time_point end = Clock::now() + kBusy;
  while (Clock::now() < end) {
  }
}

// On a thread of its own, as an executor binds the one that calls it to a core. Begins once another
// worker has come, or after a while without.
double barrier_ns(std::uint32_t threads) {
  double least = 0;
  std::jthread([&] {
    const auto executor = pdes::make_executor({.threads = threads, .partitions = threads});
    const std::thread::id here = std::this_thread::get_id();
    std::atomic<bool> is_alone{true};
    const std::function<void(std::uint32_t)> task = [&](std::uint32_t) {
      be_busy();
      // relaxed: the end of the round orders it
      if (std::this_thread::get_id() != here) is_alone.store(false, std::memory_order_relaxed);
    };
    const Clock::time_point latest = Clock::now() + kWorkersComeWithin;
    while (is_alone.load(std::memory_order_relaxed) && Clock::now() < latest) {
      executor->for_each(task);
    }
    least = beyond_busy_ns(least_ns([&] { executor->for_each(task); }));
  }).join();
  return least;
}

// The boards of ranks that are threads of this process.
class Boards {
 public:
  Boards(std::uint32_t ranks, std::size_t room) {
    const std::size_t bytes = pdes::SharedExchange::board_bytes(ranks, room);
    for (std::uint32_t r = 0; r < ranks; ++r) {
      auto* const board =
          static_cast<std::byte*>(std::aligned_alloc(pdes::SharedExchange::kLine, bytes));
      if (board == nullptr) throw std::bad_alloc();
      std::fill_n(board, bytes, std::byte{0});
      owned_.emplace_back(board, &std::free);
    }
  }
  [[nodiscard]] std::vector<std::byte*> all() const {
    std::vector<std::byte*> out;
    for (const auto& board : owned_) out.push_back(board.get());
    return out;
  }

 private:
  std::vector<std::unique_ptr<std::byte, decltype(&std::free)>> owned_;
};

// A rank that sends `events` in a round, to the others by turns, and copies what it gets, as the
// engine does from and to the mailboxes of partitions.
class ExchangingRank {
 public:
  ExchangingRank(std::uint32_t rank, const Boards& boards, std::size_t room, std::uint32_t events)
      : exchange_(rank, boards.all(), room), made_(events), spans_(boards.all().size()) {
    const std::uint32_t ranks = static_cast<std::uint32_t>(spans_.size());
    sent_.resize(ranks);
    for (std::uint32_t e = 0; e < events; ++e) {
      to_.push_back((rank + 1 + e % (ranks - 1)) % ranks);
    }
  }
  // Returns what was granted.
  pdes::Request round(pdes::Request request = pdes::Request::none) {
    for (auto& events : sent_) events.clear();
    for (std::size_t e = 0; e < made_.size(); ++e) sent_[to_[e]].push_back(made_[e]);
    for (std::size_t r = 0; r < sent_.size(); ++r) spans_[r] = sent_[r];
    got_.clear();
    be_busy();
    const auto outcome = exchange_.exchange(
        spans_, {.least = core::Time{1}, .request = request},
        [this](std::span<const pdes::Event> e) { got_.insert(got_.end(), e.begin(), e.end()); },
        [](std::uint32_t, std::span<const pdes::Event>) { return std::uint64_t{0}; });
    return outcome.votes.request;
  }

 private:
  pdes::SharedExchange exchange_;
  std::vector<pdes::Event> made_;
  std::vector<std::uint32_t> to_;  // by event
  std::vector<std::vector<pdes::Event>> sent_;
  std::vector<std::span<const pdes::Event>> spans_;
  std::vector<pdes::Event> got_;
};

double exchange_ns(std::uint32_t ranks, std::uint32_t events) {
  const std::size_t room = std::size_t{kEventsOfARound} * ranks;
  const Boards boards(ranks, room);
  std::vector<std::jthread> others;
  for (std::uint32_t r = 1; r < ranks; ++r) {
    others.emplace_back([&boards, r, room, events] {
      ExchangingRank mine(r, boards, room, events);
      while (mine.round() != pdes::Request::stop) {
      }
    });
  }
  ExchangingRank mine(0, boards, room, events);
  const double least = least_ns([&] { mine.round(); });
  mine.round(pdes::Request::stop);
  return beyond_busy_ns(least);
}

}  // namespace

MachineCosts::MachineCosts(const RunShape& most)
    : barrier_ns_(kBarrierNs), exchange_ns_(kExchangeNs), exchange_event_ns_(kExchangeEventNs) {
  const std::uint32_t cores = core::discover_machine().workers_max;
  if (most.threads > 1 && cores > 1) {
    threads_ = std::min(most.threads, cores);
    barrier_ns_ = barrier_ns(threads_);
  }
  if (most.ranks > 1 && cores > 1) {
    ranks_ = std::min(most.ranks, cores);
    exchange_ns_ = exchange_ns(ranks_, 0);
    const double with_events_ns = exchange_ns(ranks_, kEventsOfARound);
    exchange_event_ns_ = std::max(0.0, with_events_ns - exchange_ns_) / kEventsOfARound;
  }
}

EpochCosts MachineCosts::of(const RunShape& shape, std::uint32_t hosts, double round_trip_s) const {
  const auto grown = [](double ns, std::uint32_t asked, std::uint32_t measured) {
    const std::uint32_t least = std::max(2u, measured);  // the constants are of two
    return asked <= 1 ? 0 : ns * std::max(1.0, static_cast<double>(asked) / least);
  };
  const std::uint32_t together = (shape.ranks + hosts - 1) / hosts;
  return {.barrier_ns = grown(barrier_ns_, shape.threads, threads_),
          .exchange_ns = grown(exchange_ns_, shape.ranks > 1 ? std::max(2u, together) : 1, ranks_) +
                         round_trip_s * 1e9 * rounds_between(std::min(hosts, shape.ranks)),
          .exchange_event_ns = exchange_event_ns_};
}

std::uint32_t rounds_between(std::uint32_t hosts) {
  return hosts <= 1 ? 0 : static_cast<std::uint32_t>(std::bit_width(hosts - 1));
}

}  // namespace exawarp::io
