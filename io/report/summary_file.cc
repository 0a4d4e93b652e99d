#include "io/report/summary_file.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/error.h"
#include "core/mapped_file.h"
#include "io/report/results.h"
#include "io/study/text_file.h"

namespace exawarp::io {

std::string summary_path(const std::string& directory_or_file) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(directory_or_file, ignored);
  return folder ? (std::filesystem::path(directory_or_file) / kSummaryFiles[1]).string()
                : directory_or_file;
}

nlohmann::ordered_json read_summary(const std::string& file) {
  const core::MappedFile mapped(file);
  check_json_depth(text_of(mapped), file);
  auto json = nlohmann::ordered_json::parse(text_of(mapped), nullptr, false);
  const auto schema = json.is_object() ? json.find("schema") : json.end();
  if (schema == json.end() || *schema != "exawarp-summary-1") {
    throw core::InputError(file, "is no summary of a run; expected summary.json, or its directory");
  }
  return json;
}

}  // namespace exawarp::io
