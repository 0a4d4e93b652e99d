// Trouble on purpose: the section `faults` of a study, and what varies at random.
// docs/reference/keys.md lists the keys, docs/guide/faults.md says what they do.
#pragma once

#include <vector>

#include "io/study/keys.h"
#include "model/compute/slowdown.h"
#include "model/network/faults/link_faults.h"
#include "model/network/latency_jitter.h"
#include "model/variation.h"

namespace exawarp::io {

// Each throws core::InputError. Whether devices, links and switches exist is for the model to say.
std::vector<model::Slowdown> read_slow_devices(const YamlSection& faults);
std::vector<model::LinkFaultSpec> read_link_faults(const YamlSection& faults);

// `jitter: 0.05`, or a mapping with `distribution` and `deviation`.
model::VariationSpec read_jitter(const YamlSection& compute);
// The same of another key.
model::VariationSpec read_variation(const YamlSection& section, const char* key);
const Keys<model::LatencyJitterSpec>& latency_jitter_keys();

}  // namespace exawarp::io
