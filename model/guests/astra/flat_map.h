// A hash table of plain keys and values: open addressing, linear probing, erasure by shifting back,
// so that its size follows what it holds and never what it once held.
// Its order is never seen: there is no iteration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/random.h"

namespace exawarp::model::astra {

constexpr std::uint64_t hash_of(std::uint64_t key) { return core::mix64(key); }

// Key: equality and `std::uint64_t hash_of(Key)`. Cost: O(1) expected.
template <class Key, class Value>
class FlatMap {
 public:
  FlatMap() : slots_(kSlotsMin) {}
  // nullptr where there is none. Pointers last until the next insertion or erasure.
  [[nodiscard]] Value* find(const Key& key) {
    for (std::size_t i = home(key);; i = next(i)) {
      Slot& slot = slots_[i];
      if (!slot.used) return nullptr;
      if (slot.key == key) return &slot.value;
    }
  }
  // Requires that `key` is absent.
  Value& insert(const Key& key, Value value) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    std::size_t i = home(key);
    while (slots_[i].used) i = next(i);
    slots_[i] = {key, std::move(value), true};
    ++count_;
    return slots_[i].value;
  }
  // Requires that `key` is present.
  void erase(const Key& key) {
    std::size_t hole = home(key);
    while (!(slots_[hole].key == key)) {
      EXAWARP_DCHECK(slots_[hole].used, hole);
      hole = next(hole);
    }
    for (std::size_t i = next(hole); slots_[i].used; i = next(i)) {
      const std::size_t wanted = home(slots_[i].key);
      // The entry at i may move into the hole unless its home lies in (hole, i], cyclically.
      if (((i - wanted) & mask()) >= ((i - hole) & mask())) {
        slots_[hole] = std::move(slots_[i]);
        hole = i;
      }
    }
    slots_[hole].used = false;
    --count_;
  }
  [[nodiscard]] std::size_t size() const { return count_; }

 private:
  static constexpr std::size_t kSlotsMin = 64;
  struct Slot {
    Key key{};
    Value value{};
    bool used = false;
  };
  [[nodiscard]] std::size_t mask() const { return slots_.size() - 1; }
  [[nodiscard]] std::size_t home(const Key& key) const { return hash_of(key) & mask(); }
  [[nodiscard]] std::size_t next(std::size_t i) const { return (i + 1) & mask(); }
  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    count_ = 0;
    for (Slot& slot : old) {
      if (slot.used) insert(slot.key, std::move(slot.value));
    }
  }
  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace exawarp::model::astra
