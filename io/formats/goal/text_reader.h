// Reads the text form of a GOAL schedule (docs/guide/goal.md):
//
//   num_ranks 2
//   rank 0 {
//     l1: calc 119 cpu 0
//     l2: send 8b to 1 tag 3 cpu 0 nic 0
//     l2 requires l1        // starts after l1 has ended; irequires: has started
//   }
//   rank 1 { ... recv 8b from 0 tag 3 ... }     -1 as source or tag: whichever comes
//
// Comments are // to the end of the line, and between /* and */.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "model/guests/goal/schedule.h"

namespace exawarp::io {

// The schedule in its binary form, as model::goal::Schedule::from_bytes takes it. Throws
// core::InputError "PLACE:LINE:COLUMN: what is wrong; what was expected".
std::vector<std::byte> read_goal_text(std::string_view text, const std::string& place);

// Opens either form; a binary file is told by its first eight bytes.
model::goal::Schedule open_goal(const std::string& path);

}  // namespace exawarp::io
