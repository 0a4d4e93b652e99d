// A vector in an LP's state whose every change can be rolled back.
// The elements lie in a block of the partition; the state holds pointer, size and capacity, so
// the state stays trivially copyable. Growth allocates a new block; the old one is released when
// the event commits.
// Cost: one undo entry per 8 bytes changed. Meant for short lists of what is in flight.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "pdes/block_pool.h"
#include "pdes/context.h"
#include "pdes/state_archive.h"

namespace exawarp::pdes {

template <class T>
class UndoVector {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 16);

 public:
  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  // Requires i < size().
  [[nodiscard]] const T& operator[](std::uint32_t i) const { return data_[i]; }
  // The same, whose fields the caller changes only through ctx.set; it is valid until the next
  // push_back().
  [[nodiscard]] T& at(std::uint32_t i) { return data_[i]; }
  [[nodiscard]] const T* begin() const { return data_; }
  [[nodiscard]] const T* end() const { return data_ + size_; }

  // Requires i < size().
  void assign(Context& ctx, std::uint32_t i, const T& value) { ctx.set(data_[i], value); }

  // Makes room for `size` elements, at most 2^31. Callers who know the number of elements avoid
  // outgrown blocks, which are freed only at commit.
  void reserve(Context& ctx, std::uint32_t size) {
    if (capacity_ < size) grow(ctx, std::bit_ceil(size));
  }

  void push_back(Context& ctx, const T& value) {
    if (size_ == capacity_) grow(ctx, capacity_ == 0 ? 4 : 2 * capacity_);
    ctx.set(data_[size_], value);
    ctx.set(size_, size_ + 1);
  }

  // push_back() for a vector from which nothing is ever erased: then no state that a rollback could
  // restore has anything behind its end, so nothing there need be saved.
  void extend(Context& ctx, const T& value) {
    if (size_ == capacity_) grow(ctx, capacity_ == 0 ? 4 : 2 * capacity_);
    data_[size_] = value;
    ctx.set(size_, size_ + 1);
  }

  // Removes element i and keeps the order of the rest. Requires i < size().
  void erase(Context& ctx, std::uint32_t i) {
    for (; i + 1 < size_; ++i) ctx.set(data_[i], data_[i + 1]);
    ctx.set(size_, size_ - 1);
  }

  // Removes all elements and keeps their room.
  void clear(Context& ctx) {
    if (size_ != 0) ctx.set(size_, 0u);
  }

  // The elements, first to last: calls each(T&), which describes one.
  template <class Each>
  void describe(StateArchive& archive, Each&& each) {
    if (archive.rebuilds()) *this = {};
    archive.room(data_, size_, capacity_);
    for (std::uint32_t i = 0; i < size_; ++i) each(data_[i]);
    if (capacity_ != 0) archive.described(data_, capacity_);
  }

 private:
  void grow(Context& ctx, std::uint32_t wider) {
    const auto size_class = size_class_of(wider * sizeof(T));
    T* fresh = static_cast<T*>(ctx.allocate_block(size_class));
    if (size_ != 0) std::memcpy(static_cast<void*>(fresh), data_, size_ * sizeof(T));
    if (capacity_ != 0) ctx.release_block(data_, size_class_of(capacity_ * sizeof(T)));
    ctx.set(data_, fresh);
    ctx.set(capacity_, wider);
  }

  union {
    T* data_ = nullptr;
    NoBytes no_bytes_;
  };
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = 0;
};

}  // namespace exawarp::pdes
