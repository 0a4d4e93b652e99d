// The options of `exawarp plan`, and those of PHOLD, which it shares with `exawarp phold`: a part
// of command_line.cc.
#pragma once

#include "io/cli/command_line.h"

namespace CLI {
class App;
}

namespace exawarp::io {

// What PHOLD is: logical processes, events, how many go elsewhere, and until when.
void add_phold_model(CLI::App& app, PholdArguments& a);

// Options that are taken as text where the value is an enumeration or a quantity.
struct RawPlanOptions {
  std::string sync, round_trip;
};

void add_plan(CLI::App& app, PlanArguments& a, RawPlanOptions& raw);
// Throws core::InputError where options contradict each other.
void finish_plan(const CLI::App& app, const RawPlanOptions& raw, PlanArguments& a);

}  // namespace exawarp::io
