#include "pdes/whereabouts.h"

#include <fmt/format.h>

#include "core/check.h"
#include "pdes/partition.h"

namespace exawarp::pdes {
namespace {

thread_local const Partition* partition_of_thread = nullptr;
thread_local std::uint32_t worker_of_thread = 0;  // a rank's main thread is its first worker

std::string whereabouts() {
  if (partition_of_thread == nullptr) return {};
  return partition_of_thread->whereabouts(worker_of_thread);
}

}  // namespace

void note_worker(std::uint32_t worker) { worker_of_thread = worker; }

AtWork::AtWork(const Partition& partition) : before_(partition_of_thread) {
  static const bool once = (core::set_check_context(whereabouts), true);
  static_cast<void>(once);
  partition_of_thread = &partition;
}

AtWork::~AtWork() { partition_of_thread = before_; }

std::string Partition::whereabouts(std::uint32_t worker) const {
  std::string text = fmt::format("rank={} worker={} partition={}",
                                 setup_.first_local / setup_.locals, worker, setup_.id.value);
  if (context_.header_ != nullptr) {
    text += fmt::format(" LP={} LVT={} ps", context_.self_.value, context_.now_.ps);
  }
  return text + fmt::format(" GVT={} ps seed={}", gvt_.ps, setup_.seed);
}

}  // namespace exawarp::pdes
