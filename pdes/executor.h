// Runs a function for each partition of an epoch on this rank's workers, and waits for all.
// Two implementations, which differ in where the workers of their loop come from: oneTBB's, bound
// to cores, and plain threads, which the ThreadSanitizer preset uses (Debian's libtbb is not built
// for it).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace exawarp::pdes {

struct ExecutorSetup {
  std::uint32_t threads = 1;     // >= 1; the caller is one of them
  std::uint32_t partitions = 1;  // of this rank
  std::uint32_t first_core = 0;  // worker i is bound to the process's core first_core + i
};

// Owner: the rank's main thread, which works too.
class Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;

  // Calls task(i) once for each partition; everything the tasks wrote is visible on return.
  virtual void for_each(const std::function<void(std::uint32_t)>& task) = 0;
};

// These throw core::SystemError where the system cannot start that many threads.
// No worker is bound where the process has too few cores.
std::unique_ptr<Executor> make_tbb_executor(const ExecutorSetup& setup);
std::unique_ptr<Executor> make_thread_executor(const ExecutorSetup& setup);

// The build's choice: plain threads with EXAWARP_PLAIN_THREADS, oneTBB otherwise; no workers at
// all for one thread.
std::unique_ptr<Executor> make_executor(const ExecutorSetup& setup);

}  // namespace exawarp::pdes
