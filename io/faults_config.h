// The section `faults` of a study: trouble on purpose, as far as devices are concerned.
#pragma once

#include <vector>

#include "io/yaml.h"
#include "model/compute/slowdown.h"

namespace exawarp::io {

// Throws core::InputError.
std::vector<model::Slowdown> read_slow_devices(const YamlSection& faults);

}  // namespace exawarp::io
