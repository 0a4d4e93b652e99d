// What is known of a sweep's points: the rows of its database, and figures of their summaries.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/names.h"

namespace exawarp::io {

enum class PointState { pending, running, done, failed };
inline constexpr core::Named<PointState> kPointStateNames[] = {{"pending", PointState::pending},
                                                               {"running", PointState::running},
                                                               {"done", PointState::done},
                                                               {"failed", PointState::failed}};
constexpr std::span<const core::Named<PointState>> names_of(PointState) { return kPointStateNames; }
static_assert(core::names_each(kPointStateNames));

// How the simulation of a point ended.
struct PointOutcome {
  int exit_code = 0;        // as `exawarp run` has it; 128 and the signal's number for one killed
  std::string reason = {};  // one line; empty: it is done
  double wall_s = 0;        // host time
  // Empty where it failed before time zero.
  std::string digest = {};
  std::string study = {};    // resolved
  std::string summary = {};  // summary.json
};

struct SweepPoint {
  std::int64_t number = 0;  // counted from 1
  PointState state = PointState::pending;
  std::int64_t starts = 0;                     // how often it was begun
  std::vector<std::string> values;             // by the sweep's keys
  PointOutcome outcome;                        // of one that is done or failed
  std::vector<std::optional<double>> figures;  // by the measures that were asked for
};

// A number of the summary, what it is counted in, and whether more of it is better.
struct Measure {
  std::string name;  // "step_time"
  std::string path;  // "iteration_time_ps"; at a list `*` is the largest of its entries
  std::string unit;  // "s"; may be empty
  double scale = 1;  // what the summary's number is multiplied by
  bool more_is_better = true;
};

// step_time, tokens_per_s, mfu, tflops, memory, devices.
std::span<const Measure> usual_measures();

// One of these by its name, or any by its path, PATH:most or PATH:least. Throws core::InputError
// that starts with `option` for others.
Measure measure_of(const std::string& option, const std::string& text);

// The measures' numbers in a summary.json; none where it has no such number.
std::vector<std::optional<double>> figures_of(const std::string& summary,
                                              std::span<const Measure> measures);

struct SweepResults {
  std::string name;
  std::vector<std::string> keys;   // that points differ in
  std::vector<Measure> measures;   // of the points' figures
  std::vector<SweepPoint> points;  // by number

  [[nodiscard]] std::size_t count(PointState state) const;
};

}  // namespace exawarp::io
