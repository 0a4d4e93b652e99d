// Edit distance over short names, and escaping of whatever could move a terminal's cursor or break
// a message's line; both are linear or bounded, since their input is hostile.
#include "io/study/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <system_error>
#include <vector>

namespace exawarp::io {
namespace {

constexpr std::size_t kComparedMax = 64;  // longer names are no slip of the keyboard
constexpr std::size_t kQuotedMax = 60;

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Bytes of the UTF-8 sequence that `text` starts with; 0: that is none, or a control character.
// Not the shortest form, surrogates and what is above U+10FFFF are none (Unicode 15, table 3-7).
std::size_t printable_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (length == 0 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) return 0;
  }
  const unsigned second = byte(1);
  const bool is_c1 = first == 0xc2 && second < 0xa0;
  const bool too_long = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool no_character = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90);
  return is_c1 || too_long || no_character ? 0 : length;
}

std::string escaped(std::string_view text, bool keep_line_ends) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::size_t bytes = printable_bytes(text);
    if (bytes == 0 && text.front() == '\n' && keep_line_ends) bytes = 1;
    if (bytes != 0) {
      out += text.substr(0, bytes);
    } else {
      bytes = 1;
      out += text.front() == '\n'
                 ? "\\n"
                 : fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    }
    text.remove_prefix(bytes);
  }
  return out;
}

// Names of the files beside `path`, in order of their names.
std::vector<std::string> neighbours(const std::filesystem::path& path) {
  constexpr std::size_t kNeighboursMax = 1'000;
  const std::filesystem::path parent = path.parent_path();
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entries(parent.empty() ? "." : parent, error);
  for (; !error && entries != std::filesystem::directory_iterator{} &&
         names.size() < kNeighboursMax;
       entries.increment(error)) {
    names.push_back(entries->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

std::string did_you_mean_file(const std::string& path) {
  return did_you_mean(std::filesystem::path(path).filename().string(), neighbours(path));
}

std::string closest(std::string_view name, std::span<const std::string> candidates) {
  if (name.size() > kComparedMax) return {};
  std::size_t best = std::max<std::size_t>(2, name.size() / 3) + 1;
  std::string found;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kComparedMax) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best && distance < name.size()) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

std::vector<std::string> close_names(std::string_view name,
                                     std::span<const std::string> candidates) {
  constexpr std::size_t kNamedMax = 5;
  if (name.size() > kComparedMax) return {};
  const std::size_t slips_max = std::max<std::size_t>(2, name.size() / 3);
  std::vector<std::pair<std::size_t, std::string>> close;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kComparedMax) continue;
    const std::size_t distance = edit_distance(name, candidate);
    const bool part = candidate.find(name) != std::string::npos ||
                      name.find(candidate) != std::string_view::npos;
    const bool slip = distance <= slips_max && distance < name.size();
    if (slip || part) close.emplace_back(slip ? distance : slips_max + distance, candidate);
  }
  std::ranges::stable_sort(close, {}, [](const auto& c) { return c.first; });
  std::vector<std::string> names;
  for (const auto& [distance, candidate] : close) {
    if (names.size() < kNamedMax) names.push_back(candidate);
  }
  return names;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  const std::string found = closest(name, candidates);
  return found.empty() ? "" : fmt::format("; did you mean {}?", in_quotes(found));
}

std::string printable(std::string_view text) { return escaped(text, true); }

std::string one_line(std::string_view text) {
  const std::string line = escaped(text, false);
  if (line.size() <= kLineMax) return line;
  constexpr std::size_t kKept = kLineMax / 2 - 20;  // at either end, beside the remark
  std::size_t head = kKept, tail = line.size() - kKept;
  while (is_continuation(line[head])) --head;
  while (is_continuation(line[tail])) ++tail;
  return fmt::format("{} ... ({} bytes) ... {}", line.substr(0, head), tail - head,
                     line.substr(tail));
}

std::string in_quotes(std::string_view text) {
  if (text.size() <= kQuotedMax) return "\"" + one_line(text) + "\"";
  std::size_t end = kQuotedMax;
  while (end > 0 && is_continuation(text[end])) --end;
  return "\"" + one_line(text.substr(0, end)) + "...\"";
}

}  // namespace exawarp::io
