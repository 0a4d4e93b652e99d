// Runs a function for each partition of an epoch on this rank's workers, and waits for all.
// Two implementations: oneTBB, whose workers steal partitions and are bound to cores, and plain
// threads, which the ThreadSanitizer preset uses (Debian's libtbb is not built for it).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace exawarp::pdes {

// Owner: the rank's main thread, which works too.
class Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;

  // Calls task(i) once for each i < count; everything the tasks wrote is visible on return.
  virtual void for_each(std::uint32_t count, const std::function<void(std::uint32_t)>& task) = 0;
};

// Worker i is bound to the process's core `first_core` + i, unless it has too few of them.
// Requires threads >= 1.
std::unique_ptr<Executor> make_tbb_executor(std::uint32_t threads, std::uint32_t first_core);
std::unique_ptr<Executor> make_thread_executor(std::uint32_t threads);

// The build's choice: plain threads with EXAWARP_PLAIN_THREADS, oneTBB otherwise; no workers at
// all for one thread.
std::unique_ptr<Executor> make_executor(std::uint32_t threads, std::uint32_t first_core = 0);

}  // namespace exawarp::pdes
