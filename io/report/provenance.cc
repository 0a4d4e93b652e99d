#include "io/report/provenance.h"

#include <fmt/chrono.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <nlohmann/json.hpp>

#include "core/build_info.h"

namespace exawarp::io {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

}  // namespace

nlohmann::ordered_json provenance_json(const RunReport& report) {
  const core::BuildInfo& build = core::build_info();
  nlohmann::ordered_json json{
      {"command_line", report.command_line},
      {"overrides", report.overrides},
      {"resolved_study", kResolvedStudyFile},
      {"resolved_study_hash", report.study->resolved.hash},
      {"version", build.version},
      {"commit", build.commit},
      {"build", build.options},
      {"compiler", build.compiler},
      {"mpi", report.message_library},
      {"host", host_name()},
      {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))}};
  if (!report.restarted_from.empty()) json["restarted_from"] = report.restarted_from;
  if (!report.checkpoint.empty()) {
    json["checkpoints"] = {{"newest", report.checkpoint},
                           {"bytes", report.checkpoint_bytes},
                           {"written", report.result.cuts},
                           {"host_time_s", report.result.cut_s}};
  }
  return json;
}

}  // namespace exawarp::io
