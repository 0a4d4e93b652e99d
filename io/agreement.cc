#include "io/agreement.h"

#include <array>
#include <exception>

#include "io/failure.h"

namespace exawarp::io {

void agree(pdes::Transport& transport, const std::function<void()>& work) {
  std::exception_ptr error;
  try {
    work();
  } catch (...) {
    error = std::current_exception();
  }
  // The greatest word wins, and the lowest rank has the greatest; its exit code rides along.
  constexpr std::uint64_t kCodes = 256;
  const std::uint64_t precedence = transport.ranks() - transport.rank().value;
  const std::uint64_t mine =
      error ? precedence * kCodes + static_cast<std::uint64_t>(failure_of(error).exit_code) : 0;
  std::array<std::uint64_t, 1> worst{mine};
  transport.all_reduce_max(worst);
  if (worst[0] == 0) return;
  if (error && worst[0] == mine) std::rethrow_exception(error);
  throw OtherRankFailed{static_cast<int>(worst[0] % kCodes)};
}

}  // namespace exawarp::io
