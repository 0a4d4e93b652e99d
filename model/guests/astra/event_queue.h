// Events of the ASTRA-sim mode in their order there: by time, and in order of insertion within one
// time, those inserted at the current time while it is being processed included.
//
// A collective on a symmetric network has very few distinct times, each with many events: so each
// time has one list, lists are found by a hash of the time, and a heap holds the distinct times
// alone. An event costs O(1), a time O(log times).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "model/guests/astra/config.h"
#include "model/guests/astra/flat_map.h"

namespace exawarp::model::astra {

struct Event {
  enum class Kind : std::uint32_t { tick, hop, link_free, late_receive };
  Kind kind;
  std::uint32_t index;  // rank, message, link or message
};

class EventQueue {
 public:
  EventQueue();
  [[nodiscard]] Ns now() const { return now_; }
  // Requires now() <= time <= kEndNs.
  void push(Ns time, Event event);
  // False when there is none left before kEndNs. Moves now() on.
  bool pop(Event& event);
  // After pop() gave false: the first event at kEndNs, or nullptr.
  [[nodiscard]] const Event* late() const;
  [[nodiscard]] std::uint64_t popped() const { return popped_; }

 private:
  struct Bucket {
    Ns time = 0;
    std::size_t next = 0;
    std::vector<Event> events;
  };
  using Entry = std::pair<Ns, std::uint32_t>;
  std::uint32_t bucket_at(Ns time);
  std::vector<Bucket> buckets_;
  std::vector<std::uint32_t> free_;
  std::vector<Entry> heap_;  // smallest time first
  FlatMap<Ns, std::uint32_t> bucket_of_;
  std::uint32_t current_;  // now()'s
  std::uint32_t recent_;   // the last that was pushed to
  Ns now_ = 0;
  std::uint64_t popped_ = 0;
};

}  // namespace exawarp::model::astra
