// summary.json, read again.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace exawarp::io {

// Of a directory of results, or of the file itself.
std::string summary_path(const std::string& directory_or_file);

// Throws core::InputError for a file that is no summary of a run, core::SystemError.
nlohmann::ordered_json read_summary(const std::string& file);

}  // namespace exawarp::io
