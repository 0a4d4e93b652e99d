#include "io/cli/plan_command_line.h"

#include <CLI/CLI.hpp>
#include <limits>

#include "io/cli/option_values.h"

namespace exawarp::io {
namespace {

constexpr const char* kPholdOptions[] = {"--lps", "--start-events", "--remote", "--end"};

// A study, or all that PHOLD is made of.
void require_one_model(const CLI::App& plan, const PlanArguments& a) {
  for (const char* const option : kPholdOptions) {
    const bool given = plan.count(option) != 0;
    if (given == a.study_file.empty()) continue;
    throw core::InputError(
        "exawarp plan",
        given ? fmt::format("{} is of PHOLD; expected it without STUDY", option)
              : fmt::format("STUDY is required; expected it, or all of {}; see exawarp plan --help",
                            fmt::join(kPholdOptions, ", ")));
  }
}

void require_workers(const PlanRequest& request) {
  const auto [ranks, threads] = request.shape;
  if (request.options.sync == pdes::Sync::sequential && ranks * threads > 1) {
    throw core::InputError("--sync sequential", "runs on one thread of one rank; expected "
                                                "--ranks 1 --threads 1, or another mode");
  }
  if (ranks % request.hosts != 0) {
    throw core::InputError("--hosts", fmt::format("{} ranks are not spread evenly over {}; "
                                                  "expected a number that divides them",
                                                  ranks, request.hosts));
  }
}

}  // namespace

void add_phold_model(CLI::App& app, PholdArguments& a) {
  app.add_option("--lps", a.lps, "logical processes")->check(CLI::Range(1u, 1u << 30));
  app.add_option("--start-events", a.start_events, "events each of them starts with")
      ->check(CLI::Range(0u, 1u << 16));
  app.add_option("--remote", a.remote, "probability that an event goes to another one")
      ->check(CLI::Validator(real_in({.min = 0, .max = 1}), ""));
  app.add_option("--end", a.end, "end, in units of the mean delay (1 us)")
      ->check(CLI::Validator(real_in({.min = 1e-6, .max = 9e12}), ""));
}

void add_plan(CLI::App& app, PlanArguments& a, RawPlanOptions& raw) {
  PlanRequest& r = a.request;
  app.add_option("STUDY", a.study_file,
                 "study or traffic study: a file, or a name in configs/studies or configs/traffic; "
                 "without it, PHOLD of the options below");
  app.add_option("--ranks", r.shape.ranks, "of the run that is planned (default: 1)")
      ->check(CLI::Range(1u, kPartitionsMax));
  app.add_option("--threads", r.shape.threads, "of each rank (default: 1)")
      ->check(CLI::Range(1u, kThreadsMax));
  app.add_option("--hosts", r.hosts, "that the ranks are spread over (default: 1)")
      ->check(CLI::Range(1u, kPartitionsMax));
  app.add_option("--round-trip", raw.round_trip,
                 "of a message and its answer between hosts (default: \"20 us\")");
  app.add_option("--sample-seconds", r.sample_s,
                 "host time of the piece that is simulated (default: 5)")
      ->check(CLI::Validator(real_in({.min = 0.01, .max = 86'400}), ""));
  app.add_option("--sync", raw.sync, "sequential, conservative or optimistic (default)");
  app.add_option("--partitions", r.options.partitions,
                 "partitions of a rank (default: by the workers)")
      ->check(CLI::Range(1u, kPartitionsMax));
  app.add_option("--seed", r.options.seed, "seed of every random number")
      ->transform(
          CLI::Validator(unsigned_up_to(std::numeric_limits<std::uint64_t>::max()), ""));
  app.add_option("--set", a.overrides, "replaces a key: path.to.key=value (repeatable)")
      ->take_all()
      ->allow_extra_args(false);
  add_phold_model(app, a.phold);
  app.add_flag("--json", a.json, "prints one JSON object on standard output");
}

void finish_plan(const CLI::App& app, const RawPlanOptions& raw, PlanArguments& a) {
  require_one_model(*app.get_subcommand("plan"), a);
  if (a.study_file.empty() && !a.overrides.empty()) {
    throw core::InputError("--set", "has no effect without STUDY");
  }
  if (!raw.sync.empty()) a.request.options.sync = parse_choice<pdes::Sync>("--sync", raw.sync);
  if (!raw.round_trip.empty()) {
    a.request.round_trip_s = core::to_seconds(parse_time("--round-trip", raw.round_trip));
  }
  require_workers(a.request);
}

}  // namespace exawarp::io
