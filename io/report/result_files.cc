#include "io/report/result_files.h"

#include <filesystem>
#include <system_error>

#include "core/check.h"
#include "io/report/port_counters_file.h"
#include "io/report/power_file.h"
#include "io/report/stats_file.h"

namespace exawarp::io {

ResultFiles::ResultFiles(const Paths& paths)
    : directory_(paths.directory), made_directory_(!std::filesystem::exists(paths.directory)) {
  prepare_directory(directory_);
  if (!paths.stats.empty()) stats_ = open_table(paths.stats);
  if (!paths.counters.empty()) counters_ = open_table(paths.counters);
  if (!paths.power.empty()) power_ = open_table(paths.power);
}

ResultFiles::~ResultFiles() {
  std::error_code not_empty;
  if (made_directory_) std::filesystem::remove(directory_, not_empty);
}

void ResultFiles::write(const RunReport& report, const std::string& text,
                        const std::string& json) {
  core::OutputFiles summaries;
  summaries.add(directory_ + "/" + kSummaryFiles[0], text);
  summaries.add(directory_ + "/" + kSummaryFiles[1], json);
  summaries.commit();
  EXAWARP_CHECK(counters_ == nullptr || report.counters != nullptr);
  if (counters_) {
    write_port_counters(report.cluster->packet_network(), *report.counters, *counters_);
  }
  if (power_ && report.power != nullptr) write_power(*report.power, *power_);
  if (stats_) write_stats(report.result.series, *stats_);
}

}  // namespace exawarp::io
