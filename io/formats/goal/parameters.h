// The LogGOPS parameters as a user writes them: ns, and ns per byte, with up to six decimals.
#pragma once

#include <string>

#include "model/guests/goal/parameters.h"

namespace exawarp::io {

// Texts, LogGOPSim's defaults.
struct GoalParameterTexts {
  std::string L = "2500", o = "1500", g = "1000", G = "6", O = "0", S = "65535";
};

// Exact: the unit is the coarsest power of ten of a nanosecond in which all of them are whole.
// Throws core::InputError "--G: ...".
model::goal::Parameters read_goal_parameters(const GoalParameterTexts& texts);

// `units` in ns, exactly: "793415700", "12.04".
std::string format_ns(std::int64_t units, std::uint32_t units_per_ns);

}  // namespace exawarp::io
