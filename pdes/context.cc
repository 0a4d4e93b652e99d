#include "pdes/context.h"

#include "pdes/directory.h"
#include "pdes/partition.h"

namespace exawarp::pdes {

void Context::schedule(LpId to, Time delay, EventKind kind, const Payload& payload) {
  const std::uint32_t owner = partition_->owner_of(to);
  // A handler that runs on a state that never was may ask for nonsense; only a commit makes it
  // a fault.
  if (delay.ps < 1 || owner == Directory::kNoPartition || delay >= Time::max() - now_) [[unlikely]]
    return fail("a handler sent to no logical process, or not into the future");
  const auto fill = [&](Event& event) {
    event.receive_time = now_ + delay;
    event.source = self_;
    event.sequence = header_->sequence++;
    event.destination = to;
    event.kind = kind;
    event.flags = 0;
    event.payload = payload;
    event.incarnation = header_->incarnation;
    event.reserved = 0;
  };
  if (partition_->owns(owner)) {
    Event& event = partition_->new_event();
    fill(event);
    partition_->schedule_here(event);
  } else {
    Event event;
    fill(event);
    partition_->send_away(event, owner);
  }
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
