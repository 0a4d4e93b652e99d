// Incremental state saving: the old bytes of every field a handler changed, in order.
// Idea: 16 bytes an entry, address and size packed into one word (user-space addresses use 48
// bits), so that undoing is a backward scan with one store an entry.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "pdes/log.h"

namespace exawarp::pdes {

// Owner: one partition. Invariant: entries of one event are contiguous, oldest first.
class UndoLog {
 public:
  // Saves the bytes of `field`, eight at a time.
  template <class T>
  [[gnu::always_inline]] void save(T& field) {
    static_assert(std::is_trivially_copyable_v<T>);
    auto* at = reinterpret_cast<std::byte*>(&field);
    constexpr std::size_t kWords = (sizeof(T) - 1) / 8;
    for (std::size_t i = 0; i < kWords; ++i) save_word<8>(at + 8 * i);
    save_word<sizeof(T) - 8 * kWords>(at + 8 * kWords);
  }

  [[nodiscard]] std::uint64_t head() const { return log_.head(); }
  [[nodiscard]] std::uint64_t tail() const { return log_.tail(); }
  [[nodiscard]] std::size_t capacity_bytes() const { return log_.capacity_bytes(); }

  // Puts the bytes of entries [begin, end) back, newest first.
  void restore(std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = end; i-- != begin;) {
      const Entry& entry = log_[i];
      std::memcpy(std::bit_cast<void*>(entry.packed & kAddressMask), &entry.old_value,
                  entry.packed >> kAddressBits);
    }
  }
  void drop_before(std::uint64_t index) { log_.drop_before(index); }
  void drop_from(std::uint64_t index) { log_.drop_from(index); }

 private:
  struct Entry {
    std::uint64_t packed;
    std::uint64_t old_value;
  };
  static constexpr int kAddressBits = 48;
  static constexpr std::uint64_t kAddressMask = (std::uint64_t{1} << kAddressBits) - 1;

  template <std::size_t size>
  [[gnu::always_inline]] void save_word(const std::byte* at) {
    Entry entry{std::bit_cast<std::uint64_t>(at) | (std::uint64_t{size} << kAddressBits), 0};
    std::memcpy(&entry.old_value, at, size);
    log_.push(entry);
  }

  Log<Entry> log_{1024};
};

}  // namespace exawarp::pdes
