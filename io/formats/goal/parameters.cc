#include "io/formats/goal/parameters.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/error.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

constexpr std::size_t kDecimalsMax = 6;
constexpr std::size_t kDigitsMax = 9;  // before the point: below a second

struct Decimal {
  std::string whole, decimals;  // digits; `decimals` without zeros at the end
};

[[noreturn]] void refuse(const std::string& option, const std::string& text) {
  throw core::InputError(option, fmt::format("{} is not expected; expected ns below 1e9 with at "
                                             "most {} decimals, e.g. 6 or 0.04",
                                             in_quotes(text), kDecimalsMax));
}

bool all_digits(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

Decimal read_decimal(const std::string& option, const std::string& text) {
  const std::size_t point = text.find('.');
  Decimal value{.whole = text.substr(0, point),
                .decimals = point == std::string::npos ? "" : text.substr(point + 1)};
  while (!value.decimals.empty() && value.decimals.back() == '0') value.decimals.pop_back();
  if (value.whole.empty() || value.whole.size() > kDigitsMax ||
      value.decimals.size() > kDecimalsMax || !all_digits(value.whole + value.decimals))
    refuse(option, text);
  return value;
}

std::int64_t scaled(const Decimal& value, std::size_t decimals) {
  const std::string digits =
      value.whole + value.decimals + std::string(decimals - value.decimals.size(), '0');
  return std::stoll(digits);
}

}  // namespace

model::goal::Parameters read_goal_parameters(const GoalParameterTexts& texts) {
  const Decimal L = read_decimal("--L", texts.L);
  const Decimal o = read_decimal("--o", texts.o);
  const Decimal g = read_decimal("--g", texts.g);
  const Decimal G = read_decimal("--G", texts.G);
  const Decimal O = read_decimal("--O", texts.O);
  std::size_t decimals = 0;
  for (const Decimal* value : {&L, &o, &g, &G, &O})
    decimals = std::max(decimals, value->decimals.size());
  model::goal::Parameters p{.L = scaled(L, decimals),
                            .o = scaled(o, decimals),
                            .g = scaled(g, decimals),
                            .G = scaled(G, decimals),
                            .O = scaled(O, decimals)};
  for (std::size_t i = 0; i < decimals; ++i) p.units_per_ns *= 10;
  const char* const end = texts.S.data() + texts.S.size();
  const auto [stop, error] = std::from_chars(texts.S.data(), end, p.S);
  if (error != std::errc{} || stop != end)
    throw core::InputError("--S", fmt::format("{} is no size; expected bytes, e.g. 65535",
                                              in_quotes(texts.S)));
  return p;
}

std::string format_ns(std::int64_t units, std::uint32_t units_per_ns) {
  const std::int64_t rest = units % units_per_ns;
  if (rest == 0) return std::to_string(units / units_per_ns);
  std::string decimals = std::to_string(rest + units_per_ns).substr(1);
  while (decimals.back() == '0') decimals.pop_back();
  return fmt::format("{}.{}", units / units_per_ns, decimals);
}

}  // namespace exawarp::io
