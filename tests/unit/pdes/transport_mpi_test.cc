// The MPI transport's exchange, as a program of its own: started by mpirun. Exit status 1 and a
// line on standard error if it is not as promised.
#include <cstdio>

#include "tests/unit/pdes/exchange_check.h"

int main() {
  using namespace exawarp;
  // Also beside what a board has room for.
  constexpr std::size_t kMoreThanAMessage = (std::size_t{1} << 20) + (std::size_t{1} << 15);
  const auto transport = pdes::make_transport();
  if (transport->ranks() == 1) {
    std::fputs("start this with mpirun\n", stderr);
    return 1;
  }
  const std::string faults = tests::faults_in_exchanges(*transport, kMoreThanAMessage);
  if (!faults.empty()) std::fprintf(stderr, "%s\n", faults.c_str());
  return faults.empty() ? 0 : 1;
}
