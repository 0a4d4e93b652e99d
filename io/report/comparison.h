// Two results side by side: what was put in differently, and by how much the figures drifted.
#pragma once

#include <string>
#include <vector>

namespace exawarp::io {

// One value that differs, by its path in the summary or in the study; "" where it is absent.
struct Difference {
  std::string key;
  std::string a, b;
  double change = 0;     // of numbers: (b - a) / |a|; infinite where only a is 0
  bool is_number = false;
  bool drifted = false;  // beyond the tolerance
};

struct Comparison {
  std::string a, b;                  // summaries' files
  std::vector<Difference> inputs;    // of what was simulated and by what program
  std::vector<Difference> figures;   // of what came out, in the first summary's order
  std::size_t figures_compared = 0;  // those that are equal included
  double tolerance = 0;

  [[nodiscard]] std::size_t drifted() const;
};

// Of two results, each a directory of a run or its summary.json. Figures of the host's time and
// memory, and of how the engine went about it, are left out: they differ from run to run. A number
// has drifted where it changed by more than `tolerance`, of the first one's size; a text, where it
// differs, but for the digest, which has where the tolerance is 0. Throws core::InputError and
// core::SystemError.
Comparison compare_results(const std::string& a, const std::string& b, double tolerance);

std::string comparison_text(const Comparison& comparison);
std::string comparison_json(const Comparison& comparison);

}  // namespace exawarp::io
