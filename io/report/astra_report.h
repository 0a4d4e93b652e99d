// What `exawarp astra` prints: ASTRA-sim's own lines, and what keeps ranks from finishing.
#pragma once

#include <cstdint>
#include <string>

#include "io/report/ran.h"
#include "model/guests/astra/simulation.h"

namespace exawarp::io {

// Beside the engine: it has no events, digest or partitions of pdes.
struct AstraReport {
  RunStatus status = RunStatus::finished;
  model::astra::Result result;
  std::uint32_t npus = 0;   // ranks of the job
  std::string lines;        // as ASTRA-sim prints them, rank by rank as they finished
  std::string finishes;     // JSON objects, separated by commas, in the same order
  double time_limit_s = 0;  // 0: none
};

// What ASTRA-sim prints of a rank that finishes.
std::string finished_lines(const model::astra::Finish& finish, bool roofline);

// The same as a JSON object.
std::string finished_json(const model::astra::Finish& finish, bool roofline);

// The keys are listed in docs/guide/astra.md.
std::string astra_json(const AstraReport& report);

// For standard error: the line that a deadlock ends with, and below it who waits for what.
std::string deadlock_text(const AstraReport& report);

}  // namespace exawarp::io
