// The events of a cluster study as a pending set sees them: what is pushed, and between which pops.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/time.h"

namespace exawarp::bench {

struct EventStream {
  struct Send {
    core::Time time;  // at which it is received
    core::LpId source;
    std::uint32_t sequence;
  };
  std::vector<Send> sends;                     // in order of scheduling
  std::uint32_t first_sends = 0;               // of them, before the first pop
  std::vector<std::uint32_t> sends_after_pop;  // one entry an event executed
  std::size_t pending_mean = 0;
  std::size_t pending_peak = 0;
};

// Runs the study sequentially. Throws core::InputError.
EventStream record_stream(const std::string& study_file);

}  // namespace exawarp::bench
