// What `exawarp serve` prints, and the table of its requests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/output_file.h"
#include "io/report/ran.h"
#include "io/study/serving_study.h"
#include "model/serving/outcome.h"

namespace exawarp::io {

// Over all replicas.
struct ServingTotals {
  std::uint64_t arrived = 0, finished = 0;  // requests
  std::uint64_t batches = 0;
  std::uint64_t tokens = 0;      // in them
  std::uint64_t held = 0;        // blocks, at the end: on devices, on hosts, and cached ones
  std::uint64_t present_us = 0;  // requests at replicas, times time
  std::uint64_t prompt_tokens = 0, found_tokens = 0;  // of prompts; of these in the prefix cache
  std::uint64_t forgotten = 0;            // cached blocks
  std::uint64_t swaps = 0;                // of requests, to the host
  std::uint64_t drafted = 0, accepted = 0;  // tokens
};

// What was promised to all requests of a class, and of these how many got it.
struct ServingGoodput {
  std::uint64_t done = 0, good = 0;
  [[nodiscard]] double share() const {
    return done == 0 ? 0 : static_cast<double>(good) / static_cast<double>(done);
  }
};

struct ServingReport : Ran {
  std::unique_ptr<const ServingStudy> study;  // as it was simulated
  std::unique_ptr<const model::serving::Serving> serving;
  std::unique_ptr<model::serving::Outcome> outcome;
  ServingTotals totals;
  std::vector<std::uint64_t> busy_ps;      // by replica: of its first stage
  std::vector<std::uint64_t> blocks_most;  // by replica: held at once
};

// By class; one element where there are none.
std::vector<ServingGoodput> goodput_of(const ServingReport& report);

// What users compare loads and layouts by, over all requests that are done.
struct ServingHeadline {
  double requests_per_s = 0, output_tokens_per_s = 0;
  core::Time first_token_p99, per_token_mean;
};
ServingHeadline headline_of(const ServingReport& report);

// The keys are listed in docs/guide/serving.md.
std::string serving_json(const ServingReport& report);
std::string serving_text(const ServingReport& report);
// CSV: a row a request that is done.
void write_requests(const ServingReport& report, core::OutputFile& file);

}  // namespace exawarp::io
