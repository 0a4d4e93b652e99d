// exawarp: the program. What happens, in order (io/run_main.cc):
//   join the other ranks, if any              pdes/transport.h
//   read the command line                     io/command_line.h
//   run the command                           io/commands/{run,workload,topology,phold}.h
//   turn an error into one line and a code    io/console.h
#include <unistd.h>

#include <iostream>

#include "io/run_main.h"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  const exawarp::io::Console console{std::cout, std::cerr, isatty(STDERR_FILENO) != 0};
  return exawarp::io::run_main(arguments, console);
}
