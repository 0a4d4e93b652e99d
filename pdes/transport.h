// How ranks talk. The engine uses nothing else, so the MPI transport, the single-rank one and the
// in-process one of the tests (ranks as threads, with chaotic delivery) are interchangeable.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/ids.h"
#include "pdes/event.h"

namespace exawarp::pdes {

// What a rank may ask of all of them in its vote; the greatest is granted.
enum class Request : std::uint64_t { none = 0, sample = 1, cut = 2, stop = 3 };

// What a rank contributes to GVT, and, combined, what all did.
struct GvtVote {
  Time least;                       // minimum: unprocessed, or sent to other ranks since the last
  std::uint64_t processed = 0;      // sum: executions, ever
  std::uint64_t rolled_back = 0;    // sum: executions undone, ever
  std::uint64_t busy_ns = 0;        // sum: workers' time with work, ever (see Window)
  std::uint64_t lost_ns = 0;        // sum: their other time
  Request request = Request::none;  // maximum: a moment of the time series, a cut, the end
};

// Of two ranks, or two sets of ranks; field by field as said there.
inline GvtVote combined(const GvtVote& a, const GvtVote& b) {
  return {std::min(a.least, b.least), a.processed + b.processed, a.rolled_back + b.rolled_back,
          a.busy_ns + b.busy_ns,      a.lost_ns + b.lost_ns,     std::max(a.request, b.request)};
}

using EventReceiver = std::function<void(std::span<const Event>)>;
// What a rank has for each, by rank; nothing for itself.
using Outgoing = std::span<const std::span<const Event>>;

// Owner: the rank's main thread (MPI is funneled).
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  [[nodiscard]] virtual core::RankId rank() const = 0;
  [[nodiscard]] virtual std::uint32_t ranks() const = 0;
  // The library that carries messages, for people.
  [[nodiscard]] virtual std::string library() const { return "none"; }
  // Among the ranks that share this machine: cores and memory are divided between them.
  [[nodiscard]] virtual std::uint32_t machine_rank() const { return 0; }
  [[nodiscard]] virtual std::uint32_t machine_ranks() const { return 1; }

  // From here on, events between ranks that are all on one machine go through boards in its memory
  // (shared_exchange.h); does nothing elsewhere. Collective. Throws core::SystemError where the
  // machine has no room for them; doing without costs only time.
  virtual void share_boards() {}

  // What to add to the line that says that a rank has died, e.g. where the last checkpoint is. Any
  // thread, at any time.
  virtual void set_epitaph(const std::string& /*text*/) {}
  // This rank is about to leave without the others, with this exit code, and has said why: nobody
  // takes that for a death.
  virtual void abandon(int /*exit_code*/) {}

  // Where all ranks meet after an epoch: combines all votes, and hands each rank what the others
  // have for it. Blocks until every rank is here and all that they sent to this one has gone to
  // `receive`, in any order of the senders and the order of each. `outgoing` is free then.
  virtual GvtVote exchange(Outgoing outgoing, const GvtVote& vote,
                           const EventReceiver& receive) = 0;

  // Element-wise over all ranks, in place. Every rank passes the same size.
  virtual void all_reduce_sum(std::span<std::uint64_t> values) = 0;
  virtual void all_reduce_max(std::span<std::uint64_t> values) = 0;
  // Concatenates every rank's bytes, in rank order, on rank 0; empty elsewhere.
  virtual std::vector<std::byte> gather(std::span<const std::byte> bytes) = 0;
  virtual void barrier() = 0;
};

// One rank, no peers.
std::unique_ptr<Transport> make_single_transport();

// Under mpirun, joins MPI (once per process); otherwise a single rank.
// Throws core::SystemError where MPI refuses.
std::unique_ptr<Transport> make_transport();

}  // namespace exawarp::pdes
