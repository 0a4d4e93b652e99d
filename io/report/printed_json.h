// JSON as files and the terminal have it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace exawarp::io {

// Over several lines. What is no UTF-8 is replaced: names may come from foreign files.
std::string printed(const nlohmann::ordered_json& json);

}  // namespace exawarp::io
