// What `exawarp capacity` prints: the highest load that keeps what was promised, for each setting.
#pragma once

#include <string>
#include <vector>

#include "core/time.h"

namespace exawarp::io {

// A load that was simulated.
struct CapacityPoint {
  double rate = 0;         // requests a second that come
  double kept_share = 0;   // of the requests of the class that is worst off
  bool is_kept = false;    // every class gets its share
  double requests_per_s = 0, output_tokens_per_s = 0;  // over the whole run
  core::Time first_token_p99, per_token_mean;
  std::string digest;
};

// Of one setting of the study.
struct CapacityRow {
  std::string setting;  // KEY=VALUE, or a split's name; empty: the study as it is
  std::vector<std::string> overrides = {};  // that make it of the study, path.to.key=value
  double devices = 1;
  std::vector<CapacityPoint> points;  // in the order in which they were tried
  int best = -1;                      // of `points`: the highest rate that is kept; -1: none is
  bool is_bounded = false;            // some higher rate is not kept
  bool is_on_front = false;           // of devices' against users' tokens a second

  [[nodiscard]] double rate() const {
    return best < 0 ? 0 : points[static_cast<std::size_t>(best)].rate;
  }
  [[nodiscard]] double tokens_per_s_per_device() const;
  [[nodiscard]] double tokens_per_s_per_user() const;
};

// Of one load that is kept. A user's are of the tokens after a request's first; 0 where requests
// have no others.
struct FrontPoint {
  std::string setting;
  double rate = 0, tokens_per_s_per_device = 0, tokens_per_s_per_user = 0;
};

struct CapacityReport {
  std::string study;
  double tolerance = 0;
  std::vector<CapacityRow> rows;
  bool is_stopped = false;  // host time ran out
};

// Sets is_on_front: no other row is at least as good in both and better in one.
void mark_front(std::vector<CapacityRow>& rows);
// The same of all loads that are kept, of all rows; those with most for a device come last.
std::vector<FrontPoint> front_of(const std::vector<CapacityRow>& rows);
// The row of the highest load, the first of several; nothing where none is kept.
const CapacityRow* best_of(const std::vector<CapacityRow>& rows);

std::string capacity_json(const CapacityReport& report);
std::string capacity_text(const CapacityReport& report);

}  // namespace exawarp::io
