#include "io/cli/commands/report.h"

#include <nlohmann/json.hpp>
#include <ostream>

#include "core/error.h"
#include "core/output_file.h"
#include "io/life/failure.h"
#include "io/life/report_data.h"
#include "io/report/page/page.h"

namespace exawarp::io {

int run_report(const ReportArguments& a, const Console& console, pdes::Transport& transport) {
  if (transport.ranks() > 1) {
    throw core::InputError("report", "runs on one rank; expected no mpirun");
  }
  core::OutputFile file(a.output);
  ReportOptions options{.pictures = !a.no_pictures, .simulation_s = a.again_s};
  options.notify = [&](const std::string& line) { console.err << line << '\n' << std::flush; };
  file.write(page_html(report_data(a.results, options)));
  file.commit();
  console.out << a.output << '\n' << std::flush;
  return kDone;
}

}  // namespace exawarp::io
