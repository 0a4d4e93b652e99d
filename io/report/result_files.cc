#include "io/report/result_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "core/check.h"
#include "core/error.h"
#include "io/report/messages_file.h"
#include "io/report/port_counters_file.h"
#include "io/report/power_file.h"
#include "io/report/requests_file.h"
#include "io/report/served_report.h"
#include "io/report/stats_file.h"
#include "io/report/step_path.h"
#include "io/report/timeline_file.h"

namespace exawarp::io {

namespace {

constexpr int kDirectoriesMax = 10'000;
constexpr std::string_view kHashLine = "# resolved study ";

// Whether results lie there that are not of a study of that hash.
bool holds_another(const std::string& directory, const std::string& hash) {
  const std::filesystem::path folder(directory);
  std::error_code ignored;
  const bool has_results = std::ranges::any_of(
      kSummaryFiles, [&](const char* name) { return std::filesystem::is_regular_file(
                                                 folder / name, ignored); });
  if (!has_results) return false;
  std::ifstream resolved(folder / kResolvedStudyFile);
  std::string line;
  std::getline(resolved, line);
  return line != std::string(kHashLine) + hash;
}

std::string directory_for(const ResultFiles::Paths& paths, const std::string& hash) {
  if (paths.replace) return paths.directory;
  std::string directory = paths.directory;
  for (int n = 2; holds_another(directory, hash); ++n) {
    if (n > kDirectoriesMax) {
      throw core::SystemError(paths.directory + ": holds results of other studies, as do " +
                              std::to_string(n - 1) + " more; --force replaces them");
    }
    directory = paths.directory + "." + std::to_string(n);
  }
  return directory;
}

// The directory and those above it that are not there yet, from it upwards.
std::vector<std::filesystem::path> missing_directories(const std::string& directory) {
  std::vector<std::filesystem::path> out;
  std::error_code ignored;
  for (std::filesystem::path p = directory; !p.empty() && !exists(p, ignored);
       p = p.parent_path()) {
    out.push_back(p);
  }
  return out;
}

}  // namespace

ResultFiles::ResultFiles(const Paths& paths, const ResolvedYaml& study)
    : directory_(directory_for(paths, study.hash)),
      made_directories_(missing_directories(directory_)),
      requests_series_width_(paths.requests_series_width) {
  prepare_directory(directory_);
  if (!paths.stats.empty()) stats_ = open_table(paths.stats);
  if (!paths.counters.empty()) counters_ = open_table(paths.counters);
  if (!paths.power.empty()) power_ = open_table(paths.power);
  if (!paths.timeline.empty()) timeline_ = open_table(paths.timeline);
  if (!paths.messages.empty()) messages_ = open_table(paths.messages);
  if (!paths.path.empty()) path_ = open_table(paths.path);
  if (!paths.requests.empty()) requests_ = open_table(paths.requests);
  if (!paths.requests_series.empty()) requests_series_ = open_table(paths.requests_series);
}

ResultFiles::~ResultFiles() {
  std::error_code not_empty;
  for (const auto& made : made_directories_) std::filesystem::remove(made, not_empty);
}

void ResultFiles::write(const ResolvedYaml& study, const std::string& text,
                        const std::string& json) {
  core::OutputFiles summaries;
  summaries.add(directory_ + "/" + kSummaryFiles[0], text);
  summaries.add(directory_ + "/" + kSummaryFiles[1], json);
  summaries.add(directory_ + "/" + kSummaryFiles[2],
                std::string(kHashLine) + study.hash + "\n" + study.text);
  summaries.commit();
}

void ResultFiles::write(const RunReport& report, const std::string& text,
                        const std::string& json) {
  write(report.study->resolved, text, json);
  EXAWARP_CHECK(counters_ == nullptr || report.counters != nullptr);
  if (counters_) {
    write_port_counters(report.cluster->packet_network(), *report.counters, *counters_);
  }
  if (power_ && report.power != nullptr) write_power(*report.power, *power_);
  if (timeline_ && report.timeline != nullptr) {
    write_timeline(*report.cluster, *report.timeline, report.counters.get(), *timeline_);
  }
  if (messages_) write_messages(*report.messages, *messages_);
  if (requests_) write_requests(asked_of_jobs(report), *requests_);
  if (requests_series_) {
    write_requests_series(asked_of_jobs(report), requests_series_width_, *requests_series_);
  }
  if (path_ && report.path && report.path->found) write_path(report, *path_);
  if (stats_) write_stats(report.result.series, *stats_);
}

}  // namespace exawarp::io
