// The LogGOPS parameters (Hoefler, Schneider, Lumsdaine: "LogGOPSim: simulating large-scale
// applications in the LogGOPS model", 2010), as exact integers.
#pragma once

#include <cstdint>

namespace exawarp::model::goal {

// Times are counts of units; a unit is 1 ns / units_per_ns, chosen so that every parameter is
// whole. The defaults are LogGOPSim's.
struct Parameters {
  std::int64_t L = 2500;  // latency
  std::int64_t o = 1500;  // CPU time of a message, at each end
  std::int64_t g = 1000;  // gap between messages at a NIC
  std::int64_t G = 6;     // gap per byte
  std::int64_t O = 0;     // CPU time per byte
  std::uint64_t S = 65535;         // bytes; greater messages use a rendezvous
  std::uint32_t units_per_ns = 1;  // 1, 10, .. 1,000,000
  // LogGOPSim's answer where a host has several CPUs: what an operation waited for counts by the
  // clock of its own CPU alone, so it may start before that has ended.
  bool as_loggopsim = false;
};

}  // namespace exawarp::model::goal
