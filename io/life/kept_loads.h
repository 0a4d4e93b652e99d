// Loads that a search for a capacity need not simulate again, on all ranks: rank 0 has the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "io/life/capacity_case.h"
#include "io/life/load_database.h"
#include "pdes/transport.h"

namespace exawarp::io {

// All functions are collective; they throw what LoadDatabase throws, on every rank.
class KeptLoads {
 public:
  // `transport` outlives it.
  KeptLoads(const std::string& path, const LoadsOf& of, pdes::Transport& transport);

  // What was kept of that study, resolved, but its summary.
  [[nodiscard]] std::optional<LoadRun> find(const std::string& study);
  // One load at a time begins, and ends: `run` has its summary on rank 0; nothing: it was stopped.
  void begin(const LoadKeys& keys, const std::string& study);
  void end(const std::optional<LoadRun>& run, double wall_s);

 private:
  pdes::Transport& transport_;
  std::optional<LoadDatabase> database_;  // on rank 0
  struct Running {
    std::int64_t number = 0;  // of its row
    std::string study;
  } running_;
};

}  // namespace exawarp::io
