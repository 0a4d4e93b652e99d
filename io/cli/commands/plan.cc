#include "io/cli/commands/plan.h"

#include <ostream>

#include "core/error.h"
#include "io/cli/command_line.h"
#include "io/cli/commands/phold.h"
#include "io/life/planning.h"
#include "io/study/find_config.h"
#include "io/study/in_file.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

Plannable planned_by(const PlanArguments& a) {
  if (a.study_file.empty()) return phold_run_of(a.phold);
  const std::string file = find_config(a.study_file, kNetworkFolders);
  if (is_traffic_study(file, a.overrides)) {
    return in_file(file, [&] { return read_traffic_study(file, a.overrides); });
  }
  return read_study(file, a.overrides);
}

}  // namespace

int run_plan(const PlanArguments& a, const Console& console, pdes::Transport& transport) {
  if (transport.ranks() > 1) {
    throw core::InputError("plan", "runs on one rank; expected --ranks N without mpirun");
  }
  const PlanReport report = make_plan(planned_by(a), a.request);
  console.out << (a.json ? plan_json(report) : printable(plan_text(report))) << std::flush;
  return kDone;
}

}  // namespace exawarp::io
