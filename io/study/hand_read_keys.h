// Entries of the tables of keys that are read by hand: shape, default and meaning, without a member
// that they go to.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "io/study/keys.h"

namespace exawarp::io {

using HandReadKeys = Keys<NoSpec>;

inline ValueShape count(std::int64_t min, std::int64_t max) {
  return ValueShape::integer({min, max});
}

inline HandReadKeys::Key key(std::string name, ValueShape shape, std::string fallback,
                             std::string meaning) {
  HandReadKeys::Key out =
      HandReadKeys::custom(std::move(name), {std::move(shape)}, std::move(meaning));
  out.schema.fallback = std::move(fallback);
  return out;
}

inline HandReadKeys::Key required(std::string name, ValueShape shape, std::string meaning) {
  return key(std::move(name), std::move(shape), "", std::move(meaning)).required();
}

}  // namespace exawarp::io
