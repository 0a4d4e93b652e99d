// What `exawarp serve` prints.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/report/answers.h"
#include "io/report/engine_report.h"
#include "io/report/ran.h"
#include "io/study/serving_study.h"
#include "model/serving/outcome.h"

namespace exawarp::io {

// Over all replicas.
struct ServingTotals : EngineTotals {
  std::uint64_t arrived = 0, finished = 0;  // requests
  std::uint64_t batches = 0;
  std::uint64_t tokens = 0;      // in them
  std::uint64_t held = 0;        // blocks, at the end: on devices, on hosts, and cached ones
  std::uint64_t present_us = 0;  // requests at replicas, times time
};

struct ServingReport : Ran {
  std::unique_ptr<const ServingStudy> study;  // as it was simulated
  std::unique_ptr<const model::serving::Serving> serving;
  std::unique_ptr<model::serving::Outcome> outcome;
  ServingTotals totals;
  std::vector<std::uint64_t> busy_ps;      // by replica: of its first stage
  std::vector<std::uint64_t> blocks_most;  // by replica: held at once
};

// What its figures are made of.
Asked asked_of(const ServingReport& report);

// The keys are listed in docs/guide/serving.md.
std::string serving_json(const ServingReport& report);
std::string serving_text(const ServingReport& report);

}  // namespace exawarp::io
