// exawarp: the program. What happens, in order (io/cli/run_main.cc):
//   join the other ranks, if any              pdes/transport.h
//   read the command line                     io/cli/command_line.h
//   run the command                           io/cli/commands/
//   turn an error into one line and a code    io/life/failure.h
#include <unistd.h>

#include <csignal>
#include <iostream>

#include "core/stop_signal.h"
#include "core/temporary_files.h"
#include "io/cli/run_main.h"
#include "io/cli/standard_streams.h"

// What jemalloc asks, where the program has it: memory in huge pages. Touching pages for the first
// time is a quarter of a run of a fifth of a second (docs/laboratory/performance.md).
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "thp:always";
}

int main(int argc, char** argv) {
  exawarp::io::open_standard_descriptors();
  exawarp::core::remove_temporaries_on_signals();
  // A batch system's warning may come while ranks still meet; what it is for is a checkpoint.
  const exawarp::core::StopOnSignals stop({SIGUSR1});
  std::signal(SIGXFSZ, SIG_IGN);  // a file at its limit is an error of writing, with a line
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  exawarp::io::StandardOutput out;
  const exawarp::io::Console console{out.stream(), std::cerr, isatty(STDERR_FILENO) != 0};
  return out.finish(exawarp::io::run_main(arguments, console), std::cerr);
}
