// The options of `exawarp run` that say whose timeline is written, and how much of it.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace exawarp::io {

struct RunArguments;

// As they are written.
struct RawTimelineOptions {
  std::string devices, from, until, slices;
};

void add_timeline(CLI::App& app, RunArguments& a, RawTimelineOptions& raw);
// Throws core::InputError.
void finish_timeline(const RawTimelineOptions& raw, RunArguments& a);

}  // namespace exawarp::io
