#include "io/cli/console.h"

#include <ostream>

#include "io/life/simulate.h"
#include "io/study/suggest.h"

namespace exawarp::io {

RunOptions with_console(RunOptions options, const Console& console) {
  options.started = console.started;
  options.notify = [&console](const std::string& line) {
    console.err << printable(line) + "\n" << std::flush;
  };
  return options;
}

}  // namespace exawarp::io
