// What this program was built from, and how.
#pragma once

#include <string>

namespace exawarp::core {

struct BuildInfo {
  std::string version;   // "0.1.0"
  std::string commit;    // with "+" where files differed from it; "unknown": built without git
  std::string options;   // of the compiler and of this build
  std::string compiler;  // "GCC 12.2.0"
};

const BuildInfo& build_info();

}  // namespace exawarp::core
