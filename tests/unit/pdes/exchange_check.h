// What every transport promises of an exchange, held against one of its endpoints.
#pragma once

#include <string>

#include "pdes/transport.h"

namespace exawarp::tests {

// To be called on each rank alike: some hundred exchanges of none, few and thousands of events
// between any two ranks, which reach them at different times. Then, with `largest`, one of that
// many from rank 0 to the last. Returns what was not as promised, or nothing.
std::string faults_in_exchanges(pdes::Transport& transport, std::size_t largest);

}  // namespace exawarp::tests
