// From arguments to an exit code: joins the transport, reads the command on every rank and
// compares it, hands it to its function, and turns whatever was thrown into one line.
#include "io/cli/run_main.h"

#include <cstdlib>
#include <exception>
#include <memory>
#include <ostream>

#include "core/build_info.h"
#include "core/bus_error.h"
#include "core/error.h"
#include "core/input_file.h"
#include "io/cli/command_line.h"
#include "io/cli/commands/astra.h"
#include "io/cli/commands/capacity.h"
#include "io/cli/commands/compare.h"
#include "io/cli/commands/extrapolate.h"
#include "io/cli/commands/fork.h"
#include "io/cli/commands/goal.h"
#include "io/cli/commands/kernels.h"
#include "io/cli/commands/phold.h"
#include "io/cli/commands/plan.h"
#include "io/cli/commands/report.h"
#include "io/cli/commands/run.h"
#include "io/cli/commands/search.h"
#include "io/cli/commands/sweep.h"
#include "io/cli/commands/topology.h"
#include "io/cli/commands/serve.h"
#include "io/cli/commands/traffic.h"
#include "io/cli/commands/workload.h"
#include "io/cli/option_values.h"
#include "io/life/agreement.h"
#include "io/life/failure.h"
#include "io/study/suggest.h"
#include "pdes/transport.h"

namespace exawarp::io {

namespace {

// How events go between ranks of one machine; none: boards in its memory.
constexpr const char* kExchange = "EXAWARP_EXCHANGE";
constexpr core::Named<bool> kShares[] = {{"boards", true}, {"messages", false}};

bool shares_boards() {
  const char* const text = std::getenv(kExchange);
  return text == nullptr || *text == '\0' || parse_choice<bool>(kExchange, text, kShares);
}

// Reads the command, and makes sure that all ranks have been given the same.
Command command_of(const std::vector<std::string>& arguments, pdes::Transport& transport) {
  Command command;
  Settings settings;
  bool shares = true;
  agree(transport, [&] {
    shares = shares_boards();
    command = parse_command_line(arguments, &settings);
  });
  const core::BuildInfo& build = core::build_info();
  settings.insert(settings.begin(), {"version", build.version + " " + build.commit});
  settings.push_back({kExchange, shares ? "boards" : "messages"});
  require_same(transport, settings);
  if (shares) transport.share_boards();
  return command;
}

struct Dispatch {
  const Console& console;
  pdes::Transport& transport;

  int operator()(const Information& information) const {
    if (transport.rank().value == 0) console.out << information.text << std::flush;
    return kDone;
  }
  int operator()(const RunArguments& a) const { return run_study(a, console, transport); }
  int operator()(const PholdArguments& a) const { return run_phold(a, console, transport); }
  int operator()(const PlanArguments& a) const { return run_plan(a, console, transport); }
  int operator()(const AstraArguments& a) const { return run_astra(a, console, transport); }
  int operator()(const GoalArguments& a) const { return run_goal(a, console, transport); }
  int operator()(const TopologyArguments& a) const {
    return show_topology(a, console, transport);
  }
  int operator()(const CompareArguments& a) const { return run_compare(a, console, transport); }
  int operator()(const ReportArguments& a) const { return run_report(a, console, transport); }
  int operator()(const ExtrapolateArguments& a) const {
    return run_extrapolate(a, console, transport);
  }
  int operator()(const ForkArguments& a) const { return run_fork(a, console, transport); }
  int operator()(const DoctorArguments& a) const { return run_doctor(a, console, transport); }
  int operator()(const CalibrateArguments& a) const { return run_calibrate(a, console, transport); }
  int operator()(const SweepArguments& a) const { return run_sweep_command(a, console, transport); }
  int operator()(const SearchArguments& a) const {
    return run_search_command(a, console, transport);
  }
  int operator()(const KernelsArguments& a) const { return run_kernels(a, console, transport); }
  int operator()(const ValidateArguments& a) const { return run_validate(a, console, transport); }
  int operator()(const ServeArguments& a) const { return run_serve(a, console, transport); }
  int operator()(const CapacityArguments& a) const { return run_capacity(a, console, transport); }
  int operator()(const TrafficArguments& a) const { return run_traffic(a, console, transport); }
  int operator()(const WorkloadArguments& a) const {
    return handle_workload(a, console, transport);
  }
};

// The error in flight as one line and an exit code.
int report_current_error(const Console& console) {
  const Failure failure = failure_of(std::current_exception());
  console.out.flush();
  console.err << one_line(failure.text) + "\n" << std::flush;
  return failure.exit_code;
}

}  // namespace

int run_main(const std::vector<std::string>& arguments, const Console& console) {
  std::unique_ptr<pdes::Transport> transport;
  try {
    transport = pdes::make_transport();
    core::explain_bus_errors();
    if (transport->ranks() > 1) {
      core::forbid_standard_input(
          "standard input reaches the first of several ranks only; expected a file");
    }
    const Command command = command_of(arguments, *transport);
    return std::visit(Dispatch{console, *transport}, command);
  } catch (const core::InputError&) {
    return report_current_error(console);  // all ranks fail together: agreement.h
  } catch (const OtherRankFailed& other) {
    return other.exit_code;
  } catch (...) {
    const int exit_code = report_current_error(console);
    // Other ranks may wait for this one; leaving without farewell makes mpirun end them all.
    if (transport != nullptr && transport->ranks() > 1) {
      transport->abandon(exit_code);
      std::_Exit(exit_code);
    }
    return exit_code;
  }
}

}  // namespace exawarp::io
