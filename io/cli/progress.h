// How far a run has come, on standard error. Host time decides when to print and nothing else.
#pragma once

#include <cstdint>

#include "io/cli/console.h"
#include "pdes/engine.h"

namespace exawarp::io {

// On a terminal one line that is updated in place, otherwise a plain line every ten seconds.
// Owner: the thread that runs the engine.
class ProgressPrinter {
 public:
  explicit ProgressPrinter(const Console& console);
  ~ProgressPrinter() { finish(); }
  ProgressPrinter(const ProgressPrinter&) = delete;
  ProgressPrinter& operator=(const ProgressPrinter&) = delete;

  // How many events the run will commit, about; 0: not known.
  void expect(std::uint64_t events) { events_expected_ = events; }

  void operator()(const pdes::Progress& progress);
  // Removes the line from a terminal.
  void finish();

 private:
  [[nodiscard]] std::string line(const pdes::Progress& progress) const;
  const Console& console_;
  std::uint64_t events_expected_ = 0;
  double next_s_;
  bool shown_ = false;
};

}  // namespace exawarp::io
