// "Did you mean": the nearest of some names, and text made safe to quote in a one-line message.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace exawarp::io {

// The candidate with the least edit distance (Levenshtein) from `name`, or "" where even that one
// is no plausible slip of the keyboard. The first of several equally near ones wins.
std::string closest(std::string_view name, std::span<const std::string> candidates);

// `; did you mean "bandwidth"?`, or "" where nothing is near.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

// Those that `name` may have meant, at most five: slips of the keyboard, then names that it is a
// part of, or that are a part of it; nearer ones first.
std::vector<std::string> close_names(std::string_view name,
                                     std::span<const std::string> candidates);

// The same as did_you_mean() among the files beside `path`.
std::string did_you_mean_file(const std::string& path);

// In double quotes, control characters escaped, shortened to about 60 characters.
std::string in_quotes(std::string_view text);

// Text for people, of which parts are a user's: control characters (C0 but for line ends, DEL, C1)
// and bytes that are no UTF-8 escaped as \xNN, so that nothing commands the terminal.
std::string printable(std::string_view text);

// The same as one line: line ends escaped, too, and what is left out of the middle of more than
// kLineMax characters counted there.
constexpr std::size_t kLineMax = 1'000;
std::string one_line(std::string_view text);

}  // namespace exawarp::io
