// The summary that people read at the end of a run.
#pragma once

#include <string>

#include "io/report/results.h"

namespace exawarp::io {

// Step time, rates, the breakdown of device time by class, and how the engine did.
std::string text_summary(const RunReport& report);

// The line that a deadlock ends with, and below it who waits for what.
std::string deadlock_text(const RunReport& report);

// The summary of `exawarp phold`.
std::string phold_text(const PholdReport& report);

}  // namespace exawarp::io
