// What every simulation has before its first event, whatever is simulated: workers, a placement,
// the engine's options. For simulate() alone.
#pragma once

#include <cstdint>
#include <functional>

#include "core/placement.h"
#include "io/life/simulate.h"
#include "partition/block.h"

namespace exawarp::io {

struct Placed {
  core::Placement placement;
  std::uint64_t events_expected = 0;  // about; 0: not known
};

// What is to be placed, and how. Of the request that `place` gets, atoms and ranks and partitions
// are set.
struct Placeable {
  std::uint32_t atoms = 1;
  std::uint32_t partitions_per_thread = 1;  // where there are several threads
  // Whether several threads are faster than a sequential run (docs/laboratory/threads.md).
  bool threads_pay = true;
  std::function<Placed(const partition::PlacementRequest&)> place;
};

struct Prepared {
  pdes::EngineOptions engine;
  core::Placement placement;
};

// `engine` as a study has it, but for what the options say instead.
pdes::EngineOptions with_options(pdes::EngineOptions engine, const RunOptions& options);

// `partitions_per_rank` as a study has it; 0: by the workers. Where threads do not pay, and nothing
// that the user says asks for them, one rank runs sequentially. Collective.
Prepared prepare(const Placeable& what, const pdes::EngineOptions& engine,
                 std::uint32_t partitions_per_rank, const RunOptions& options,
                 pdes::Transport& transport);

// What all reports say alike, but for the status. Collective.
void set_facts(Ran& report, const pdes::EngineOptions& engine, double time_limit_s,
               pdes::Transport& transport);

}  // namespace exawarp::io
