// Tables of requests that were served, of a serving study or of a study's jobs that serve.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/output_file.h"
#include "core/time.h"
#include "io/report/answers.h"

namespace exawarp::io {

// Those of a job.
struct AskedOfJob {
  std::optional<std::string> job;  // its name; none: of a serving study, and no column has it
  Asked asked;
};

// CSV: a row a request that is done; where there are jobs, with theirs and with what became of keys
// and values, if another pool decoded it. Commits the file.
void write_requests(const std::vector<AskedOfJob>& all, core::OutputFile& file);

constexpr std::uint32_t kSeriesRowsMax = 1'000'000;  // of a job

// CSV: a row for each job and spell of `width` from time 0 until the last answer: requests that
// arrived, had their first token and were answered in it; tokens; how many waited for their first
// token and how many had it and were not answered, on average over the spell; the mean time to
// first token of those that had it in the spell; and of those answered in it, how many got what
// they were promised (empty where nothing was). Of requests that are done; their tokens but the
// first are taken to come evenly from the first to the last. Where `width` is 0 it is the least of
// 1, 2 and 5 times a power of ten picoseconds that makes at most 500 rows; where it makes more than
// kSeriesRowsMax, that many times as much as makes fewer. Commits the file.
void write_requests_series(const std::vector<AskedOfJob>& all, core::Time width,
                           core::OutputFile& file);

}  // namespace exawarp::io
