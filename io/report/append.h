// Where fmt::format_to writes when a text grows at its end.
#pragma once

#include <iterator>
#include <string>

namespace exawarp::io {

inline auto append(std::string& out) { return std::back_inserter(out); }

}  // namespace exawarp::io
