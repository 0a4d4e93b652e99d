// The section `collectives` of a study: which algorithm runs which collective.
#pragma once

#include "io/study/yaml.h"
#include "model/collective/choice.h"

namespace exawarp::io {

// Throws core::InputError.
model::CollectiveRules read_collectives(const YamlSection& section);

}  // namespace exawarp::io
