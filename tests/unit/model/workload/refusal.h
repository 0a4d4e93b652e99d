// Specifications that check() refuses, as tests list them.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <ostream>

#include "model/generate/transformer.h"

namespace exawarp::tests {

struct Refusal {
  const char* name;
  std::function<void(model::TransformerSpec&)> change;  // of a spec that is accepted
  const char* expected;  // what the refusal says

  friend std::ostream& operator<<(std::ostream& out, const Refusal& r) { return out << r.name; }
};

inline void expect_refused(model::TransformerSpec spec, const Refusal& refusal) {
  refusal.change(spec);
  try {
    check(spec);
    FAIL() << "accepted; expected " << refusal.expected;
  } catch (const model::SpecProblem& problem) {
    EXPECT_STREQ(problem.what(), refusal.expected);
  }
}

}  // namespace exawarp::tests
