// Reads execution traces as ASTRA-sim does.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/guests/astra/config.h"

namespace exawarp::io {

// Traces of ranks 0 ... `ranks` - 1, one file open at a time; equal files share one trace. Groups
// defined by METADATA nodes are added to `groups`. Throws core::InputError.
[[nodiscard]] std::vector<std::shared_ptr<const model::astra::Trace>> read_astra_traces(
    const std::string& prefix, std::uint32_t ranks,
    std::map<std::uint32_t, model::astra::CommGroup>& groups);

// Adds `members` (empty: all of `ranks`) as group `id`; throws where it is defined otherwise.
void add_astra_group(std::uint32_t id, std::vector<std::uint32_t> members, std::uint32_t ranks,
                     const std::string& place,
                     std::map<std::uint32_t, model::astra::CommGroup>& groups);

}  // namespace exawarp::io
