// Whether the steps of a run repeat: whether the state of all devices at one moment is that of an
// earlier moment, later by a period and further on by a step in every program.
//
// What a device does depends on its state, on the messages under way and on what its program has
// left, and on times only by their differences. So where two moments of a run are alike in this
// sense, and what programs have left after them is alike, too, everything repeats until a program
// comes to its end: each further step takes one period and spends in it what this one spent. That
// is a proof, not an extrapolation; what it needs is stated in docs/guide/repetition.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "model/cluster.h"
#include "pdes/cut.h"

namespace exawarp::model {

// All devices of this rank at one moment.
struct Moment {
  core::Time at;
  std::vector<pdes::CutChunk> chunks;
};

// The first thing that is not alike.
struct Difference {
  std::uint32_t lp = 0;
  std::string what;  // e.g. `stream "send 0"`
};

// Compares two moments of a run of `longer`; none: the later is the earlier, and what is left of
// the programs of `shorter` after the earlier moment is what is left of those of `longer` after the
// later. The clusters are of one study and differ in one step alone. Requires one job, no packets,
// no background traffic, no faults and nothing random. Throws core::InputError where a chunk is
// damaged.
std::optional<Difference> first_difference(const Cluster& shorter, const Cluster& longer,
                                           const Moment& earlier, const Moment& later);

}  // namespace exawarp::model
