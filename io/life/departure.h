// Where one future of a checkpoint departs from another.
#pragma once

#include <cstdint>
#include <optional>

#include "core/time.h"
#include "io/life/checkpoint.h"
#include "pdes/event.h"
#include "pdes/logical_process.h"

namespace exawarp::io {

// The first event, in the order of a sequential run, that one future has and the other has not.
struct Departure {
  pdes::Event event;
  bool of_first = false;  // the first future has it, the second has not
  // When the other one has its like (model/event_text.h); none: not for a while.
  std::optional<core::Time> other_time = {};
};

// Two models that go on from one checkpoint.
struct TwoFutures {
  const Checkpoint& from;
  const pdes::Model& first;
  const pdes::Model& second;
  std::uint32_t atoms = 1;  // of both
  std::uint32_t atom_shift = 0;
  std::uint64_t seed = 1;
  core::Time begin{0};  // they are the same before
  core::Time end{0};    // the last event of both lies before
};

// None: they have the same events. Simulates both from the checkpoint on, sequentially and on this
// rank alone, as far as they are the same, and again. Throws as Checkpoint::restore() does.
std::optional<Departure> find_departure(const TwoFutures& futures);

}  // namespace exawarp::io
