// What users saw of requests that were served, as reports of serving studies and of jobs that serve
// have it; Vidur's definitions (docs/reference/serving.md).
#pragma once

#include <cstddef>
#include <cstdint>
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

// Requests, what they were promised and what became of them; all outlive it.
struct Asked {
  const std::vector<model::serving::Request>* requests;
  const model::serving::Outcome* outcome;
  const RequestSource* source;
  const Objectives* objectives;

  [[nodiscard]] Objectives promised_to(std::uint32_t class_id) const {
    return objectives_of(*objectives, *source, class_id);
  }
  [[nodiscard]] bool promises() const { return io::promises(*objectives, *source); }
  // Whether a request that is done got all that it was promised.
  [[nodiscard]] bool keeps(std::size_t request) const;
};

// Of all classes, or of one.
constexpr std::uint32_t kAllClasses = ~std::uint32_t{0};
Answers answers_of(const Asked& asked, std::uint32_t class_id = kAllClasses);

// Of a class: requests that came, and of these those that got what they were promised.
struct Goodput {
  std::uint64_t all = 0, good = 0;
  [[nodiscard]] double share() const {
    return all == 0 ? 0 : static_cast<double>(good) / static_cast<double>(all);
  }
};
// By class; one element where there are none.
std::vector<Goodput> goodput_of(const Asked& asked);

}  // namespace exawarp::io
