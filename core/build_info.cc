#include "core/build_info.h"

#include "core/commit.h"

namespace exawarp::core {

const BuildInfo& build_info() {
#ifdef __clang__
  static const std::string kCompiler = "Clang ";
#else
  static const std::string kCompiler = "GCC ";
#endif
  static const BuildInfo info{.version = EXAWARP_VERSION,
                              .commit = kCommit,
                              .options = EXAWARP_OPTIONS,
                              .compiler = kCompiler + __VERSION__};
  return info;
}

}  // namespace exawarp::core
