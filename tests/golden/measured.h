// One line of what docs/laboratory/validation.md quotes: what was expected, what came out.
#pragma once

#include <fmt/core.h>

#include <string_view>

namespace exawarp::tests {

inline void print_measured(std::string_view what, double expected, double measured) {
  fmt::print("{:<72} expected {:>9.4f}  measured {:>9.4f}\n", what, expected, measured);
}

}  // namespace exawarp::tests
