// A table of units for each dimension. A number is read as decimal digits and an exponent, and
// multiplied by the unit in 128-bit integers, so that any remainder shows and is refused.
#include "core/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <optional>

namespace exawarp::core {
namespace {

__extension__ using Wide = unsigned __int128;

// One unit = numerator / denominator base units.
struct Unit {
  std::string_view symbol;
  Dimension dimension;
  std::int64_t numerator;
  std::int64_t denominator = 1;
};

constexpr std::int64_t kKilo = 1'000;
constexpr std::int64_t kMega = kKilo * kKilo;
constexpr std::int64_t kGiga = kMega * kKilo;
constexpr std::int64_t kTera = kGiga * kKilo;
constexpr std::int64_t kPeta = kTera * kKilo;
constexpr std::int64_t kKibi = 1'024;
constexpr std::int64_t kMebi = kKibi * kKibi;
constexpr std::int64_t kGibi = kMebi * kKibi;
constexpr std::int64_t kTebi = kGibi * kKibi;

using enum Dimension;
constexpr std::array kUnits{
    Unit{"ps", time, 1},
    Unit{"ns", time, kKilo},
    Unit{"us", time, kMega},
    Unit{"\u00b5s", time, kMega},
    Unit{"ms", time, kGiga},
    Unit{"s", time, kTera},
    Unit{"min", time, 60 * kTera},
    Unit{"h", time, 3'600 * kTera},
    Unit{"B", size, 1},
    Unit{"kB", size, kKilo},
    Unit{"KB", size, kKilo},
    Unit{"MB", size, kMega},
    Unit{"GB", size, kGiga},
    Unit{"TB", size, kTera},
    Unit{"PB", size, kPeta},
    Unit{"KiB", size, kKibi},
    Unit{"MiB", size, kMebi},
    Unit{"GiB", size, kGibi},
    Unit{"TiB", size, kTebi},
    Unit{"B/s", bandwidth, 1},
    Unit{"kB/s", bandwidth, kKilo},
    Unit{"KB/s", bandwidth, kKilo},
    Unit{"MB/s", bandwidth, kMega},
    Unit{"GB/s", bandwidth, kGiga},
    Unit{"TB/s", bandwidth, kTera},
    Unit{"KiB/s", bandwidth, kKibi},
    Unit{"MiB/s", bandwidth, kMebi},
    Unit{"GiB/s", bandwidth, kGibi},
    Unit{"TiB/s", bandwidth, kTebi},
    Unit{"b/s", bandwidth, 1, 8},
    Unit{"kb/s", bandwidth, kKilo, 8},
    Unit{"Kb/s", bandwidth, kKilo, 8},
    Unit{"Mb/s", bandwidth, kMega, 8},
    Unit{"Gb/s", bandwidth, kGiga, 8},
    Unit{"Tb/s", bandwidth, kTera, 8},
    Unit{"Mbit/s", bandwidth, kMega, 8},
    Unit{"Gbit/s", bandwidth, kGiga, 8},
    Unit{"Tbit/s", bandwidth, kTera, 8},
    Unit{"FLOP/s", rate, 1},
    Unit{"MFLOP/s", rate, kMega},
    Unit{"GFLOP/s", rate, kGiga},
    Unit{"TFLOP/s", rate, kTera},
    Unit{"PFLOP/s", rate, kPeta},
    Unit{"GOP/s", rate, kGiga},
    Unit{"TOP/s", rate, kTera},
    Unit{"POP/s", rate, kPeta},
    Unit{"mW", power, 1},
    Unit{"W", power, kKilo},
    Unit{"kW", power, kMega},
    Unit{"MW", power, kGiga},
    Unit{"Hz", frequency, 1},
    Unit{"kHz", frequency, kKilo},
    Unit{"MHz", frequency, kMega},
    Unit{"GHz", frequency, kGiga},
};

std::string_view name_of(Dimension dimension) {
  switch (dimension) {
    case time: return "time";
    case size: return "size";
    case bandwidth: return "bandwidth";
    case rate: return "rate";
    case power: return "power";
    case frequency: return "frequency";
  }
  return "quantity";
}

std::string_view base_unit_of(Dimension dimension) {
  switch (dimension) {
    case time: return "picoseconds";
    case size: return "bytes";
    case bandwidth: return "bytes per second";
    case rate: return "operations per second";
    case power: return "milliwatts";
    case frequency: return "hertz";
  }
  return "units";
}

// digits * 10^exponent, read from the front of `text`; `length` characters long.
struct Decimal {
  Wide digits = 0;
  int exponent = 0;
  std::size_t length = 0;
};

constexpr int kDigitsMax = 30;      // far more than 64 bits hold
constexpr int kExponentMax = 1'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The exponent part "e-3" at `from`, if it is one: its value and the place behind it.
void read_exponent(std::string_view text, Decimal& number) {
  std::size_t i = number.length;
  if (i >= text.size() || (text[i] != 'e' && text[i] != 'E')) return;
  const bool negative = ++i < text.size() && text[i] == '-';
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
  if (i >= text.size() || !is_digit(text[i])) return;
  int value = 0;
  for (; i < text.size() && is_digit(text[i]); ++i) {
    value = std::min(kExponentMax, value * 10 + (text[i] - '0'));
  }
  number.exponent += negative ? -value : value;
  number.length = i;
}

std::optional<Decimal> read_decimal(std::string_view text) {
  Decimal number;
  int digits = 0;
  bool any = false, in_fraction = false;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    if (text[i] == '.' && !in_fraction) {
      in_fraction = true;
    } else if (is_digit(text[i])) {
      any = true;
      if (number.digits != 0 || text[i] != '0') ++digits;
      if (digits > kDigitsMax) return std::nullopt;
      number.digits = number.digits * 10 + static_cast<Wide>(text[i] - '0');
      if (in_fraction) --number.exponent;
    } else {
      break;
    }
  }
  if (!any) return std::nullopt;
  number.length = i;
  read_exponent(text, number);
  while (number.digits != 0 && number.digits % 10 == 0) {
    number.digits /= 10;
    ++number.exponent;
  }
  return number;
}

ParsedQuantity to_base_units(const Decimal& number, const Unit& unit) {
  constexpr auto kMax = static_cast<Wide>(std::numeric_limits<std::int64_t>::max());
  if (number.digits == 0) return {};
  const ParsedQuantity too_large{0, "is too large; expected less than 2^63 " +
                                        std::string(base_unit_of(unit.dimension))};
  const ParsedQuantity not_whole{0, fmt::format("is not a whole number of {}; expected e.g. {}",
                                                base_unit_of(unit.dimension),
                                                examples_of(unit.dimension))};
  const auto numerator = static_cast<Wide>(unit.numerator);
  if (number.digits > ~Wide{0} / numerator) {
    return number.exponent < -kDigitsMax ? not_whole : too_large;
  }
  Wide value = number.digits * numerator;
  Wide divisor = static_cast<Wide>(unit.denominator);
  for (int e = number.exponent; e > 0; --e) {
    if (value > ~Wide{0} / 10) return too_large;
    value *= 10;
  }
  for (int e = number.exponent; e < 0; ++e) {
    if (divisor > ~Wide{0} / 10) return not_whole;
    divisor *= 10;
  }
  if (value % divisor != 0) return not_whole;
  value /= divisor;
  return value > kMax ? too_large : ParsedQuantity{static_cast<std::int64_t>(value), {}};
}

// Why `symbol` is no unit of `dimension`.
std::string unit_error(std::string_view symbol, Dimension dimension) {
  const std::string expected = fmt::format("; expected e.g. {}", examples_of(dimension));
  if (symbol.empty()) return "has no unit" + expected;
  const bool per_second = dimension == bandwidth || dimension == rate;
  for (const Unit& unit : kUnits) {
    if (per_second && unit.dimension == dimension && unit.symbol == std::string(symbol) + "/s") {
      return "has no time unit" + expected;
    }
    if (unit.symbol == symbol) {
      return fmt::format("is a {}, not a {}{}", name_of(unit.dimension), name_of(dimension),
                         expected);
    }
  }
  return fmt::format("has the unknown unit \"{}\"{}", symbol, expected);
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// `value` with `digits` significant digits, no exponent and no trailing zeros.
std::string significant(double value, int digits) {
  const int whole = value < 1 ? 1 : static_cast<int>(std::floor(std::log10(value))) + 1;
  std::string text = fmt::format("{:.{}f}", value, std::max(0, digits - whole));
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

}  // namespace

std::vector<std::string_view> units_of(Dimension dimension) {
  std::vector<std::string_view> out;
  for (const Unit& unit : kUnits) {
    if (unit.dimension == dimension) out.push_back(unit.symbol);
  }
  return out;
}

std::string_view examples_of(Dimension dimension) {
  switch (dimension) {
    case time: return "\"3.6 us\" or \"250 ns\"";
    case size: return "\"80 GB\" or \"16 MiB\"";
    case bandwidth: return "\"400 Gb/s\" or \"50 GB/s\"";
    case rate: return "\"989.4 TFLOP/s\"";
    case power: return "\"700 W\" or \"2.9 kW\"";
    case frequency: return "\"940 MHz\"";
  }
  return "";
}

ParsedQuantity parse_quantity(std::string_view text, Dimension dimension) {
  text = trim(text);
  if (!text.empty() && text.front() == '-') {
    return {0, fmt::format("is negative; expected e.g. {}", examples_of(dimension))};
  }
  const std::optional<Decimal> number = read_decimal(text);
  if (!number) {
    return {0, fmt::format("is no {}; expected e.g. {}", name_of(dimension),
                           examples_of(dimension))};
  }
  const std::string_view symbol = trim(text.substr(number->length));
  for (const Unit& unit : kUnits) {
    if (unit.dimension == dimension && unit.symbol == symbol) return to_base_units(*number, unit);
  }
  return {0, unit_error(symbol, dimension)};
}

std::string format_time(Time t) {
  constexpr std::array<std::string_view, 5> kSymbols{"ps", "ns", "us", "ms", "s"};
  auto value = static_cast<double>(t.ps);
  const bool negative = value < 0;
  if (negative) value = -value;
  std::size_t i = 0;
  for (; i + 1 < kSymbols.size() && value >= 999.95; ++i) value /= 1'000;
  return fmt::format("{}{} {}", negative ? "-" : "", significant(value, 4), kSymbols[i]);
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 6> kSymbols{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  std::size_t i = 0;
  for (; i + 1 < kSymbols.size() && value >= 1'023.5; ++i) value /= 1'024;
  return fmt::format("{} {}", significant(value, 3), kSymbols[i]);
}

std::string format_count(double count) {
  constexpr std::array<std::string_view, 7> kSymbols{"", " K", " M", " G", " T", " P", " E"};
  std::size_t i = 0;
  for (; i + 1 < kSymbols.size() && count >= 999.5; ++i) count /= 1'000;
  return significant(count, 3) + std::string(kSymbols[i]);
}

std::string format_grouped(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t i = digits.size(); i > 3;) {
    i -= 3;
    digits.insert(i, 1, ',');
  }
  return digits;
}

}  // namespace exawarp::core
