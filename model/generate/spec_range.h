// Ranges of what generators are asked for, where several share them.
#pragma once

#include <cstdint>

namespace exawarp::model {

constexpr std::int64_t kStepsMax = 1'000'000;      // training steps of a workload
constexpr std::int64_t kGlobalBatchMax = 1 << 24;  // samples of a step, of networks of plain layers

// Throws SpecProblem unless first <= value <= last.
void in_range(const char* key, std::int64_t value, std::int64_t first, std::int64_t last);

// Requires value >= 0, which a specification that was checked guarantees.
constexpr std::uint64_t unsign(std::int64_t value) { return static_cast<std::uint64_t>(value); }

}  // namespace exawarp::model
