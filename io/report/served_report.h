// What a run says of its jobs that serve, beside what it says of all jobs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "io/report/answers.h"
#include "io/report/results.h"

namespace exawarp::io {

// One entry a job that serves; pools that hand requests over are one.
nlohmann::ordered_json served_json(const RunReport& report);
// What the figures of one of them are made of. Requires that `job` serves.
Asked asked_of(const RunReport& report, std::size_t job);
// Of all jobs that serve.
std::uint64_t unanswered_requests(const RunReport& report);
// Empty where no job serves.
std::string served_text(const RunReport& report);

}  // namespace exawarp::io
