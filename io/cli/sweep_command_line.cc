#include "io/cli/sweep_command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "core/error.h"
#include "io/cli/option_values.h"
#include "io/study/study.h"

namespace exawarp::io {
namespace {

constexpr std::uint32_t kJobsMax = 4'096;

CLI::App& add_action(CLI::App& app, const char* name, const char* description, SweepArguments& a,
                     SweepArguments::Action action) {
  CLI::App& sub = *app.add_subcommand(name, description);
  sub.add_option("DB", a.databases, "what `exawarp sweep` filled; of one that is shared, all files")
      ->required();
  sub.callback([&a, action] { a.action = action; });
  return sub;
}

// "3/8".
SweepShare share_of(const std::string& text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto part = number_from<std::uint32_t>(text.substr(0, slash));
  const auto of = slash == text.size() ? std::optional<std::uint32_t>{}
                                       : number_from<std::uint32_t>(text.substr(slash + 1));
  if (!part || !of || *part < 1 || *part > *of) {
    throw core::InputError("--share",
                           in_quotes(text) + " is no share; expected e.g. 3/8, of 1 to 8");
  }
  return {.part = *part, .of = *of};
}

}  // namespace

void add_sweep(CLI::App& app, SweepArguments& a, RawSweepOptions& raw) {
  app.require_subcommand(0, 1);
  app.add_option("SWEEP", a.file, "sweep: a file, or a name in configs/sweeps, e.g. layouts_1k");
  app.add_option("-o,--output", a.database,
                 "the database of the points; goes on with one that is there (default: "
                 "results/<sweep>.db)");
  app.add_option("--set", a.overrides, "replaces a key at every point: path=value (repeatable)")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--jobs", a.jobs, "points at a time (default: as many as cores allow)")
      ->check(CLI::Range(1u, kJobsMax));
  app.add_option("--share", raw.share,
                 "PART/OF: each OF-th point alone, from point PART; other machines take the rest");
  app.add_option("--threads", a.threads, "of each point (default: 1)")
      ->check(CLI::Range(1u, kThreadsMax));
  app.add_option("--time-limit", a.time_limit_s,
                 "of each point, in host seconds; one that takes longer fails")
      ->check(CLI::Validator(real_in({.min = 0, .min_excluded = true}), ""));
  CLI::App& best =
      add_action(app, "best", "lists the best points", a, SweepArguments::Action::best);
  CLI::Option* by = best.add_option(
      "--by", raw.by,
      "tokens_per_s (default), step_time, mfu, tflops, memory, devices, or a path in summary.json "
      "with :most or :least");
  best.add_option("--pareto", raw.pareto,
                  "points that none is better than in all of these, e.g. tokens_per_s,memory")
      ->delimiter(',')
      ->excludes(by);
  best.add_option("--count", a.count, "how many (default: 10)")->check(CLI::Range(1u, 1u << 20));
  best.add_flag("--json", a.json, "prints one JSON object");
  add_action(app, "show", "says how far it has come, and why points failed", a,
             SweepArguments::Action::show);
  CLI::App& write =
      add_action(app, "export", "writes all points as a table", a, SweepArguments::Action::write);
  CLI::Option* csv = write.add_flag("--csv", raw.csv, "as CSV (default)");
  write.add_flag("--json", a.json, "as JSON, with studies and summaries")->excludes(csv);
  write.add_option("-o,--output", a.output, "a file (default: standard output)");
}

void add_search(CLI::App& app, SearchArguments& a) {
  app.add_option("SEARCH", a.file,
                 "search: a file, or a name in configs/searches, e.g. llama2_7b_64")
      ->required();
  app.add_option("-o,--output", a.database,
                 "the database of the layouts; goes on with one that is there (default: "
                 "results/<search>.db)");
  app.add_option("--set", a.overrides, "replaces a key of the study: path=value (repeatable)")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--jobs", a.jobs, "layouts at a time (default: as many as there are cores)")
      ->check(CLI::Range(1u, kJobsMax));
  app.add_option("--look-again", a.look_again,
                 "at most so many layouts have a second look, folded at message, before the best "
                 "are chosen; 0: none (default: as the search says)")
      ->check(CLI::Range(0u, 100'000u));
  app.add_option("--best", a.best, "layouts that are verified; 0: none")
      ->check(CLI::Range(0u, 1000u));
  app.add_option("--verify", a.verify,
                 "how: message, flow or packet, device by device, or folded_message (default: as "
                 "the search says)");
  app.add_option("--time-limit", a.time_limit_s,
                 "of each layout, in host seconds; one that takes longer fails")
      ->check(CLI::Validator(real_in({.min = 0, .min_excluded = true}), ""));
}

void finish_sweep(const RawSweepOptions& raw, SweepArguments& a) {
  if (a.action == SweepArguments::Action::run && a.file.empty()) {
    throw core::InputError("exawarp sweep", "SWEEP is required; see exawarp sweep --help");
  }
  if (!raw.share.empty()) a.share = share_of(raw.share);
  a.front = !raw.pareto.empty();
  for (const std::string& measure : raw.pareto) a.by.push_back(measure_of("--pareto", measure));
  if (!a.front) a.by.push_back(measure_of("--by", raw.by.empty() ? "tokens_per_s" : raw.by));
}

}  // namespace exawarp::io
