#include <sstream>

#include "io/cli/run_main.h"
#include "tests/e2e/workspace.h"

namespace exawarp::tests {

Ran Workspace::run(const std::vector<std::string>& arguments) const {
  std::ostringstream out, err;
  const io::Console console{out, err, false};
  Ran ran;
  ran.exit_code = io::run_main(arguments, console);
  ran.out = out.str();
  ran.err = err.str();
  return ran;
}

}  // namespace exawarp::tests
