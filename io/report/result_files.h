// The files of `exawarp run`, and in part of other commands: the two summaries and the resolved
// study in their directory, the tables of --stats, --counters, --power, --messages, --requests,
// --requests-series and --critical-path, and the trace of --timeline. All of them are tried before
// the first event, so that one which cannot be written is found then.
//
// Results never take the place of those of another study: a directory that holds such leads to the
// one of its name with ".2" at the end, or ".3", and so on. Those of the same study, whose resolved
// form is equal but for comments, are replaced.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/output_file.h"
#include "core/time.h"
#include "io/report/results.h"

namespace exawarp::io {

class ResultFiles {
 public:
  struct Paths {
    std::string directory;  // of the summaries
    std::string stats, counters, power, timeline;  // empty: none
    std::string path = {}, messages = {};          // the same
    std::string requests = {}, requests_series = {};  // the same
    core::Time requests_series_width = {};
    bool replace = false;                // what another study left in the directory
  };

  // Creates the directory where it is missing, and opens the tables. Throws core::SystemError.
  ResultFiles(const Paths& paths, const ResolvedYaml& study);
  // A directory that was created, and that nothing was written to, is removed.
  ~ResultFiles();
  ResultFiles(const ResultFiles&) = delete;
  ResultFiles& operator=(const ResultFiles&) = delete;

  // Of the summaries, which may be another one than was asked for.
  [[nodiscard]] const std::string& directory() const { return directory_; }

  // The summaries and the study alone. Throws core::SystemError.
  void write(const ResolvedYaml& study, const std::string& text, const std::string& json);
  // All of them, the summaries being `text` and `json`; power only of a run that finished. Throws
  // core::SystemError.
  void write(const RunReport& report, const std::string& text, const std::string& json);

 private:
  std::string directory_;
  std::vector<std::filesystem::path> made_directories_;  // removed again where they stay empty
  std::unique_ptr<core::OutputFile> stats_, counters_, power_, timeline_, path_, messages_;
  std::unique_ptr<core::OutputFile> requests_, requests_series_;
  core::Time requests_series_width_;
};

}  // namespace exawarp::io
