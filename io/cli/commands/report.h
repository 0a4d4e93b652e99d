// `exawarp report`: results as a page for a browser.
#pragma once

#include <string>
#include <vector>

#include "io/cli/console.h"
#include "pdes/transport.h"

namespace exawarp::io {

struct ReportArguments {
  std::vector<std::string> results;    // directories, summaries, databases
  std::string output = "report.html";
  bool no_pictures = false;
  double again_s = 8;  // host time that a run took at most to be simulated again as it was
};

// Returns kDone. Throws core::InputError and core::SystemError.
int run_report(const ReportArguments& arguments, const Console& console,
               pdes::Transport& transport);

}  // namespace exawarp::io
