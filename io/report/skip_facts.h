// What packet.fast_forward left out, and how well, for summaries.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "model/network/packet/steady/steady_watch.h"

namespace exawarp::io {

// The keys are listed in docs/guide/user_guide.md.
nlohmann::ordered_json skips_json(const model::SkipTotals& totals);
// One line without an end. `hops`: of all packets, skipped or not.
std::string skips_text(const model::SkipTotals& totals, std::uint64_t hops);

}  // namespace exawarp::io
