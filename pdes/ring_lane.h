// A growable circular array addressed by ever-increasing indices: one lane of the history.
// Owner:     one partition.
// Invariant: valid indices are [tail, head); an index keeps its meaning when the lane grows.
// Cost:      push O(1) amortised; growth re-lays the live entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "core/check.h"

namespace exawarp::pdes {

template <class T>
class RingLane {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit RingLane(std::size_t capacity_log2 = 8)
      : mask_((std::size_t{1} << capacity_log2) - 1), slots_(new T[mask_ + 1]) {}

  [[nodiscard]] std::uint64_t head() const { return head_; }
  [[nodiscard]] std::uint64_t tail() const { return tail_; }
  [[nodiscard]] std::size_t size() const { return head_ - tail_; }
  [[nodiscard]] std::size_t capacity_bytes() const { return (mask_ + 1) * sizeof(T); }

  [[nodiscard]] T& operator[](std::uint64_t index) {
    EXAWARP_DCHECK(index >= tail_ && index < head_, index, tail_, head_);
    return slots_[index & mask_];
  }

  void push(const T& value) {
    if (size() > mask_) [[unlikely]]
      grow();
    slots_[head_++ & mask_] = value;
  }

  // Forgets everything below `index`. Requires tail <= index <= head.
  void drop_before(std::uint64_t index) {
    EXAWARP_DCHECK(index >= tail_ && index <= head_, index, tail_, head_);
    tail_ = index;
  }

  // An empty lane goes on at its first slot, whatever indices it has come to: short bursts then
  // reuse the same few cache lines instead of walking through the whole capacity.
  void rewind_if_empty() {
    if (size() == 0) head_ = tail_ = (head_ + mask_) & ~std::uint64_t{mask_};
  }

  // Forgets everything from `index` on. Requires tail <= index <= head.
  void drop_from(std::uint64_t index) {
    EXAWARP_DCHECK(index >= tail_ && index <= head_, index, tail_, head_);
    head_ = index;
  }

 private:
  void grow() {
    const std::size_t wider = 2 * mask_ + 1;
    std::unique_ptr<T[]> slots(new T[wider + 1]);
    for (std::uint64_t i = tail_; i != head_; ++i) slots[i & wider] = slots_[i & mask_];
    slots_ = std::move(slots);
    mask_ = wider;
  }

  std::size_t mask_;
  std::unique_ptr<T[]> slots_;
  std::uint64_t head_ = 1;  // 0 is nobody's index, so a zeroed LP header has no history
  std::uint64_t tail_ = 1;
};

}  // namespace exawarp::pdes
