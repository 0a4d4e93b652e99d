#include "io/cli/commands/compare.h"

#include <ostream>

#include "core/error.h"
#include "io/report/comparison.h"

namespace exawarp::io {

int run_compare(const CompareArguments& a, const Console& console, pdes::Transport& transport) {
  if (transport.ranks() > 1) {
    throw core::InputError("compare", "runs on one rank; expected no mpirun");
  }
  const Comparison comparison = compare_results(a.a, a.b, a.tolerance);
  console.out << (a.json ? comparison_json(comparison) : comparison_text(comparison))
              << std::flush;
  return comparison.drifted() == 0 ? kDone : kDrifted;
}

}  // namespace exawarp::io
