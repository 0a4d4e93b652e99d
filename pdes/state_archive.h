// One description of a logical process's state, and what is made of it.
//
// A type of logical process describes its state once, by handing each field to an archive:
//
//   static void describe(State& s, StateArchive& archive) {
//     archive.word(s.served);
//     s.customers.describe(archive, [&](Customer& c) { archive.word(c.arrived); });
//   }
//
// What the archive is decides what becomes of it: the digest hashes the fields, a StateWriter
// turns them into bytes, a StateReader sets them from such bytes, a StateRelease gives the blocks
// of the containers back. Containers are described by their elements, never by their address, so
// the reader makes them anew in the partition that the state is to live in.
//
// All archives see the same fields in the same order. A field that others depend on (a count, a
// presence) comes before them. Every field is described; where the digest has no use for one,
// because it follows from others, it is kept() rather than a word().
// Cost: one virtual call a field; none of this runs in an event, save under audit.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "core/check.h"
#include "core/digest.h"
#include "core/time.h"
#include "pdes/block_pool.h"

namespace exawarp::pdes {

// A container has its address in a union with one of these, whose size differs. No struct with
// such a union in it has bytes that stand for its value, so bytes(), word() and kept() do not
// compile for it: nobody describes an address by mistake.
struct NoBytes {
  char unused;
};

class StateArchive {
 public:
  StateArchive(const StateArchive&) = delete;
  StateArchive& operator=(const StateArchive&) = delete;

  // A field that the digest takes as one word: an integer, an enumerator or a time.
  template <class T>
  void word(T& field) {
    kept(field);
    if constexpr (std::is_same_v<T, core::Time>) {
      digest_word(static_cast<std::uint64_t>(field.ps));
    } else {
      static_assert(std::is_integral_v<T> || std::is_enum_v<T>);
      digest_word(static_cast<std::uint64_t>(field));
    }
  }
  // `count` elements that lie together; the digest takes them as they lie, and the length.
  template <class T>
  void bytes(T* elements, std::size_t count = 1) {
    static_assert(std::has_unique_object_representations_v<T> && !std::is_pointer_v<T>,
                  "padding or addresses would reach the digest");
    if (count != 0) raw(elements, count * sizeof(T));
    if (hasher_ != nullptr) hasher_->bytes(elements, count * sizeof(T));
  }
  // A field that the digest does not take, or takes by digest_word().
  template <class T>
  void kept(T& field) {
    static_assert(std::has_unique_object_representations_v<T> && !std::is_pointer_v<T>,
                  "describe its members");
    raw(&field, sizeof field);
  }
  // Two fields that the digest takes as one word.
  void pair(std::uint32_t& high, std::uint32_t& low) {
    kept(high);
    kept(low);
    digest_word(std::uint64_t{high} << 32 | low);
  }
  // For the digest alone: what stands there for fields that are kept().
  void digest_word(std::uint64_t value) {
    if (hasher_ != nullptr) hasher_->word(value);
  }
  [[nodiscard]] bool is_digest() const { return hasher_ != nullptr; }
  // For the digest alone: it is `value`, and nothing else.
  void digest_as(std::uint64_t value) { whole_digest_ = value; }
  // What `describe()` describes comes into the digest as one word, the hash of it.
  template <class Describe>
  void part(Describe&& describe) {
    if (hasher_ == nullptr) return describe();
    const core::Hasher outer = *hasher_;
    *hasher_ = core::Hasher{};
    describe();
    const std::uint64_t inner = hasher_->value();
    *hasher_ = outer;
    hasher_->word(inner);
  }

  // An array of `count` elements in a block of the partition's; null where count is 0. Requires
  // that `count` is set. Calls each(T&).
  template <class T, class Each>
  void array(T*& elements, std::uint32_t count, Each&& each) {
    if (rebuilds()) elements = count == 0 ? nullptr : new_block<T>(count);
    for (std::uint32_t i = 0; i < count; ++i) each(elements[i]);
    if (count != 0) described(elements, count);
  }

  // Of a container whose block has room for a power of two of elements, four at least: how many it
  // has, and, where fields are set, room for them.
  template <class T>
  void room(T*& block, std::uint32_t& size, std::uint32_t& capacity) {
    kept(size);
    if (!rebuilds() || size == 0) return;
    capacity = std::bit_ceil(std::max(size, 4u));
    block = new_block<T>(capacity);
  }

  // For containers. Whether fields are set rather than read.
  [[nodiscard]] virtual bool rebuilds() const { return false; }
  // Room for `count` elements, in which nothing is set. Requires rebuilds(), count > 0.
  template <class T>
  [[nodiscard]] T* new_block(std::uint32_t count) {
    return static_cast<T*>(allocate(class_of(std::uint64_t{count} * sizeof(T))));
  }
  // The container's block of `count` elements, all of which were described.
  template <class T>
  void described(T* block, std::uint32_t count) {
    release(block, class_of(std::uint64_t{count} * sizeof(T)));
  }

 protected:
  StateArchive() = default;
  ~StateArchive() = default;
  virtual void raw(void* data, std::size_t bytes) = 0;
  virtual void* allocate(std::uint32_t /*size_class*/) { return nullptr; }
  virtual void release(void* /*block*/, std::uint32_t /*size_class*/) {}

  core::Hasher* hasher_ = nullptr;  // null: this is no digest
  std::optional<std::uint64_t> whole_digest_;

 private:
  static std::uint32_t class_of(std::uint64_t bytes);
};

// The 64-bit hash of a state.
class StateDigest final : public StateArchive {
 public:
  StateDigest() { hasher_ = &own_; }
  [[nodiscard]] std::uint64_t value() const { return whole_digest_.value_or(own_.value()); }

 private:
  void raw(void*, std::size_t) override {}
  core::Hasher own_;
};

// All of a state as bytes, equal for equal states wherever they live.
class StateWriter final : public StateArchive {
 public:
  [[nodiscard]] std::vector<std::byte>& bytes() { return bytes_; }

 private:
  void raw(void* data, std::size_t size) override {
    const auto* from = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), from, from + size);
  }
  std::vector<std::byte> bytes_;
};

// Sets a default-constructed state from a writer's bytes. Its containers take blocks of `blocks`.
class StateReader final : public StateArchive {
 public:
  StateReader(std::span<const std::byte> bytes, BlockPool& blocks)
      : left_(bytes), blocks_(blocks) {}
  // Whether nothing is left.
  [[nodiscard]] bool is_at_end() const { return left_.empty(); }
  [[nodiscard]] bool rebuilds() const override { return true; }

 private:
  void raw(void* data, std::size_t size) override {
    EXAWARP_CHECK(size <= left_.size(), size, left_.size());
    std::memcpy(data, left_.data(), size);
    left_ = left_.subspan(size);
  }
  void* allocate(std::uint32_t size_class) override { return blocks_.allocate(size_class); }
  std::span<const std::byte> left_;
  BlockPool& blocks_;
};

// Gives the blocks of a state's containers back; the state is not to be used again.
class StateRelease final : public StateArchive {
 public:
  explicit StateRelease(BlockPool& blocks) : blocks_(blocks) {}

 private:
  void raw(void*, std::size_t) override {}
  void release(void* block, std::uint32_t size_class) override {
    blocks_.release(block, size_class);
  }
  BlockPool& blocks_;
};

}  // namespace exawarp::pdes
