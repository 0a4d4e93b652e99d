// The file of `--stats`: the engine's time series as a table of comma-separated values. Its columns
// are explained in docs/guide/user_guide.md; scripts/plot draws it.
#pragma once

#include <memory>
#include <string>

#include "core/output_file.h"
#include "pdes/time_series.h"

namespace exawarp::io {

// What --stats and --stats-interval say.
struct StatsArguments {
  std::string path;         // empty: none
  double interval_s = 0.01;  // host time between two moments, at least
};

// Opens the file of `--stats` or `--counters` before the run, so that one which cannot be written
// is found then. Creates its directory where it is missing. Throws core::SystemError.
std::unique_ptr<core::OutputFile> open_table(const std::string& path);

// Writes the series and commits the file. Throws core::SystemError.
void write_stats(const pdes::TimeSeries& series, core::OutputFile& file);

}  // namespace exawarp::io
