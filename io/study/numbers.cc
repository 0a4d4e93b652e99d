#include "io/study/numbers.h"

#include <fmt/format.h>

#include <cmath>

namespace exawarp::io {

std::string IntegerRange::expected() const {
  return max == IntegerRange{}.max ? fmt::format("a whole number >= {}", min)
                                   : fmt::format("a whole number from {} to {}", min, max);
}

bool RealRange::contains(double value) const {
  return std::isfinite(value) && (min_excluded ? value > min : value >= min) &&
         (max_excluded ? value < max : value <= max);
}

std::string RealRange::expected() const {
  if (max == std::numeric_limits<double>::max()) {
    return fmt::format("a number {} {}", min_excluded ? ">" : ">=", min);
  }
  return fmt::format("a number in {}{}, {}{}", min_excluded ? "(" : "[", min, max,
                     max_excluded ? ")" : "]");
}

std::optional<std::uint64_t> unsigned_from(std::string_view text) {
  if (!text.starts_with("0x") && !text.starts_with("0X")) return number_from<std::uint64_t>(text);
  text.remove_prefix(2);
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

}  // namespace exawarp::io
