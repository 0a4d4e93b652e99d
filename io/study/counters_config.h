// The section `counters` of a study: the buckets of the file that `--counters` names.
#pragma once

#include "io/study/keys.h"
#include "model/network/packet/port_counters.h"

namespace exawarp::io {

const Keys<model::PortCountersOptions>& counters_keys();

}  // namespace exawarp::io
