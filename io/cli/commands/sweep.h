// `exawarp sweep`: one study at many points, and what came of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/cli/console.h"
#include "io/life/sweep_database.h"
#include "io/report/sweep_results.h"
#include "pdes/transport.h"

namespace exawarp::io {

struct SweepArguments {
  enum class Action { run, best, show, write };
  Action action = Action::run;
  std::string file;                    // run: the sweep
  std::string database;                // run: empty: results/<sweep>.db
  SweepShare share;                    // run
  std::vector<std::string> databases;  // of all others: at least one
  std::string output;                  // write: empty: standard output
  std::vector<std::string> overrides;  // run: of every point's study
  std::uint32_t jobs = 0;              // run: points at a time; 0: as many as cores allow
  std::uint32_t threads = 1;           // run: of a point
  std::optional<double> time_limit_s;  // run: of a point
  std::vector<Measure> by;             // best: at least one
  bool front = false;                  // best: the points that none beats in all of `by`
  std::uint32_t count = 10;            // best
  bool json = false;                   // best, write
};

// kStoppedWithCheckpoint where a signal stopped it: the same command goes on.
int run_sweep_command(const SweepArguments& arguments, const Console& console,
                      pdes::Transport& transport);

}  // namespace exawarp::io
