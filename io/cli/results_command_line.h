// The options of commands that simulate nothing of their own: `exawarp compare`, `exawarp report`
// and `exawarp topology`.
#pragma once

#include "io/cli/command_line.h"
#include "io/cli/commands/compare.h"
#include "io/cli/commands/report.h"

namespace CLI {
class App;
}  // namespace CLI

namespace exawarp::io {

void add_compare(CLI::App& app, CompareArguments& a);
void add_report(CLI::App& app, ReportArguments& a);
void add_topology(CLI::App& app, TopologyArguments& a);

}  // namespace exawarp::io
