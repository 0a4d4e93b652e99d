// What users saw of requests that were served, as reports of serving studies and of jobs that serve
// have it; Vidur's definitions (docs/reference/serving.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/time.h"
#include "io/report/spread.h"
#include "io/study/serving_study.h"
#include "model/serving/outcome.h"

namespace exawarp::io {

// Of the requests that were answered.
struct Answers {
  std::uint64_t done = 0, good = 0, restarts = 0;  // good: they got what they were promised
  std::uint64_t prompt_tokens = 0, output_tokens = 0;
  core::Time makespan;  // from the first arrival of all to the last end
  Spread first_token, per_token, end;

  [[nodiscard]] double per_s(std::uint64_t count) const;
};

// Whether a request that is done got all that it was promised.
bool keeps(const Objectives& promised, const model::serving::Outcome& outcome, std::size_t request);

// Of those that `counts` is true of; `promised` says what, by request.
Answers answers_of(const std::vector<model::serving::Request>& requests,
                   const model::serving::Outcome& outcome,
                   const std::function<bool(std::size_t)>& counts,
                   const std::function<Objectives(std::size_t)>& promised);

}  // namespace exawarp::io
