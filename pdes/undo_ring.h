// A first-in, first-out queue in an LP's state whose every change can be rolled back.
// The elements lie in a power-of-two block of the partition, so the state holds a pointer and
// three counts and stays trivially copyable. An empty queue that was never used holds no memory.
// Cost: one undo entry per 8 bytes pushed, and one each for head and size.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "pdes/block_pool.h"
#include "pdes/context.h"
#include "pdes/state_archive.h"

namespace exawarp::pdes {

template <class T>
class UndoRing {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 16);

 public:
  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  // The i-th from the front. Requires i < size().
  [[nodiscard]] const T& operator[](std::uint32_t i) const {
    return data_[(head_ + i) & (capacity_ - 1)];
  }
  // Requires !empty().
  [[nodiscard]] const T& front() const { return (*this)[0]; }

  void push_back(Context& ctx, const T& value) {
    if (size_ == capacity_) grow(ctx);
    ctx.set(data_[(head_ + size_) & (capacity_ - 1)], value);
    ctx.set(size_, size_ + 1);
  }
  // Requires !empty().
  void pop_front(Context& ctx) {
    ctx.set(head_, (head_ + 1) & (capacity_ - 1));
    ctx.set(size_, size_ - 1);
  }

  // The elements, front to back: calls each(T&), which describes one.
  template <class Each>
  void describe(StateArchive& archive, Each&& each) {
    if (archive.rebuilds()) *this = {};
    archive.room(data_, size_, capacity_);
    for (std::uint32_t i = 0; i < size_; ++i) each(data_[(head_ + i) & (capacity_ - 1)]);
    if (capacity_ != 0) archive.described(data_, capacity_);
  }

 private:
  // The grown queue starts at index 0 of its block.
  void grow(Context& ctx) {
    const std::uint32_t wider = capacity_ == 0 ? 4 : 2 * capacity_;
    T* fresh = static_cast<T*>(ctx.allocate_block(size_class_of(wider * sizeof(T))));
    for (std::uint32_t i = 0; i < size_; ++i) {
      std::memcpy(static_cast<void*>(fresh + i), &(*this)[i], sizeof(T));
    }
    if (capacity_ != 0) ctx.release_block(data_, size_class_of(capacity_ * sizeof(T)));
    ctx.set(data_, fresh);
    ctx.set(head_, 0u);
    ctx.set(capacity_, wider);
  }

  union {
    T* data_ = nullptr;
    NoBytes no_bytes_;
  };
  std::uint32_t head_ = 0;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = 0;  // 0 or a power of two
  std::uint32_t unused_ = 0;
};

}  // namespace exawarp::pdes
