// The page of `exawarp report`: one file without references to others. Its data are one block of
// JSON, in which whoever wants the figures finds them; its script draws them (report.js).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace exawarp::io {

// `data`: {title, version, runs: [...], sweeps: [...]}, as made by gather.h.
std::string page_html(const nlohmann::ordered_json& data);

}  // namespace exawarp::io
