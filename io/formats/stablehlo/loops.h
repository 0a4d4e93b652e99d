// How often a loop runs.
#pragma once

#include <cstdint>
#include <optional>

#include "io/formats/stablehlo/module.h"

namespace exawarp::io::stablehlo {

// Of a `while` whose condition compares one of its variables with a constant, where the variable
// starts at a constant and a constant is added to it, or subtracted, in each turn. Nothing for any
// other loop, and for one that would not end.
std::optional<std::uint64_t> trip_count(const Operation& loop, const Module& module);

}  // namespace exawarp::io::stablehlo
