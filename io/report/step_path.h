// What bound a run, for people, for summary.json, and as a table of the whole chain.
#pragma once

#include <string>

#include "core/output_file.h"
#include "io/report/results.h"

namespace exawarp::io {

// Both require report.path.
std::string path_json(const RunReport& report);  // docs/guide/critical_path.md lists the keys
std::string path_text(const RunReport& report);

// Writes the chain, an element a line in the order of time, and commits the file. Requires that
// there is one. Throws core::SystemError.
void write_path(const RunReport& report, core::OutputFile& file);

}  // namespace exawarp::io
