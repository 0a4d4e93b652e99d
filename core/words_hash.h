// A hash of so many words, for containers that are looked up and never gone through.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/digest.h"

namespace exawarp::core {

struct WordsHash {
  template <std::size_t kWords>
  std::size_t operator()(const std::array<std::uint64_t, kWords>& words) const {
    Hasher hash;
    for (const std::uint64_t word : words) hash.word(word);
    return hash.value();
  }
};

}  // namespace exawarp::core
