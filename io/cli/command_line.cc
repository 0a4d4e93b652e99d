// Builds CLI11's tree of commands, one add_*() each, over one structure of arguments per command.
// Values that are enumerations or quantities are taken as text and read afterwards, so that every
// complaint has the form of our own errors.
#include "io/cli/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <limits>

#include "core/build_info.h"
#include "core/error.h"
#include "core/units.h"
#include "io/cli/commands/schema.h"
#include "io/cli/completion.h"
#include "io/cli/kernels_command_line.h"
#include "io/cli/extrapolate_command_line.h"
#include "io/cli/option_values.h"
#include "io/cli/plan_command_line.h"
#include "io/cli/results_command_line.h"
#include "io/cli/serving_command_line.h"
#include "io/cli/sweep_command_line.h"
#include "io/cli/timeline_command_line.h"
#include "io/cli/validation_command_line.h"
#include "io/cli/workload_command_line.h"
#include "io/study/suggest.h"

namespace exawarp::io {

namespace {

using core::InputError;

// Options are taken as text where the value is an enumeration or a quantity.
struct RawOptions {
  std::string sync, placement, window, stats, stats_interval, network_backend;
  std::string checkpoint, checkpoint_every;
  // Accepted as ASTRA-sim does, without effect.
  std::string logging_configuration, logging_folder, compute_scale, comm_scale;
  std::vector<std::string> lists;
  RawTimelineOptions timeline;
};

StatsArguments parse_stats(const RawOptions& raw) {
  const std::string option = "--stats-interval";
  StatsArguments stats{.path = raw.stats};
  if (raw.stats_interval.empty()) return stats;
  const core::Time interval = parse_time(option, raw.stats_interval);
  if (interval < core::Time{1'000})  // 1 ns, what the host's clock tells apart
    throw InputError(option, in_quotes(raw.stats_interval) + " is too short; expected e.g. " +
                                 in_quotes("10 ms"));
  if (raw.stats.empty()) throw InputError(option, "has no effect without --stats FILE");
  stats.interval_s = static_cast<double>(interval.ps) / core::kPicosecondsPerSecond;
  return stats;
}

const CLI::Range kThreadRange(1u, kThreadsMax);
const CLI::Range kPartitionRange(1u, kPartitionsMax);
const CLI::Validator kShareRange(real_in({.min = 0, .max = 1}), "");
const CLI::Validator kSeedRange(unsigned_up_to(std::numeric_limits<std::uint64_t>::max()), "");

void add_sync_options(CLI::App& app, RawOptions& raw, RunOptions& options) {
  app.add_option("--sync", raw.sync,
                 "sequential, conservative or optimistic (default: by what is simulated)");
  app.add_option("--threads", options.threads, "workers of a rank (default: every core it may use)")
      ->check(kThreadRange);
  app.add_option("--partitions", options.partitions,
                 "partitions of a rank (default: by the workers)")
      ->check(kPartitionRange);
  app.add_option("--window", raw.window, "optimistic window, e.g. \"10 us\" (default: adapts)");
}

void add_engine_options(CLI::App& app, RawOptions& raw, RunOptions& options) {
  add_sync_options(app, raw, options);
  app.add_option("--stats", raw.stats, "writes the engine's time series there (CSV)");
  app.add_option("--stats-interval", raw.stats_interval,
                 "host time between its moments (default: \"10 ms\")");
}

void add_counters(CLI::App& app, std::string& file) {
  app.add_option("--counters", file,
                 "writes the ports' counters over time there (CSV; packet fidelity)");
}

void add_time_limit(CLI::App& app, std::optional<double>& limit_s) {
  app.add_option("--time-limit", limit_s,
                 "ends the program after this many host seconds, with what it has by then")
      ->check(CLI::Validator(real_in({.min = 0, .min_excluded = true}), ""));
}

// `what`: the argument that says what is simulated, which a restart has no use for; may be null.
void add_checkpoints(CLI::App& app, CLI::Option* what, RawOptions& raw, std::string& restart) {
  app.add_option("--checkpoint", raw.checkpoint,
                 "writes checkpoints into this directory, one of them where the run is stopped");
  app.add_option("--checkpoint-every", raw.checkpoint_every,
                 "host time between them, \"10 min\" (default), or \"5 ms simulated\"");
  CLI::Option* from = app.add_option("--restart", restart,
                                     "goes on from the newest checkpoint of this directory");
  if (what != nullptr) what->excludes(from);
}

void add_run(CLI::App& app, RunArguments& a, RawOptions& raw) {
  CLI::Option* const study =
      app.add_option("STUDY", a.study_file,
                     "study: a file, or a name in configs/studies, e.g. llama3_405b_32k");
  add_checkpoints(app, study, raw, a.restart);
  app.add_option("--out", a.out_directory, "directory of the results (default: results/<study>)");
  add_engine_options(app, raw, a.options);
  app.add_option("--placement", raw.placement, "block, metis or topology-aware (default)");
  app.add_option("--seed", a.options.seed, "seed of every random number")->transform(kSeedRange);
  app.add_option("--set", raw.lists, "replaces a key of the study: path.to.key=value (repeatable)")
      ->take_all()
      ->allow_extra_args(false);
  add_time_limit(app, a.options.time_limit_s);
  app.add_option("--audit", a.options.audit, "share of events to undo, compare and run again")
      ->check(kShareRange);
  add_counters(app, a.counters);
  app.add_option("--power", a.power, "writes what is drawn over time there (CSV)");
  app.add_option("--messages", a.messages,
                 "writes when each message was sent and received there (CSV)");
  add_request_tables(app, a.requests);
  add_timeline(app, a, raw.timeline);
  app.add_option("--critical-path", a.critical_path,
                 "finds what bound the run, and writes the chain of tasks there (CSV)")
      ->excludes("--timeline");
  app.add_flag("--critical-path-check", a.options.check_critical_path,
               "runs with each resource ten times faster, too, and tells what that gains");
  app.add_flag("--compare-alone", a.compare_alone,
               "runs each job by itself, too, and tells how much slower it is beside the others");
  app.add_flag("--steady-step", a.steady_step,
               "runs with one more training step, too, and tells what that one adds");
  app.add_flag("--json", a.json, "prints summary.json, and nothing else, on standard output");
  app.add_flag("--force", a.force,
               "replaces the results of another study in the directory (default: DIR.2 and so on)");
  app.add_flag("--quiet", a.quiet, "prints neither progress nor summary");
  app.add_flag("--ignore-memory", a.ignore_memory,
               "goes on where the workload needs more memory than the accelerator has");
}

void add_phold(CLI::App& app, PholdArguments& a, RawOptions& raw) {
  add_phold_model(app, a);
  add_engine_options(app, raw, a.options);
  app.add_option("--seed", a.options.seed, "seed of every random number")->transform(kSeedRange);
  app.add_option("--audit", a.options.audit, "share of events to undo, compare and run again")
      ->check(kShareRange);
  add_time_limit(app, a.options.time_limit_s);
  add_checkpoints(app, nullptr, raw, a.restart);
  app.add_flag("--json", a.json, "prints one JSON object on standard output");
}

void add_traffic(CLI::App& app, TrafficArguments& a, RawOptions& raw) {
  CLI::Option* const study =
      app.add_option("STUDY", a.study_file,
                     "traffic study: a file, or a name in configs/traffic, e.g. permutation_1k");
  add_checkpoints(app, study, raw, a.restart);
  add_sync_options(app, raw, a.options);
  app.add_option("--seed", a.options.seed, "seed of every random number")->transform(kSeedRange);
  app.add_option("--set", raw.lists, "replaces a key: path.to.key=value (repeatable)")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--audit", a.options.audit, "share of events to undo, compare and run again")
      ->check(kShareRange);
  add_time_limit(app, a.options.time_limit_s);
  app.add_option("--out", a.out_directory, "directory of the results (default: none are written)");
  add_counters(app, a.counters);
  app.add_option("--flows", a.flows, "writes when each message began and ended there (CSV)");
  app.add_flag("--json", a.json, "prints one JSON object on standard output");
  app.add_flag("--force", a.force,
               "replaces the results of another study in the directory (default: DIR.2 and so on)");
}

void add_serve(CLI::App& app, ServeArguments& a, RawOptions& raw) {
  app.add_option("STUDY", a.study_file,
                 "serving study: a file, or a name in configs/serving, e.g. vidur_7b")
      ->required();
  add_sync_options(app, raw, a.options);
  app.add_option("--seed", a.options.seed, "seed of every random number")->transform(kSeedRange);
  app.add_option("--set", a.overrides, "replaces a key: path.to.key=value (repeatable)")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--audit", a.options.audit, "share of events to undo, compare and run again")
      ->check(kShareRange);
  add_time_limit(app, a.options.time_limit_s);
  app.add_option("--out", a.out_directory, "directory of the results (default: none are written)");
  add_request_tables(app, a.requests);
  app.add_flag("--json", a.json, "prints one JSON object on standard output");
  app.add_flag("--force", a.force,
               "replaces the results of another study in the directory (default: DIR.2 and so on)");
}

void add_goal(CLI::App& app, GoalArguments& a, RawOptions& raw) {
  CLI::Option* const file = app.add_option("FILE", a.file, "GOAL schedule, text or binary");
  add_checkpoints(app, file, raw, a.restart);
  GoalParameterTexts& p = a.parameters;
  app.add_option("-L,--L,--LogGOPS_L", p.L, "latency in ns (2500)");
  app.add_option("-o,--o,--LogGOPS_o", p.o, "CPU time of a message in ns (1500)");
  app.add_option("-g,--g,--LogGOPS_g", p.g, "gap between messages in ns (1000)");
  app.add_option("-G,--G,--LogGOPS_G", p.G, "gap per byte in ns, e.g. 0.04 (6)");
  app.add_option("-O,--O,--LogGOPS_O", p.O, "CPU time per byte in ns (0)");
  app.add_option("-S,--S,--LogGOPS_S", p.S, "bytes up to which a message is eager (65535)");
  app.add_flag("--as-loggopsim", a.as_loggopsim,
               "with several CPUs, an operation waits for its own CPU alone, as in LogGOPSim");
  add_sync_options(app, raw, a.options);
  app.add_option("--audit", a.options.audit, "share of events to undo, compare and run again")
      ->check(kShareRange);
  add_time_limit(app, a.options.time_limit_s);
  app.add_flag("--json", a.json, "prints one JSON object on standard output");
}

// Options as ASTRA-sim's binary has them, less those of its other back ends.
void add_astra(CLI::App& app, AstraArguments& a, RawOptions& raw) {
  AstraSetUp& s = a.set_up;
  app.add_option("--network-backend", raw.network_backend,
                 "congestion-unaware (default) or congestion-aware");
  app.add_option("--workload-configuration", s.workload, "traces: PREFIX.<rank>.et")->required();
  app.add_option("--system-configuration", s.system, "system (JSON)")->required();
  app.add_option("--network-configuration", s.network, "network (YAML)")->required();
  app.add_option("--remote-memory-configuration", s.memory, "remote memory (JSON)")->required();
  app.add_option("--comm-group-configuration", s.comm_groups, "communicator groups (JSON)");
  app.add_option("--num-queues-per-dim", s.queues_per_dimension, "logical queues of a dimension")
      ->check(CLI::Range(1u, 1u << 16));
  app.add_option("--injection-scale", s.injection_scale, "multiplies endpoint-delay")
      ->check(CLI::Validator(real_in({.min = 0, .max = 1e9}), ""));
  app.add_option("--rendezvous-protocol", s.rendezvous, "true: receivers ask for each message");
  add_time_limit(app, a.options.time_limit_s);
  app.add_option("--out", a.out_directory, "directory of the results (default: none are written)");
  app.add_flag("--json", a.json, "prints one JSON object instead of ASTRA-sim's lines");
  app.add_flag("--force", a.force,
               "replaces the results of another set-up there (default: DIR.2 and so on)");
  app.add_option("--compute-scale", raw.compute_scale, "no effect, as in ASTRA-sim");
  app.add_option("--comm-scale", raw.comm_scale, "no effect, as in ASTRA-sim");
  app.add_option("--logging-configuration", raw.logging_configuration, "no effect");
  // Its own option alone; those of the set-up are the command's.
  CLI::App* const convert =
      app.add_subcommand("convert", "writes a study that does the same at other fidelities")
          ->fallthrough();
  convert->add_option("-o,--output", a.converted, "directory of the study and its files")
      ->required();
  convert->callback([&a] { a.action = AstraArguments::Action::convert; });
  app.add_option("--logging-folder", raw.logging_folder, "no effect");
}

void add_schema(CLI::App& app, SchemaArguments& a) {
  CLI::Option* kind =
      app.add_option("KIND", a.kind, "of files: study, traffic, workload, ...; without: all kinds");
  app.add_flag("--reference", a.reference, "prints the page of all keys, docs/reference/keys.md")
      ->excludes(kind);
}

void add_fork(CLI::App& app, ForkArguments& a, RawOptions& raw) {
  app.add_option("CHECKPOINT", a.checkpoint,
                 "a checkpoint of `exawarp run`, or a directory of such: the newest")
      ->required();
  app.add_option("--variants", a.variants, "what each future changes: a file, or a name in "
                                           "configs/forks")
      ->required();
  app.add_option("--out", a.out_directory,
                 "directory of the futures' results (default: results/<fork>)");
  add_sync_options(app, raw, a.options);
  add_time_limit(app, a.options.time_limit_s);
  app.add_flag("--json", a.json, "prints one JSON object");
  app.add_flag("--force", a.force, "replaces what other studies left in the directories");
}

// The names that an argument of `app` may have meant.
std::vector<std::string> names_in(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(sub->get_name());
  }
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// "exawarp workload generate": as far as the arguments were understood.
std::pair<const CLI::App*, std::string> understood(const CLI::App& app) {
  const CLI::App* at = &app;
  std::string path = "exawarp";
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    path += " " + at->get_name();
  }
  return {at, path};
}

// The command, then its options in order of the help, "" where one is not given.
Settings settings_of(const CLI::App& app) {
  const auto [at, path] = understood(app);
  Settings all{{"command", path}};
  for (const CLI::Option* option : at->get_options()) {
    const std::string name = option->get_name();
    if (name == "--threads" || name == "--help") continue;
    all.push_back({name, fmt::format("{}", fmt::join(option->results(), " "))});
  }
  return all;
}

[[noreturn]] void fail(const CLI::App& app, const CLI::ParseError& error) {
  const auto [at, path] = understood(app);
  std::string what = one_line(error.what());
  const std::vector<std::string> extras = app.remaining(true);
  if (!extras.empty()) {
    const auto option = std::ranges::find_if(extras, [](const auto& s) { return s[0] == '-'; });
    const std::string& extra = option == extras.end() ? extras.front() : *option;
    what =
        fmt::format("{} is not known here{}", in_quotes(extra), did_you_mean(extra, names_in(*at)));
  }
  throw InputError(path, fmt::format("{}; see {} --help", what, path));
}

void finish_astra(const RawOptions& raw, AstraArguments& astra) {
  const core::Named<bool> unaware{"congestion-unaware", false}, aware{"congestion-aware", true};
  const std::array choices{unaware, aware};
  if (!raw.network_backend.empty()) {
    astra.set_up.congestion_aware =
        parse_choice<bool>("--network-backend", raw.network_backend, choices);
  }
}

void finish_sync(const RawOptions& raw, RunOptions& options) {
  if (!raw.sync.empty()) options.sync = parse_choice<pdes::Sync>("--sync", raw.sync);
  if (!raw.window.empty()) options.window = parse_time("--window", raw.window);
}

void finish_stats(const RawOptions& raw, StatsArguments& stats, RunOptions& options) {
  stats = parse_stats(raw);
  if (!stats.path.empty()) options.sample_interval_s = stats.interval_s;
}

// Host time, or "5 ms simulated".
void finish_checkpoints(const RawOptions& raw, CheckpointOptions& options) {
  const std::string option = "--checkpoint-every";
  constexpr std::string_view kSimulated = " simulated";
  options.directory = raw.checkpoint;
  if (raw.checkpoint_every.empty()) return;
  if (raw.checkpoint.empty()) throw InputError(option, "has no effect without --checkpoint DIR");
  std::string text = raw.checkpoint_every;
  const bool simulated = text.ends_with(kSimulated);
  if (simulated) text.resize(text.size() - kSimulated.size());
  const core::Time every = parse_time(option, text);
  if (every < core::Time{1}) {
    throw InputError(option, in_quotes(raw.checkpoint_every) + " is too short; expected e.g. " +
                                 in_quotes("10 min") + " or " + in_quotes("5 ms simulated"));
  }
  if (simulated) {
    options.every = every;
  } else {
    options.every_s = core::to_seconds(every);
  }
}

// Says what a command lacks where it is given neither that nor a restart.
void require_what(bool given, const char* what, const std::string& restart, const char* command) {
  if (given || !restart.empty()) return;
  throw InputError(fmt::format("exawarp {0}", command),
                   fmt::format("{0} is required; expected it, or --restart DIR; see exawarp {1} "
                               "--help",
                               what, command));
}

void finish_phold(const CLI::App& app, const RawOptions& raw, PholdArguments& a) {
  const CLI::App& phold = *app.get_subcommand("phold");
  for (const char* const option : {"--lps", "--start-events", "--remote", "--end"}) {
    const bool given = phold.count(option) != 0;
    require_what(given, option, a.restart, "phold");
    if (given && !a.restart.empty()) {
      throw InputError(option, "is what the checkpoint says; expected --restart without it");
    }
  }
  finish_sync(raw, a.options);
  finish_stats(raw, a.stats, a.options);
  finish_checkpoints(raw, a.options.checkpoints);
}

// The arguments of every command; the one that is given is filled in.
struct CommandArguments {
  RawOptions raw;
  RawWorkloadOptions raw_workload;
  RunArguments run;
  WorkloadArguments workload;
  TopologyArguments topology;
  TrafficArguments traffic;
  ServeArguments serve;
  CapacityArguments capacity;
  PholdArguments phold;
  PlanArguments plan;
  RawPlanOptions raw_plan;
  GoalArguments goal;
  AstraArguments astra;
  ExtrapolateArguments extrapolate;
  RawExtrapolateOptions raw_extrapolate;
  SchemaArguments schema;
  ValidateArguments validate;
  CalibrateArguments calibrate;
  CompareArguments compare;
  ReportArguments report;
  ForkArguments fork;
  KernelsArguments kernels;
  RawKernelsOptions raw_kernels;
  DoctorArguments doctor;
  SweepArguments sweep;
  RawSweepOptions raw_sweep;
  SearchArguments search;
  std::string completion;
};

void add_commands(CLI::App& app, CommandArguments& a) {
  const auto add = [&app](const char* name, const char* description) -> CLI::App& {
    return *app.add_subcommand(name, description);
  };
  add_run(add("run", "simulates a study"), a.run, a.raw);
  add_sweep(add("sweep", "simulates a study at many points, and lists the best"), a.sweep,
            a.raw_sweep);
  add_search(add("search", "simulates every layout of a training job, and lists the best"),
             a.search);
  add_workload(add("workload", "makes and examines workload graphs"), a.workload, a.raw_workload);
  add_topology(add("topology", "shows the network of a study"), a.topology);
  add_traffic(add("traffic", "runs synthetic traffic over a packet network"), a.traffic, a.raw);
  add_serve(add("serve", "serves a language model: replicas, batches, requests"), a.serve, a.raw);
  CLI::App& capacity =
      add("capacity", "finds the highest load at which a serving study keeps its objectives");
  add_capacity(capacity, a.capacity);
  add_sync_options(capacity, a.raw, a.capacity.options);
  add_phold(add("phold", "measures the engine with the PHOLD benchmark"), a.phold, a.raw);
  add_plan(add("plan", "predicts how long a run takes on more ranks and threads, and its memory"),
           a.plan, a.raw_plan);
  add_goal(add("goal", "simulates a GOAL schedule under LogGOPS"), a.goal, a.raw);
  add_astra(add("astra", "runs the files of an ASTRA-sim set-up with its semantics"), a.astra,
            a.raw);
  CLI::App& extrapolate =
      add("extrapolate", "says what a step recorded on one GPU takes on several");
  add_extrapolate(extrapolate, a.extrapolate, a.raw_extrapolate);
  add_sync_options(extrapolate, a.raw, a.extrapolate.options);
  add_validate(add("validate", "compares published training runs with what is predicted for them"),
               a.validate);
  add_calibrate(add("calibrate", "fits a few numbers of an accelerator to measured training runs"),
                a.calibrate);
  add_compare(add("compare", "says what differs between two results"), a.compare);
  add_report(add("report", "shows results as a page for a browser"), a.report);
  add_fork(add("fork", "simulates several futures of a checkpoint, and says where they part"),
           a.fork, a.raw);
  add_kernels(add("kernels", "imports measured kernels, and counts cycles of systolic arrays"),
              a.kernels, a.raw_kernels);
  add_schema(add("schema", "prints the keys of configuration files as JSON Schema"), a.schema);
  add("doctor", "says whether runs will start on this machine, and what would help them")
      .add_flag("--json", a.doctor.json, "prints one JSON object");
  CLI::App& completion = add("completion", "prints what shells complete the command line by");
  completion.add_option("WHAT", a.completion, "bash, or a folder of configs/")->required();
  completion.group("");  // for shells, not in the help
}

void finish_critical_path(RunArguments& a) {
  a.options.critical_path = !a.critical_path.empty();
  if (a.options.check_critical_path && !a.options.critical_path) {
    throw InputError("--critical-path-check", "has no effect without --critical-path FILE");
  }
}

// Of a command that has no other raw options than those of the mode.
template <class Arguments>
const Arguments& with_sync(const RawOptions& raw, Arguments& a) {
  finish_sync(raw, a.options);
  return a;
}

const ServeArguments& finished(const RawOptions& raw, ServeArguments& a) {
  finish_request_tables(a.requests);
  return with_sync(raw, a);
}

// What of the raw options belongs to the command that was given.
Command finished(const CLI::App& app, CommandArguments& a) {
  const RawOptions& raw = a.raw;
  if (app.got_subcommand("workload")) {
    finish_workload(a.raw_workload, a.workload);
    return a.workload;
  }
  if (app.got_subcommand("topology")) return a.topology;
  if (app.got_subcommand("traffic")) {
    require_what(!a.traffic.study_file.empty(), "STUDY", a.traffic.restart, "traffic");
    a.traffic.overrides = raw.lists;
    finish_sync(raw, a.traffic.options);
    finish_checkpoints(raw, a.traffic.options.checkpoints);
    return a.traffic;
  }
  if (app.got_subcommand("serve")) return finished(raw, a.serve);
  if (app.got_subcommand("capacity")) return with_sync(raw, a.capacity);
  if (app.got_subcommand("phold")) {
    finish_phold(app, raw, a.phold);
    return a.phold;
  }
  if (app.got_subcommand("plan")) {
    finish_plan(app, a.raw_plan, a.plan);
    return a.plan;
  }
  if (app.got_subcommand("goal")) {
    require_what(!a.goal.file.empty(), "FILE", a.goal.restart, "goal");
    finish_sync(raw, a.goal.options);
    finish_checkpoints(raw, a.goal.options.checkpoints);
    return a.goal;
  }
  if (app.got_subcommand("astra")) {
    finish_astra(raw, a.astra);
    return a.astra;
  }
  if (app.got_subcommand("extrapolate")) {
    finish_extrapolate(a.raw_extrapolate, a.extrapolate);
    finish_sync(raw, a.extrapolate.options);
    return a.extrapolate;
  }
  if (app.got_subcommand("compare")) return a.compare;
  if (app.got_subcommand("report")) return a.report;
  if (app.got_subcommand("fork")) return with_sync(raw, a.fork);
  if (app.got_subcommand("schema")) return Information{schema_text(a.schema)};
  if (app.got_subcommand("doctor")) return a.doctor;
  if (app.got_subcommand("completion")) return Information{completion_text(app, a.completion)};
  if (app.got_subcommand("validate")) return a.validate;
  if (app.got_subcommand("calibrate")) return a.calibrate;
  if (app.got_subcommand("kernels")) {
    finish_kernels(a.raw_kernels, a.kernels);
    return a.kernels;
  }
  if (app.got_subcommand("search")) return a.search;
  if (app.got_subcommand("sweep")) {
    finish_sweep(a.raw_sweep, a.sweep);
    return a.sweep;
  }
  require_what(!a.run.study_file.empty(), "STUDY", a.run.restart, "run");
  a.run.overrides = raw.lists;
  finish_sync(raw, a.run.options);
  finish_checkpoints(raw, a.run.options.checkpoints);
  if (!raw.placement.empty()) {
    a.run.placement = parse_choice<PlacementMethod>("--placement", raw.placement);
  }
  finish_stats(raw, a.run.stats, a.run.options);
  finish_timeline(raw.timeline, a.run);
  finish_critical_path(a.run);
  finish_request_tables(a.run.requests);
  return a.run;
}

}  // namespace

Command parse_command_line(const std::vector<std::string>& arguments, Settings* given) {
  CLI::App app("Exawarp simulates machine-learning work on large clusters.", "exawarp");
  const core::BuildInfo& build = core::build_info();
  app.set_version_flag("--version", fmt::format("exawarp {}\ncommit {}\n{}, {}", build.version,
                                                build.commit, build.compiler, build.options));
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done; 1 a bug in exawarp; 2 bad input; 3 the simulated system deadlocked;\n"
      "4 a resource ran out; 75 stopped, with a checkpoint or a database to go on from.\n"
      "Start with: exawarp run llama2_7b_8");
  CommandArguments all;
  add_commands(app, all);
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  Settings ignored;
  Settings& settings = given != nullptr ? *given : ignored;
  settings.assign({{"command", fmt::format("exawarp {}", fmt::join(arguments, " "))}});
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::CallForVersion& version) {
    return Information{std::string(version.what()) + "\n"};
  } catch (const CLI::CallForHelp&) {
    return Information{app.help()};
  } catch (const CLI::CallForAllHelp&) {
    return Information{app.help("", CLI::AppFormatMode::All)};
  } catch (const CLI::ParseError& error) {
    fail(app, error);
  }
  settings = settings_of(app);
  all.run.command_line = all.fork.command_line = arguments;
  return finished(app, all);
}

}  // namespace exawarp::io
