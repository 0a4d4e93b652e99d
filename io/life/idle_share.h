// How long devices compute nothing, where the study leaves it to be found (`compute.idle_share:
// simulated`). An accelerator at its power limit has the lower clock the less it is idle, and how
// much it is depends on the clock again. So the study is simulated at fidelity `analytical`, where
// equal devices are one, with the share that is assumed by default, then with the one that came
// out, until the next one changes next to nothing.
#pragma once

#include "io/life/simulate.h"

namespace exawarp::io {

// The study with its accelerator's idle share. Where devices do not finish, that of the last time
// they did. Throws what simulate() throws, and core::SystemError where the time limit is over.
// Collective: rank 0 simulates, by itself.
Study with_idle_share_found(const Study& study, const RunOptions& options,
                            pdes::Transport& transport);

}  // namespace exawarp::io
