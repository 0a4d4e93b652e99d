// Pending events of one partition, in the total order (pending_set.cc tells how).
// Owner: one worker at a time; no method locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pdes/event.h"

namespace exawarp::pdes {

// The sort key next to the pointer, so that ordering touches no event unless two keys are equal,
// which only an event and its anti-message are.
struct PendingKey {
  EventKey key;
  Event* event;
};

// Of two that have one key.
[[gnu::noinline]] inline bool is_first_of_equals(const PendingKey& a, const PendingKey& b) {
  if (a.event->incarnation != b.event->incarnation)
    return a.event->incarnation < b.event->incarnation;
  return (a.event->flags & kAnti) < (b.event->flags & kAnti);
}

// Without a branch on what differs, which is as good as random where a crowd is sorted.
[[gnu::always_inline]] inline bool operator<(const PendingKey& a, const PendingKey& b) {
  const bool same_time = a.key.time == b.key.time;
  if (same_time & (a.key.origin == b.key.origin)) [[unlikely]] return is_first_of_equals(a, b);
  return (a.key.time < b.key.time) | (same_time & (a.key.origin < b.key.origin));
}

class PendingSet {
 public:
  PendingSet();

  // Returns whether it is one of late().
  bool push(Event* event);
  // Removes and returns the first event if it lies before `horizon`; nullptr otherwise.
  [[nodiscard]] Event* pop_before(Time horizon);
  // The first event, or nullptr; it stays.
  [[nodiscard]] Event* peek();
  // Receive time of the first event; Time::max() when empty.
  [[nodiscard]] Time least() {
    const Event* first = peek();
    return first == nullptr ? Time::max() : first->receive_time;
  }
  // A guess at the event that will be popped `n` pops from now, for prefetching; may be null.
  [[nodiscard]] Event* ahead(std::size_t n) const {
    return cursor_ + n < current_.size() ? current_[cursor_ + n].event : nullptr;
  }
  // Events that may be popped before these, of those that were pushed late: the first of them, then
  // two of which one follows, and so on as in a heap.
  [[nodiscard]] std::span<const PendingKey> late() const { return near_; }
  // The event popped last was the first of its front: nobody saw those after it coming.
  [[nodiscard]] bool front_is_fresh() const { return cursor_ == 1; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t bytes() const;

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  static constexpr std::uint32_t kChunkKeys = 10;
  struct Chunk {
    std::uint32_t next;
    std::uint32_t count;
    PendingKey keys[kChunkKeys];
  };

  bool push_into_front(EventKey key, Event* event);
  void insert_into_current(const PendingKey& key);
  void push_bucket(EventKey key, Event* event);
  // Out of line: one push in ten needs it, and all would save the registers it uses.
  [[gnu::noinline]] std::uint32_t add_chunk(std::size_t bucket);
  bool refill();         // makes current_ hold the first events; false: the set is empty
  void drain_bucket(std::size_t bucket);
  void prefetch_next_bucket() const;
  void sort_front(std::int64_t begin_ps);
  template <class SlotOf>
  void scatter(std::size_t slots, SlotOf slot_of);
  void scatter_times(std::int64_t begin_ps);
  template <class WordOf>
  void sort_by(WordOf word_of);
  [[nodiscard]] bool insert_in_order();
  [[nodiscard]] bool merge_runs();
  void spread();         // lays the far keys out over new buckets
  void respread_all();   // the near heap outgrew its use: everything back to far, then spread
  void take_all_far();
  [[nodiscard]] bool near_is_first() const;

  std::vector<PendingKey> current_;  // sorted; consumed from cursor_
  std::size_t cursor_ = 0;
  std::vector<PendingKey> scattered_;  // current_ before the last sorting
  std::vector<PendingKey> near_;     // heap: pushed before current_end_ps_ after it was sorted
  std::int64_t current_end_ps_ = 0;  // keys before this are in current_ or near_

  std::vector<std::uint32_t> buckets_;  // newest chunk of each; it leads to the oldest
  std::vector<Chunk> chunks_;
  std::uint32_t free_chunk_ = kNone;
  std::size_t next_bucket_ = 0;         // first not yet drained
  std::int64_t buckets_base_ps_ = 0;    // start of bucket 0
  std::int64_t buckets_end_ps_ = 0;     // keys from here on are far
  int width_log2_ = 0;                  // a bucket spans 2^width_log2_ ps

  std::vector<PendingKey> far_;
  std::size_t near_limit_;
  std::size_t size_ = 0;
};

}  // namespace exawarp::pdes
