#include "pdes/event_pool.h"

#include <algorithm>

namespace exawarp::pdes {

void EventPool::refill() {
  constexpr std::size_t kLeast = 64;
  constexpr std::size_t kMost = std::size_t{1} << 16;
  const std::size_t count = std::clamp(slots_, kLeast, kMost);
  auto* slab = static_cast<Event*>(arena_.allocate(count * sizeof(Event), alignof(Event)));
  free_.reserve(slots_ + count);
  // Highest address first: the stack then hands events out in ascending order.
  for (std::size_t i = count; i-- != 0;) free_.push_back(slab + i);
  slots_ += count;
}

}  // namespace exawarp::pdes
