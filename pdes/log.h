// A growable array addressed by ever-increasing indices, filled at its head and emptied from its
// tail: one log of the history.
//
// Idea: the live entries lie in one run, so that a push is a store and a step of a pointer. Where
// the run reaches the end of the room, it moves back to the front, or into twice the room if it
// fills more than half.
//
// Owner:     one partition.
// Invariant: valid indices are [tail, head); an index keeps its meaning when the log moves.
// Cost:      push O(1) amortised.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "core/check.h"

namespace exawarp::pdes {

template <class T>
class Log {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit Log(std::size_t capacity = 256)
      : slots_(new T[capacity]), next_(slots_.get()), limit_(next_ + capacity) {
    start_at(1);
  }

  // Without a look at where the room begins: four times an event.
  [[nodiscard]] std::uint64_t head() const {
    return bias_ + reinterpret_cast<std::uintptr_t>(next_) / sizeof(T);
  }
  [[nodiscard]] std::uint64_t tail() const { return tail_; }
  [[nodiscard]] std::size_t size() const { return head() - tail_; }
  [[nodiscard]] std::size_t capacity_bytes() const {
    return static_cast<std::size_t>(limit_ - slots_.get()) * sizeof(T);
  }

  [[nodiscard]] T& operator[](std::uint64_t index) {
    EXAWARP_DCHECK(index >= tail_ && index < head(), index, tail_, head());
    return slots_[index - base_];
  }

  // Inlined whatever the compiler's budget says: a handler's every write to its state comes here.
  [[gnu::always_inline]] void push(const T& value) {
    if (next_ == limit_) [[unlikely]]
      make_room();
    *next_++ = value;
  }

  // Forgets everything below `index`. Requires tail <= index <= head. An emptied log continues at
  // its front: short bursts reuse the same few cache lines instead of walking through the room.
  void drop_before(std::uint64_t index) {
    EXAWARP_DCHECK(index >= tail_ && index <= head(), index, tail_, head());
    tail_ = index;
    if (tail_ != head()) return;
    next_ = slots_.get();
    start_at(tail_);
  }

  // Forgets everything from `index` on. Requires tail <= index <= head.
  void drop_from(std::uint64_t index) {
    EXAWARP_DCHECK(index >= tail_ && index <= head(), index, tail_, head());
    next_ = slots_.get() + (index - base_);
  }

 private:
  [[gnu::noinline]] void make_room() {
    const auto capacity = static_cast<std::size_t>(limit_ - slots_.get());
    const std::size_t live = size();
    const T* const first = slots_.get() + (tail_ - base_);
    if (live <= capacity / 2) {
      std::copy(first, first + live, slots_.get());
    } else {
      std::unique_ptr<T[]> wider(new T[2 * capacity]);
      std::copy(first, first + live, wider.get());
      slots_ = std::move(wider);
      limit_ = slots_.get() + 2 * capacity;
    }
    next_ = slots_.get() + live;
    start_at(tail_);
  }

  // The first slot's index is now `index`.
  void start_at(std::uint64_t index) {
    base_ = index;
    bias_ = index - reinterpret_cast<std::uintptr_t>(slots_.get()) / sizeof(T);
  }

  std::unique_ptr<T[]> slots_;
  T* next_;
  T* limit_;
  std::uint64_t base_ = 0;  // index of the first slot
  std::uint64_t bias_ = 0;  // an index less its slot's address in slots
  std::uint64_t tail_ = 1;  // 0 is nobody's index, so that a zeroed LP header has no history
};

}  // namespace exawarp::pdes
