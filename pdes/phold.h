// PHOLD, the field's synthetic benchmark (Fujimoto: "Performance of Time Warp under synthetic
// workloads", 1990): every event schedules one event, after 0.1 + Exp(1.0) units, at another
// logical process with probability `remote`, at its own otherwise.
// It draws as benchmarks/yardstick/phold_baseline.cpp does, so both execute the same events.
#pragma once

#include <cstdint>
#include <memory>

#include "pdes/logical_process.h"

namespace exawarp::pdes {

constexpr Time kPholdUnit{1'000'000};
constexpr std::uint32_t kPholdStateBytes = 48;  // with the engine's header a cache line

struct PholdOptions {
  std::uint32_t lps = 1024;        // >= 1
  std::uint32_t start_events = 1;  // per LP; 0: nothing ever happens
  double remote = 0.5;             // in [0, 1]
  std::uint64_t seed = 1;
};

std::unique_ptr<Model> make_phold(const PholdOptions& options);

// Atoms for block placement: small enough for equal shares of `partitions`, large enough for a
// short table.
std::uint32_t phold_atom_shift(std::uint32_t lps, std::uint32_t partitions);

}  // namespace exawarp::pdes
