// What a run says of its jobs that serve, beside what it says of all jobs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "io/report/answers.h"
#include "io/report/requests_file.h"
#include "io/report/results.h"
#include "model/energy/energy.h"

namespace exawarp::io {

// One entry a job that serves; pools that hand requests over are one.
nlohmann::ordered_json served_json(const RunReport& report);
// What the figures of one of them are made of. Requires that `job` serves.
Asked asked_of(const RunReport& report, std::size_t job);
// The same of all of them, by name.
std::vector<AskedOfJob> asked_of_jobs(const RunReport& report);
// Of all jobs that serve.
std::uint64_t unanswered_requests(const RunReport& report);
// Of all that the cluster drew, for each token that was answered; 0 where a job does not serve.
double answered_token_j(const RunReport& report, const model::Energy& energy);
// Empty where no job serves.
std::string served_text(const RunReport& report);

}  // namespace exawarp::io
