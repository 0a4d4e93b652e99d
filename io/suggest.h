// "Did you mean": the nearest of some names, and text made safe to quote in a one-line message.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace exawarp::io {

// The candidate with the least edit distance (Levenshtein) from `name`, or "" where even that one
// is no plausible slip of the keyboard. The first of several equally near ones wins.
std::string closest(std::string_view name, std::span<const std::string> candidates);

// `; did you mean "bandwidth"?`, or "" where nothing is near.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

// The same among the files beside `path`.
std::string did_you_mean_file(const std::string& path);

// In double quotes, control characters escaped, shortened to about 60 characters.
std::string in_quotes(std::string_view text);

// Control characters escaped, so that a message stays one line whatever a user's names hold.
std::string one_line(std::string_view text);

}  // namespace exawarp::io
