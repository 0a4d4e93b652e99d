// The section `collectives` of a study: which algorithm runs which collective.
#pragma once

#include "io/study/keys.h"
#include "model/collective/choice.h"

namespace exawarp::io {

const Keys<model::CollectiveRules>& collectives_keys();

}  // namespace exawarp::io
