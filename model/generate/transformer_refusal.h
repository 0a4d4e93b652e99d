// Inside the checks of a transformer's specification: what they have in common.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "model/generate/transformer_spec.h"

namespace exawarp::model {

constexpr std::int64_t kWidthMax = 1 << 24;  // hidden, ffn, vocabulary, sequence length
constexpr std::int64_t kCountMax = 0xfffe;   // layers, heads, micro-batches: 16 bits a node
constexpr std::int64_t kPartsMax = 64;

template <class... Values>
[[noreturn]] void refuse(const char* key, fmt::format_string<Values...> text, Values&&... values) {
  throw SpecProblem(key, fmt::format(text, std::forward<Values>(values)...));
}

// `part` (a parallel size, named by key) must divide `whole`.
inline void divides(const char* key, std::int64_t part, const char* what, std::int64_t whole) {
  if (whole % part != 0)
    refuse(key, "{} does not divide {}: {}; expected a divisor", part, what, whole);
}

// Throws SpecProblem unless the network by itself can be.
void check_network(const ModelSpec& model);

}  // namespace exawarp::model
