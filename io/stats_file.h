// The file of `--stats`: the engine's time series as a table of comma-separated values. Its columns
// are explained in docs/user_guide.md; scripts/plot draws it.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "pdes/time_series.h"

namespace exawarp::io {

// What --stats and --stats-interval say.
struct StatsArguments {
  std::string path;         // empty: none
  double interval_s = 0.01;  // host time between two moments, at least
};

// Written beside `path` and renamed at the end, so that a reader sees the old file or all of the
// new one. Opened before the run, so that a path which cannot be written is found then.
class StatsFile {
 public:
  // Creates the file's directory where it is missing. Throws core::SystemError.
  explicit StatsFile(std::string path);
  ~StatsFile();  // removes what was not completed
  StatsFile(const StatsFile&) = delete;
  StatsFile& operator=(const StatsFile&) = delete;

  // Writes the series and gives the file its name. Call once. Throws core::SystemError.
  void complete(const pdes::TimeSeries& series);

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  [[noreturn]] void fail(const char* what) const;

  std::string path_, temporary_;
  std::unique_ptr<std::FILE, Closer> file_;
};

}  // namespace exawarp::io
