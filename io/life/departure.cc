// Each future is simulated for a while, then for longer and longer, and the events are compared, in
// blocks by one hash each, so that memory stays small; of the first block that differs, both are
// simulated once more, and its events are kept.
#include "io/life/departure.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "model/event_text.h"
#include "partition/block.h"
#include "pdes/engine.h"
#include "pdes/observed_model.h"
#include "pdes/transport.h"

namespace exawarp::io {
namespace {

constexpr core::Time kFirstWhile{core::kPicosecondsPerSecond / 1'000'000};
constexpr std::int64_t kLonger = 8;  // each time
constexpr std::size_t kBlockEvents = 1024;

using Blocks = std::vector<std::uint64_t>;

void simulate_until(const TwoFutures& futures, const pdes::Model& model, core::Time end,
                    const pdes::ObservedModel::Observer& observer) {
  const auto transport = pdes::make_single_transport();
  const pdes::ObservedModel observed(model, observer);
  const core::Placement placement =
      partition::place_in_blocks({.atoms = futures.atoms, .atom_shift = futures.atom_shift});
  pdes::Engine engine(observed, placement,
                      {.sync = pdes::Sync::sequential, .seed = futures.seed, .end = end},
                      *transport);
  futures.from.restore(engine, {}, transport->rank(), transport->ranks());
  engine.run();
}

Blocks blocks_of(const TwoFutures& futures, const pdes::Model& model, core::Time end) {
  Blocks blocks;
  std::size_t events = 0;
  simulate_until(futures, model, end, [&](const pdes::Event& event) {
    if (events++ % kBlockEvents == 0) blocks.push_back(0);
    blocks.back() = core::mix64(blocks.back() ^ pdes::digest_of(event));
  });
  return blocks;
}

std::vector<pdes::Event> events_of(const TwoFutures& futures, const pdes::Model& model,
                                   core::Time end, std::size_t block) {
  std::vector<pdes::Event> all;
  std::size_t events = 0;
  simulate_until(futures, model, end, [&](const pdes::Event& event) {
    if (events++ / kBlockEvents == block) all.push_back(event);
  });
  return all;
}

// When the future of `model` has the like of `event`, which it has not where `event` would be.
std::optional<core::Time> time_of_like(const TwoFutures& futures, const pdes::Model& model,
                                       const pdes::Event& event) {
  std::optional<core::Time> found;
  const core::Time while_same = event.receive_time - futures.begin;
  const core::Time end =
      std::min(futures.end, event.receive_time + while_same + core::Time{1'000 * kFirstWhile.ps});
  simulate_until(futures, model, end, [&](const pdes::Event& other) {
    if (found || other.receive_time < event.receive_time) return;
    if (model::are_alike(event, other)) found = other.receive_time;
  });
  return found;
}

Departure departure_in(const TwoFutures& futures, core::Time end, std::size_t block) {
  const auto first = events_of(futures, futures.first, end, block);
  const auto second = events_of(futures, futures.second, end, block);
  const auto [a, b] = std::ranges::mismatch(first, second, {}, pdes::digest_of, pdes::digest_of);
  Departure out;
  out.of_first = b == second.end() || (a != first.end() && pdes::key_of(*a) < pdes::key_of(*b));
  out.event = out.of_first ? *a : *b;
  out.other_time = time_of_like(futures, out.of_first ? futures.second : futures.first, out.event);
  return out;
}

}  // namespace

std::optional<Departure> find_departure(const TwoFutures& futures) {
  for (core::Time longer = kFirstWhile;; longer = core::Time{longer.ps * kLonger}) {
    const core::Time end = std::min(futures.end, futures.begin + longer);
    const Blocks first = blocks_of(futures, futures.first, end);
    const Blocks second = blocks_of(futures, futures.second, end);
    if (first != second) {
      const auto differs = std::ranges::mismatch(first, second).in1;
      return departure_in(futures, end, static_cast<std::size_t>(differs - first.begin()));
    }
    if (end == futures.end) return {};
  }
}

}  // namespace exawarp::io
