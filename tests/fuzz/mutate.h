// Mutations of a text or a file, a pure function of seed and inputs.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace exawarp::fuzz {

struct MutationInput {
  std::string bytes;                    // what is changed
  std::span<const std::string> others;  // what pieces may come from
  std::span<const std::string> words;   // what may be put in
};

// One to eight changes, few more often than many: bits flipped, bytes replaced, pieces
// cut, doubled, taken from others, words put in, digits changed.
std::string mutated(const MutationInput& input, std::uint64_t seed);

}  // namespace exawarp::fuzz
