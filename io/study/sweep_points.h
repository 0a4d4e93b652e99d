// The points of a sweep: which combinations of its values there are, and which of them hold its
// conditions.
#pragma once

#include <string>
#include <vector>

#include "io/study/study.h"
#include "io/study/sweep.h"

namespace exawarp::io {

// In the order of the file, the last axis fastest; at random: those that were drawn, in the same
// order. `base`: the study without what points replace. Throws core::InputError that starts with
// `place` for a condition that is none, and where no point is left.
std::vector<std::vector<std::string>> points_of(const Sweep& sweep, const Study& base,
                                                const std::string& place);

}  // namespace exawarp::io
