#include "io/suggest.h"

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

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  const std::string found = closest(name, candidates);
  return found.empty() ? "" : fmt::format("; did you mean {}?", in_quotes(found));
}

std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      out += c;
    } else {
      out += c == '\n' ? "\\n" : fmt::format("\\x{:02x}", byte);
    }
  }
  return out;
}

std::string in_quotes(std::string_view text) {
  const bool shorten = text.size() > kQuotedMax;
  return fmt::format("\"{}{}\"", one_line(text.substr(0, kQuotedMax)), shorten ? "..." : "");
}

}  // namespace exawarp::io
