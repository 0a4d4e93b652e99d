// How far a run or a sweep has come, on standard error.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "io/cli/console.h"
#include "io/cli/status_line.h"
#include "io/life/simulate.h"
#include "io/life/sweep.h"
#include "pdes/engine.h"

namespace exawarp::io {

// Owner: the thread that runs the engine.
class ProgressPrinter {
 public:
  explicit ProgressPrinter(const Console& console) : status_(console) {}

  // How many events the run will commit, about; 0: not known.
  void expect(std::uint64_t events) { events_expected_ = events; }
  // What tells from that and from the events committed which share is done; else it is their ratio.
  void measure(ShareDone share_done) { share_done_ = std::move(share_done); }

  void operator()(const pdes::Progress& progress);
  // Removes the line from a terminal.
  void finish() { status_.erase(); }

 private:
  [[nodiscard]] double share(const pdes::Progress& progress) const;
  [[nodiscard]] std::string line(const pdes::Progress& progress) const;
  StatusLine status_;
  std::uint64_t events_expected_ = 0;
  ShareDone share_done_;
};

// "12 s: 40 of 200 points, 2 failed, 12000 points/h, 48 s left". The rate is that of this run.
std::string progress_line(const SweepProgress& progress);

}  // namespace exawarp::io
