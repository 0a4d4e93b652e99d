#include "core/digest.h"

#include <fmt/core.h>

namespace exawarp::core {

std::string to_hex(Digest digest) { return fmt::format("{:016x}", digest.value); }

}  // namespace exawarp::core
