// What readers would otherwise work out from a summary: how a job is laid out, how its pipeline's
// bubble compares with the schedule's own, where communication shows, and what costs most.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "io/report/results.h"
#include "model/device/time_class.h"
#include "model/generate/transformer_spec.h"
#include "model/link_loads.h"

namespace exawarp::io {

// Shares of device time, by time class; adds up to 1.
using TimeShares = std::array<double, model::kTimeClassCount>;

// What an average device computes in a step: F, B and W of docs/guide/training.md, in one unit.
struct PassTimes {
  double forward = 0, inputs = 0, weights = 0;  // inputs, weights: the gradients of
};

// The share of the step in which the schedule leaves a stage without work, where stages take
// equally long and communication takes no time: idle / (idle + work). `passes` counts for zb_h1
// alone. nullopt for a single stage, and where passes run together: what that hides is no formula.
std::optional<double> ideal_bubble(const model::TransformerSpec& spec, const PassTimes& passes);

struct Loss {
  std::string name;     // of a time class; "bubble" for waiting
  double share = 0;     // of device time
  std::string setting;  // keys of the workload that move it; empty: none is known
};
// The largest of exposed communication by axis, bubble and idle time. `spec` may be null. nullopt
// where all are below 0.05 % of device time.
std::optional<Loss> largest_loss(const TimeShares& shares, const model::TransformerSpec* spec);

struct Statements {
  std::optional<model::TransformerSpec> layout;  // of a generated transformer
  std::optional<double> ideal_bubble;
  TimeShares shares{};
  std::optional<Loss> loss;
  std::vector<model::LinkLoad> fabric;  // RunReport::link_loads
  // Of the busiest device's host, which launches kernels, in a step that takes step_s. 0: no study
  // of that.
  double host_s = 0, step_s = 0;
};
// Of a finished run of one job; nullopt of others.
std::optional<Statements> statements_of(const RunReport& report);

// Lines "Layout", "Bubble", "Exposed", "Loss", "Launches" and "Fabric", each where there is
// something to say.
std::string statements_text(const Statements& statements);
// {"layout": {...}, "bubble": {"ideal", "measured"}, "largest_loss": {"name", "share", "setting"},
// "launches": {"host_s", "share"}, "fabric": [{"kind", "times", "interface_s", "link_s", "link"}]};
// parts that are not known are left out.
nlohmann::ordered_json statements_json(const Statements& statements);

}  // namespace exawarp::io
