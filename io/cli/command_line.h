// The command line as data: which command, with which arguments. docs/guide/user_guide.md
// explains them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "io/cli/commands/calibrate.h"
#include "io/cli/commands/compare.h"
#include "io/cli/commands/doctor.h"
#include "io/cli/commands/extrapolate.h"
#include "io/cli/commands/fork.h"
#include "io/cli/commands/kernels.h"
#include "io/cli/commands/report.h"
#include "io/cli/commands/search.h"
#include "io/cli/commands/sweep.h"
#include "io/cli/commands/validate.h"
#include "io/formats/chakra/import.h"
#include "io/formats/goal/parameters.h"
#include "io/formats/text_workload/import.h"
#include "io/life/planning.h"
#include "io/life/simulate.h"
#include "io/report/stats_file.h"
#include "io/study/settings.h"
#include "io/study/study.h"
#include "model/sample/draw.h"

namespace exawarp::io {

// Tables of requests that are served.
struct RequestTables {
  std::string requests;     // file of what became of each; empty: none
  std::string series;       // file of how many came, waited and were answered when; empty: none
  std::string width_text;   // of its rows
  core::Time width = {};    // the same; 0: as write_requests_series() says
};

// `exawarp run`. What is absent is as the study says.
struct RunArguments {
  std::vector<std::string> command_line;  // all of it, without the program
  std::string study_file;     // empty: the checkpoint's
  std::string restart;        // directory of checkpoints to go on from; empty: none
  std::string out_directory;  // empty: results/<study>
  std::vector<std::string> overrides;
  RunOptions options;
  std::optional<PlacementMethod> placement;
  StatsArguments stats;
  std::string counters;  // file of the ports' counters over time, at packet fidelity; empty: none
  std::string power;     // file of the power over time; empty: none
  std::string timeline;  // file of options.timeline; empty: none
  std::string critical_path;  // file of it; empty: none
  std::string messages;       // file of when messages were sent and received; empty: none
  RequestTables requests;
  bool ignore_memory = false;  // goes on where the workload does not fit the accelerator
  bool compare_alone = false;  // runs each job by itself, too
  bool steady_step = false;    // runs with one more step, too
  bool json = false;
  bool force = false;  // replaces what another study left in the directory
  bool quiet = false;  // neither progress nor summary; results are written all the same
};

// `exawarp workload generate|inspect|validate|import|export|convert|diff`.
// `exawarp workload sample`.
struct SampleArguments {
  std::vector<std::string> like;  // graphs (.xwg), or prefixes of execution traces
  model::SampleRequest request;
  std::string report;             // file for the fidelity as JSON; empty: none
};

struct WorkloadArguments {
  enum class Action {
    generate, inspect, validate, import_chakra, import_goal, import_pytorch, import_stablehlo,
    import_single_gpu, import_text, export_chakra, export_json, export_dot, export_graphml,
    convert, diff, sample
  };
  Action action = Action::generate;
  std::string input;
  std::string output;                  // of all that write; the other graph of diff
  ChakraImportOptions chakra;          // import chakra, import pytorch
  std::string kineto;                  // import pytorch
  std::string tensors;                 // import single-gpu
  model::Extrapolation recorded;       // import single-gpu
  TextImportOptions text;              // import text
  std::vector<std::string> overrides;  // generate
  bool ignore_memory = false;          // generate
  std::uint64_t bytes_max = std::uint64_t{1} << 30;  // generate: of the file
  std::string mesh;                    // import stablehlo: data=4,tensor=2
  bool fusion = true;                  // import stablehlo
  std::optional<std::uint64_t> trip_count;
  std::string entry = "main";          // import stablehlo
  std::uint32_t module = 0;            // import stablehlo: of several, counted from 1
  std::optional<std::uint32_t> device;  // export dot|graphml, inspect: of one device
  std::string accelerator;             // inspect; generate: whose memory it has to fit
  std::string timeline;                // inspect
  SampleArguments sample;              // sample
  bool json = false;                   // inspect, validate, sample
};

// `exawarp topology show`.
struct TopologyArguments {
  std::string study_file;
  std::string output;  // a picture, .svg or .dot; empty: figures on standard output
  std::string load;    // counters that colour the picture's links; empty: none
  std::vector<std::string> overrides;
  bool json = false;
  bool links = false;  // the name of every link instead of the figures
};

// `exawarp traffic`.
struct TrafficArguments {
  std::string study_file;  // empty: the checkpoint's
  std::string restart;     // directory of checkpoints to go on from; empty: none
  std::vector<std::string> overrides;
  RunOptions options;
  std::string out_directory;  // of the results; empty: none
  std::string counters;  // file of the ports' counters over time; empty: none
  std::string flows;     // file of what became of each message; empty: none
  bool json = false;
  bool force = false;  // replaces what another study left in the directory
};

// `exawarp serve`.
struct ServeArguments {
  std::string study_file;
  std::vector<std::string> overrides;
  RunOptions options;
  std::string out_directory;  // of the results; empty: none
  RequestTables requests;
  bool json = false;
  bool force = false;  // replaces what another study left in the directory
};

// `exawarp capacity`.
struct CapacityArguments {
  std::string study_file;
  std::vector<std::string> overrides;
  RunOptions options;
  std::string over;         // KEY=VALUE,VALUE,...; empty: the study as it is
  double tolerance = 0.01;  // of the rate
  std::string job;          // that serves; empty: the only one
  std::uint32_t split = 0;  // devices of it, whose splits are tried; 0: the study's own
  std::string prompts, decodes;  // layouts to split them by; empty: the study's own
  std::uint32_t below = 0;       // loads below each capacity
  std::string database;          // of the loads; empty: none
  std::string out_directory;     // of the results; empty: none
  bool json = false;
  bool force = false;  // replaces what another study left in the directory
};

// `exawarp phold`.
struct PholdArguments {
  std::string restart;  // directory of checkpoints, which say the next four; empty: none
  std::uint32_t lps = 0;
  std::uint32_t start_events = 1;
  double remote = 0;
  double end = 0;  // in units of the mean delay, 1,000,000 ps
  RunOptions options;
  StatsArguments stats;
  bool json = false;
};

// `exawarp plan`.
struct PlanArguments {
  std::string study_file;  // of a study or of traffic; empty: PHOLD
  PholdArguments phold;    // what it is, no more
  std::vector<std::string> overrides;
  PlanRequest request;
  bool json = false;
};

// `exawarp goal`.
struct GoalArguments {
  std::string file;     // empty: the checkpoint's
  std::string restart;  // directory of checkpoints to go on from; empty: none
  GoalParameterTexts parameters;
  bool as_loggopsim = false;
  RunOptions options;
  bool json = false;
};

// `exawarp astra`: files and options as ASTRA-sim's.
struct AstraArguments {
  enum class Action { run, convert };
  Action action = Action::run;
  AstraSetUp set_up;
  std::string converted;  // directory of what convert writes
  RunOptions options;     // a time limit alone
  std::string out_directory;  // of the results; empty: none
  bool json = false;
  bool force = false;  // replaces what another set-up left in the directory
};

// Text to print on standard output before a successful end: --help, --version.
struct Information {
  std::string text;
};

using Command = std::variant<Information, RunArguments, WorkloadArguments, TopologyArguments,
                             TrafficArguments, ServeArguments, CapacityArguments, PholdArguments,
                             PlanArguments, GoalArguments, AstraArguments, ExtrapolateArguments,
                             ValidateArguments, CalibrateArguments, CompareArguments,
                             ReportArguments, ForkArguments, KernelsArguments, DoctorArguments,
                             SweepArguments, SearchArguments>;

// `arguments` without the program's name. Throws core::InputError. `given`, where there is one,
// gets the command and what each of its options is given: what has to be the same on every rank,
// hence not --threads, which machines may differ in.
Command parse_command_line(const std::vector<std::string>& arguments, Settings* given = nullptr);

}  // namespace exawarp::io
