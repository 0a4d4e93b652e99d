// Several futures of one past, side by side.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/report/ran.h"
#include "model/device/time_class.h"

namespace exawarp::io {

// Where a future departs from the unchanged one: docs/guide/checkpoints.md.
struct DepartureText {
  core::Time at;
  std::string where;       // "device 17"
  std::string what;        // "\"layer 3 forward\" ends"
  bool only_here = false;  // this future has the event, the unchanged one has not; or the reverse
  std::optional<core::Time> other_time = {};  // when the other one has it
};

// A future that was simulated. Times of devices are sums over all of them, in seconds.
struct FutureResult {
  std::string name;
  core::Time at;                 // of the change
  std::vector<std::string> set;  // what changed; empty: the unchanged one
  RunStatus status = RunStatus::finished;
  core::Time simulated;  // until the last device was done
  std::string digest;
  std::string directory;              // of its results
  std::vector<double> device_s = {};  // by TimeClass
  std::uint64_t devices = 0;
  std::optional<DepartureText> departure = {};  // none: it has the same events
};

struct ForkReport {
  std::string name;
  std::string checkpoint;
  core::Time at;                      // of the checkpoint
  std::vector<FutureResult> futures;  // the unchanged one first
};

std::string fork_text(const ForkReport& report);
// `schema` is "exawarp-fork-1".
std::string fork_json(const ForkReport& report);

}  // namespace exawarp::io
