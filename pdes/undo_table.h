// A hash table in an LP's state whose every change can be rolled back: what is in flight, by a
// 64-bit key.
// Open addressing with linear probing; erasing moves followers back, so there are no tombstones
// and the layout depends only on the operations, not on addresses. It doubles at three quarters
// full and never shrinks. T is trivially copyable and has a member `std::uint64_t key`, below
// kNoKey.
// Cost: find O(1) expected; insert and erase one undo entry per 8 bytes moved.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/random.h"
#include "pdes/block_pool.h"
#include "pdes/context.h"
#include "pdes/state_archive.h"

namespace exawarp::pdes {

template <class T>
class UndoTable {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 16);

 public:
  static constexpr std::uint64_t kNoKey = std::numeric_limits<std::uint64_t>::max();

  [[nodiscard]] std::uint32_t size() const { return size_; }
  // Null where there is none. The caller changes fields through ctx.set, but never the key; the
  // pointer holds until the next insert or erase.
  [[nodiscard]] T* find(std::uint64_t key) {
    if (size_ == 0) return nullptr;
    T& slot = data_[slot_of(key)];
    return slot.key == key ? &slot : nullptr;
  }

  // Asks the processor for where find() will look first. A call would be left out: to the compiler
  // a function that only prefetches does nothing.
  [[gnu::always_inline]] void prefetch(std::uint64_t key) const {
    if (size_ != 0) __builtin_prefetch(&data_[home_of(key)], 1);
  }

  // Requires that value.key is not in the table.
  T& insert(Context& ctx, const T& value) {
    if (4 * (size_ + 1) > 3 * capacity_) grow(ctx);
    T& slot = data_[slot_of(value.key)];
    ctx.set(slot, value);
    ctx.set(size_, size_ + 1);
    return slot;
  }

  // Requires that `element` is one that find() or insert() returned and still holds.
  void erase(Context& ctx, T* element) {
    const std::uint32_t mask = capacity_ - 1;
    auto hole = static_cast<std::uint32_t>(element - data_);
    for (std::uint32_t at = (hole + 1) & mask; data_[at].key != kNoKey; at = (at + 1) & mask) {
      const std::uint32_t home = home_of(data_[at].key);
      // May fill the hole if its home is not cyclically in (hole, at].
      if (((at - home) & mask) < ((at - hole) & mask)) continue;
      ctx.set(data_[hole], data_[at]);
      hole = at;
    }
    ctx.set(data_[hole].key, kNoKey);
    ctx.set(size_, size_ - 1);
  }

  // Calls visitor(const T&) for each element, in table order: the same in every run.
  template <class Visitor>
  void visit(Visitor&& visitor) const {
    for (std::uint32_t i = 0; i < capacity_; ++i) {
      if (data_[i].key != kNoKey) visitor(data_[i]);
    }
  }

  // The elements and where each lies, in table order: calls each(T&), which describes one, its key
  // included.
  template <class Each>
  void describe(StateArchive& archive, Each&& each) {
    std::uint32_t size = size_;
    std::uint32_t capacity = capacity_;
    archive.kept(size);
    archive.kept(capacity);
    if (archive.rebuilds()) {
      *this = {};
      rebuild(archive, size, capacity, each);
      return;
    }
    for (std::uint32_t at = 0; at < capacity; ++at) {
      if (data_[at].key == kNoKey) continue;
      archive.kept(at);
      each(data_[at]);
    }
    if (capacity != 0) archive.described(data_, capacity);
  }

 private:
  template <class Each>
  void rebuild(StateArchive& archive, std::uint32_t size, std::uint32_t capacity, Each& each) {
    if (capacity == 0) return;
    EXAWARP_CHECK(std::has_single_bit(capacity) && size < capacity, size, capacity);
    data_ = archive.new_block<T>(capacity);
    clear(data_, capacity);
    size_ = size;
    capacity_ = capacity;
    for (std::uint32_t n = 0; n < size; ++n) {
      std::uint32_t at = 0;
      archive.kept(at);
      EXAWARP_CHECK(at < capacity, at, capacity);
      each(data_[at]);
    }
  }
  static void clear(T* slots, std::uint32_t count) {
    std::memset(static_cast<void*>(slots), 0, count * sizeof(T));
    for (std::uint32_t i = 0; i < count; ++i) slots[i].key = kNoKey;
  }
  [[nodiscard]] std::uint32_t home_of(std::uint64_t key) const {
    return static_cast<std::uint32_t>(core::mix64(key)) & (capacity_ - 1);
  }
  // Where `key` is or would go. Requires a free slot.
  [[nodiscard]] std::uint32_t slot_of(std::uint64_t key) const {
    std::uint32_t at = home_of(key);
    while (data_[at].key != kNoKey && data_[at].key != key) at = (at + 1) & (capacity_ - 1);
    return at;
  }
  void grow(Context& ctx) {
    T* const old = data_;
    const std::uint32_t narrower = capacity_;
    const std::uint32_t wider = narrower == 0 ? 4 : 2 * narrower;
    T* fresh = static_cast<T*>(ctx.allocate_block(size_class_of(wider * sizeof(T))));
    clear(fresh, wider);
    ctx.set(data_, fresh);
    ctx.set(capacity_, wider);
    for (std::uint32_t i = 0; i < narrower; ++i) {
      if (old[i].key != kNoKey) data_[slot_of(old[i].key)] = old[i];
    }
    if (narrower != 0) ctx.release_block(old, size_class_of(narrower * sizeof(T)));
  }

  union {
    T* data_ = nullptr;
    NoBytes no_bytes_;
  };
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = 0;  // 0 or a power of two
};

}  // namespace exawarp::pdes
