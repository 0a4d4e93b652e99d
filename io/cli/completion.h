// Completion of the command line in shells, made of the options themselves.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace exawarp::io {

// What `exawarp completion WHAT` prints: of "bash" the script that completes all commands and
// options of `app`; of a folder of configs/ the names in it, a line each, which that script asks
// for. Throws core::InputError for anything else.
std::string completion_text(const CLI::App& app, const std::string& what);

}  // namespace exawarp::io
