// The files of `exawarp run`: the two summaries in their directory, and the tables of --stats,
// --counters and --power. All of them are tried before the first event, so that one which cannot be
// written is found then.
#pragma once

#include <memory>
#include <string>

#include "core/output_file.h"
#include "io/report/results.h"

namespace exawarp::io {

class ResultFiles {
 public:
  struct Paths {
    std::string directory;  // of the summaries
    std::string stats, counters, power;  // empty: none
  };

  // Creates the directory where it is missing, and opens the tables. Throws core::SystemError.
  explicit ResultFiles(const Paths& paths);
  // A directory that was created, and that nothing was written to, is removed.
  ~ResultFiles();
  ResultFiles(const ResultFiles&) = delete;
  ResultFiles& operator=(const ResultFiles&) = delete;

  // All of them, the summaries being `text` and `json`; power only of a run that finished. Throws
  // core::SystemError.
  void write(const RunReport& report, const std::string& text, const std::string& json);

 private:
  std::string directory_;
  bool made_directory_;
  std::unique_ptr<core::OutputFile> stats_, counters_, power_;
};

}  // namespace exawarp::io
