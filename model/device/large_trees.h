// Trees with lanes over groups that are too large for all messages to be carried out.
#pragma once

#include <cstdint>

#include "core/time.h"
#include "model/device/group_run.h"

namespace exawarp::model {

// As GroupRun where that has `messages_max` messages at most. Above, from runs with fewer nodes,
// spread over all, and with fewer lanes: a level of the tree more adds what one of the levels below
// the root does, and a lane more what the last ones did. Within 3 % above 2^20 messages where
// compared, within 16 % with a sixteenth of the messages of small groups. Requires an algorithm
// with lanes in pairs (double_tree, nvls_tree).
core::Time large_tree_time(const GroupTask& use, std::uint64_t messages_max);

}  // namespace exawarp::model
