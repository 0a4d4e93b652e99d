// Where a thread is in a simulation: what a failed check says besides its operands (core/check.h).
// A thread notes its worker once and its partition once an epoch; which LP and which time follow
// from the partition, and nobody looks before a check fails.
#pragma once

#include <cstdint>

namespace exawarp::pdes {

class Partition;

// The calling thread works as this worker of its rank from now on.
void note_worker(std::uint32_t worker);

// As long as it lives, the calling thread works on `partition`, which outlives it.
class AtWork {
 public:
  explicit AtWork(const Partition& partition);
  ~AtWork();
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;

 private:
  const Partition* before_;
};

}  // namespace exawarp::pdes
