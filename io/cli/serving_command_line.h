// The options of `exawarp capacity`, and of requests that other commands serve: a part of
// command_line.cc.
#pragma once

#include "io/cli/command_line.h"

namespace CLI {
class App;
}

namespace exawarp::io {

// Less those of the mode, which command_line.cc adds.
void add_capacity(CLI::App& app, CapacityArguments& a);

// Of `run` and `serve`.
void add_request_tables(CLI::App& app, RequestTables& a);
// Throws core::InputError.
void finish_request_tables(RequestTables& a);

}  // namespace exawarp::io
