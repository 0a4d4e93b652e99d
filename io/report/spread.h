// Times as their mean, percentiles and maximum, as reports of requests print them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/time.h"

namespace exawarp::io {

// Zeros of no times.
struct Spread {
  core::Time mean, p50, p90, p99, most;
};
Spread spread_of(std::vector<core::Time> times);

nlohmann::ordered_json json_of(const Spread& spread);
std::string text_of(const Spread& spread);

}  // namespace exawarp::io
