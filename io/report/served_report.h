// What a run says of its jobs that serve, beside what it says of all jobs.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "io/report/results.h"

namespace exawarp::io {

// One entry a job that serves; pools that hand requests over are one.
nlohmann::ordered_json served_json(const RunReport& report);
// Of all jobs that serve.
std::uint64_t unanswered_requests(const RunReport& report);
// Empty where no job serves.
std::string served_text(const RunReport& report);

}  // namespace exawarp::io
