#include "core/time.h"

#include "core/check.h"

namespace exawarp::core::detail {

void time_overflowed(const char* operation, std::int64_t a, std::int64_t b) {
  check_failed(__FILE__, __LINE__, "simulated time stays within 64 bits",
               show_operands("a, operation, b", a, operation, b));
}

}  // namespace exawarp::core::detail
