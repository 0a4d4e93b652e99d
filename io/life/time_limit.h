// --time-limit: how long the program may take, in host seconds from its start.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "core/error.h"

namespace exawarp::io {

class TimeLimit {
 public:
  using Clock = std::chrono::steady_clock;

  // `limit_s` 0: none.
  TimeLimit(double limit_s, Clock::time_point started) : limit_s_(limit_s), started_(started) {}

  [[nodiscard]] bool is_over() const { return limit_s_ > 0 && left() <= 0; }

  // Between two steps of setting up: throws core::SystemError where the time is over.
  void check(const std::string& file, const char* done) const {
    if (!is_over()) return;
    throw core::SystemError(
        fmt::format("{}: host time ran out after {:g} s (--time-limit) {}, "
                    "before the simulation began; a longer limit would help",
                    file, limit_s_, done));
  }

  // What pdes::EngineOptions takes: 0 where there is no limit, and never 0 where there is.
  [[nodiscard]] double left_s() const {
    constexpr double kLeast = 1e-9;
    return limit_s_ > 0 ? std::max(kLeast, left()) : 0;
  }

 private:
  [[nodiscard]] double left() const {
    return limit_s_ - std::chrono::duration<double>(Clock::now() - started_).count();
  }

  double limit_s_;
  Clock::time_point started_;
};

}  // namespace exawarp::io
