#include "model/generate/spec_range.h"

#include <fmt/format.h>

#include "model/generate/spec.h"

namespace exawarp::model {

void in_range(const char* key, std::int64_t value, std::int64_t first, std::int64_t last) {
  if (value >= first && value <= last) return;
  throw SpecProblem(key, fmt::format("out of range: {}; expected {} to {}", value, first, last));
}

}  // namespace exawarp::model
