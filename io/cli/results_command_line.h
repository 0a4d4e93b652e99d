// The options of commands that read results: `exawarp compare` and `exawarp report`.
#pragma once

#include "io/cli/commands/compare.h"
#include "io/cli/commands/report.h"

namespace CLI {
class App;
}  // namespace CLI

namespace exawarp::io {

void add_compare(CLI::App& app, CompareArguments& a);
void add_report(CLI::App& app, ReportArguments& a);

}  // namespace exawarp::io
