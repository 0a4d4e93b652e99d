// The options of `exawarp extrapolate`, and of `exawarp workload import single-gpu`, a part of
// command_line.cc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/cli/commands/extrapolate.h"

namespace CLI {
class App;
}

namespace exawarp::io {

// Options that are taken as text where the value is an enumeration or a quantity.
struct RawExtrapolateOptions {
  std::vector<std::string> layouts;
  std::string rules, bucket, order, link_bandwidth, remote_bandwidth;
  std::uint32_t batch = 0, micro_batch = 0;  // 0: not given
};

// What both commands take, the trace apart. Once `app` has parsed, finish_recorded() settles `to`.
void add_recorded(CLI::App& app, model::Extrapolation& to, RawExtrapolateOptions& raw);
void finish_recorded(const RawExtrapolateOptions& raw, model::Extrapolation& to);

// The options of `extrapolate`, those of the engine apart.
void add_extrapolate(CLI::App& app, ExtrapolateArguments& arguments, RawExtrapolateOptions& raw);
void finish_extrapolate(const RawExtrapolateOptions& raw, ExtrapolateArguments& arguments);

}  // namespace exawarp::io
