// Blocks of logical processes that hold more than one struct: a head, then parts as many as the
// head says. Which parts follow a head, and in which order, is stated once, by a `visit(has,
// visitor)` that hands each to a visitor; what the visitor is decides what becomes of them: their
// addresses are found, they are made, described (StateArchive) or only counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

#include "pdes/state_archive.h"

namespace exawarp::model {

template <class Head, class T>  // a head, or a const one
using Like = std::conditional_t<std::is_const_v<Head>, const T, T>;

// Sets the pointers to the parts; at its end it knows the size of the block.
class PartFinder {
 public:
  template <class Head>
  explicit PartFinder(const Head* block)
      : block_(reinterpret_cast<std::uintptr_t>(block)), at_(block_ + sizeof(Head)) {}

  template <class T>
  void array(T*& part, std::size_t count) {
    part = reinterpret_cast<T*>(at_);
    at_ += count * sizeof(T);
  }
  template <class T>
  void one_if(T*& part, bool present) {
    part = present ? reinterpret_cast<T*>(at_) : nullptr;
    if (present) at_ += sizeof(T);
  }
  template <class T>
  void block(T*& part, std::size_t bytes) {
    part = reinterpret_cast<T*>(at_);
    at_ += bytes;
  }
  // The block's head and the engine's header, 64 bytes together, end at a line.
  void next_line() { at_ = block_ + (at_ - block_ + 63) / 64 * 64; }
  [[nodiscard]] std::size_t bytes() const { return at_ - block_; }

 private:
  std::uintptr_t block_;
  std::uintptr_t at_;
};

// Finds the parts and makes them.
class PartMaker : public PartFinder {
 public:
  using PartFinder::PartFinder;
  template <class T>
  void array(T*& part, std::size_t count) {
    PartFinder::array(part, count);
    std::uninitialized_value_construct_n(part, count);
  }
  template <class T>
  void one_if(T*& part, bool present) {
    PartFinder::one_if(part, present);
    if (present) ::new (part) T{};
  }
};

// Finds arrays and describes them: elements that hold a container each by its own describe().
class ArrayDescriber : public PartFinder {
 public:
  template <class Head>
  ArrayDescriber(Head* block, pdes::StateArchive& archive) : PartFinder(block), archive_(archive) {}

  template <class T>
  void array(T*& part, std::size_t count) {
    PartFinder::array(part, count);
    if constexpr (std::has_unique_object_representations_v<T>) {
      archive_.bytes(part, count);
    } else {
      for (std::size_t i = 0; i < count; ++i) describe(archive_, part[i]);
    }
  }

 private:
  pdes::StateArchive& archive_;
};

}  // namespace exawarp::model
