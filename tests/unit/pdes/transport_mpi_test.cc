// The MPI transport's exchange, as a program of its own: started by mpirun. Exit status 1 and a
// line on standard error if it is not as promised.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/unit/pdes/exchange_check.h"

int main() {
  using namespace exawarp;
  // Also for what exceeds a board.
  constexpr std::size_t kMoreThanAMessage = (std::size_t{1} << 20) + (std::size_t{1} << 15);
  const auto transport = pdes::make_transport();
  if (transport->ranks() == 1) {
    std::fputs("start this with mpirun\n", stderr);
    return 1;
  }
  const char* const exchange = std::getenv("EXAWARP_EXCHANGE");
  if (exchange == nullptr || std::string_view(exchange) != "messages") transport->share_boards();
  const std::string faults = tests::faults_in_exchanges(*transport, kMoreThanAMessage);
  if (!faults.empty()) std::fprintf(stderr, "%s\n", faults.c_str());
  return faults.empty() ? 0 : 1;
}
