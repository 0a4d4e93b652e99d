// All of a study, event by event; simulate() is for everybody else.
#pragma once

#include "io/life/simulate.h"
#include "pdes/cut.h"

namespace exawarp::io {

// As simulate(), whatever the study says of repetition. `cuts`: to take beside, where the options
// ask for no checkpoints. Collective.
RunReport simulate_all_of(const Study& study, const RunOptions& options, const pdes::CutPlan& cuts,
                          pdes::Transport& transport);

}  // namespace exawarp::io
