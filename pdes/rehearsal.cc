#include "pdes/rehearsal.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "core/check.h"
#include "pdes/executor.h"
#include "pdes/partition.h"

namespace exawarp::pdes {
namespace {

// What the calling thread has had of processors, ever.
std::uint64_t thread_processor_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

EpochMeter::EpochMeter(Rehearsal& rehearsal, std::uint32_t partitions)
    : rehearsal_(rehearsal),
      busy_before_ns_(partitions),
      busy_ns_(partitions),
      sent_before_(partitions),
      sent_(partitions),
      processor_ns_(partitions),
      main_before_ns_(thread_processor_ns()) {
  EXAWARP_CHECK(partitions % rehearsal.ranks() == 0, partitions, rehearsal.ranks());
}

void EpochMeter::for_each(Executor& executor, const std::function<void(std::uint32_t)>& run) {
  const std::uint64_t main_began_ns = thread_processor_ns();
  const auto began = std::chrono::steady_clock::now();
  executor.for_each([&](std::uint32_t i) {
    const std::uint64_t began_ns = thread_processor_ns();
    run(i);
    processor_ns_[i] = thread_processor_ns() - began_ns;
  });
  const std::chrono::nanoseconds loop = std::chrono::steady_clock::now() - began;
  loop_ns_ = static_cast<std::uint64_t>(loop.count());
  main_loop_ns_ = thread_processor_ns() - main_began_ns;
}

std::uint64_t EpochMeter::lost_ns(std::span<const std::unique_ptr<Partition>> partitions,
                                  std::uint64_t epoch_ns) {
  RehearsedEpoch epoch{.busy_ns = busy_ns_, .departures = sent_, .host_ns = epoch_ns};
  for (std::size_t i = 0; i < partitions.size(); ++i) {
    const Statistics& s = partitions[i]->statistics();
    const std::uint64_t ever_ns = s.process_ns + s.exchange_ns + s.collect_ns;
    const std::uint64_t by_clock_ns = ever_ns - busy_before_ns_[i];
    busy_before_ns_[i] = ever_ns;
    busy_ns_[i] = undisturbed_ns(by_clock_ns, processor_ns_[i]);
    epoch.taken_ns += by_clock_ns - busy_ns_[i];
    sent_[i] = s.rank_events - sent_before_[i];
    sent_before_[i] = s.rank_events;
    epoch.committed_events += s.committed_events();
  }
  const std::uint64_t main_ns = thread_processor_ns();
  const std::uint64_t serial_ns = epoch_ns - std::min(epoch_ns, loop_ns_);
  epoch.serial_ns = undisturbed_ns(serial_ns, main_ns - main_before_ns_ - main_loop_ns_);
  epoch.taken_ns += serial_ns - epoch.serial_ns;
  main_before_ns_ = main_ns;
  return rehearsal_.lost_ns(epoch);
}

}  // namespace exawarp::pdes
