// A random model for property tests: everything that makes Time Warp hard, in one handler.
// Ties (delays are small multiples), zero-slack chains inside an atom (1 ps), bursts, hot LPs,
// undoable containers that grow and shrink, and emissions; all drawn from a seed.
#pragma once

#include <cstdint>
#include <memory>

#include "pdes/logical_process.h"

namespace exawarp::tests {

struct StormOptions {
  std::uint32_t lps = 64;
  std::uint32_t atom_shift = 2;      // chains of 1 ps stay inside an atom
  std::uint32_t starts_per_lp = 2;
  std::uint32_t hops = 40;           // generations of each start event
  std::uint32_t hot_lps = 2;         // of these, the target of a share of all sends
  std::int64_t lookahead_ps = 50;    // across atoms
  std::int64_t tie_ps = 50;          // delays are multiples of this
  std::uint64_t seed = 1;
  bool writes_directly = false;      // a deliberate fault: a field changes without the context
  bool leaves_out_a_field = false;   // another: its description does not know the sum
};

constexpr std::uint32_t kStormChannel = 7;

std::unique_ptr<pdes::Model> make_storm(const StormOptions& options);

// A storm of random shape.
StormOptions random_storm(std::uint64_t seed);

}  // namespace exawarp::tests
