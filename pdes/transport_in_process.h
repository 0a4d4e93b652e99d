// Ranks as threads of one process: for tests of many ranks without mpirun, and for the
// ThreadSanitizer preset. It can deliver what several ranks sent in another order than they
// sent it ("chaos"), as a network of several paths would.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "pdes/transport.h"

namespace exawarp::pdes {

// Thread safety: endpoints are used by one thread each; the hub locks.
class InProcessHub {
 public:
  // chaos_seed 0: calm, first in first out; else a seed for reordering.
  InProcessHub(std::uint32_t ranks, std::uint64_t chaos_seed);
  ~InProcessHub();

  // The transport of `rank`; every rank must take part in every round and reduction. The hub
  // outlives it.
  [[nodiscard]] std::unique_ptr<Transport> endpoint(core::RankId rank);

 private:
  friend class InProcessTransport;

  // Barrier with a combining step: the last to arrive runs `combine` under the lock.
  template <class Combine>
  void meet(std::unique_lock<std::mutex>& lock, Combine combine);

  std::uint32_t ranks_;
  std::uint64_t chaos_;
  std::mutex mutex_;
  std::condition_variable all_here_;
  std::vector<std::vector<std::vector<Event>>> letters_;  // by destination
  std::uint64_t draws_ = 0;
  std::uint32_t arrived_ = 0;
  std::uint64_t meeting_ = 0;
  std::vector<GvtVote> votes_;
  GvtVote outcome_;
  std::vector<std::vector<std::uint64_t>> words_;
  std::vector<std::uint64_t> combined_;
  std::vector<std::vector<std::byte>> bytes_;
};

}  // namespace exawarp::pdes
