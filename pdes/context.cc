#include "pdes/context.h"

#include "pdes/directory.h"
#include "pdes/partition.h"

namespace exawarp::pdes {

Payload& Context::schedule(LpId to, Time delay, EventKind kind) {
  const std::uint32_t owner = partition_->owner_of(to);
  // A handler that runs on a wrong state may ask for nonsense; only a commit makes it
  // a fault.
  if (delay.ps < 1 || owner == Directory::kNoPartition) [[unlikely]] {
    fail("a handler sent to no logical process, or not into the future");
    return discarded_;
  }
  const bool stays = partition_->owns(owner);
  Event& event = stays ? partition_->new_event() : partition_->departure_to(owner);
  event.receive_time = sum_to_end(now_, delay);
  event.source = self_;
  event.sequence = header_->sequence++;
  event.destination = to;
  event.kind = kind;
  event.flags = 0;
  event.incarnation = header_->incarnation;
  event.foreseen = 0;
  if (stays)
    partition_->schedule_here(event);
  else
    partition_->send_away(event);
  return event.payload;
}

void Context::emit(std::uint32_t channel, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  partition_->emit({{now_, event_origin_}, emissions_++, self_, channel, a, b, c});
}

void Context::fail(const char* text) {
  emit(kFailureChannel, reinterpret_cast<std::uintptr_t>(text));
}

void* Context::allocate_block(std::uint32_t size_class) {
  return partition_->allocate_block(size_class);
}

void Context::release_block(void* block, std::uint32_t size_class) {
  partition_->release_block(block, size_class);
}

}  // namespace exawarp::pdes
