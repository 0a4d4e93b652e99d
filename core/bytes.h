// Plain values in a run of bytes, one after the other, as they lie in memory.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "core/error.h"

namespace exawarp::core {

template <class T>
void append_bytes(std::vector<std::byte>& bytes, const T& value) {
  static_assert(std::has_unique_object_representations_v<T>, "padding would be written");
  const std::size_t end = bytes.size();
  bytes.resize(end + sizeof value);
  std::memcpy(bytes.data() + end, &value, sizeof value);
}

// What is left of a run of bytes. Throws InputError, without a place, where that is not enough.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : left_(bytes) {}

  template <class T>
  [[nodiscard]] T next() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  [[nodiscard]] std::span<const std::byte> take(std::size_t size) {
    if (size > left_.size()) throw InputError("is shorter than it says");
    const auto taken = left_.first(size);
    left_ = left_.subspan(size);
    return taken;
  }
  [[nodiscard]] bool is_at_end() const { return left_.empty(); }

 private:
  std::span<const std::byte> left_;
};

}  // namespace exawarp::core
