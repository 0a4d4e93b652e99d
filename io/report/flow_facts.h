// What the region of a fabric did at flow fidelity, for summaries.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "model/network/flow/flow_region.h"

namespace exawarp::io {

// The keys are listed in docs/guide/user_guide.md.
nlohmann::ordered_json flows_json(const model::FlowTotals& totals);
// One line without an end: how often shares were solved, and of how many flows.
std::string shares_text(const model::FlowTotals& totals);

}  // namespace exawarp::io
