// Values of options that are taken as text.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/names.h"
#include "core/units.h"
#include "io/study/suggest.h"
#include "io/study/yaml.h"

namespace exawarp::io {

// One of some names. Throws core::InputError that names `option`, as the next one does.
template <class E>
E parse_choice(const std::string& option, const std::string& text,
               std::span<const core::Named<E>> table) {
  for (const core::Named<E>& entry : table) {
    if (entry.name == text) return entry.value;
  }
  const std::vector<std::string> names = core::names_in(table);
  throw core::InputError(option,
                         fmt::format("{} is not known; expected one of: {}{}", in_quotes(text),
                                     fmt::join(names, ", "), did_you_mean(text, names)));
}

template <class E>
E parse_choice(const std::string& option, const std::string& text) {
  return parse_choice<E>(option, text, names_of(E{}));
}

// Checks for a CLI::Validator: what is wrong with the text, or "". CLI11's own take NaN for a
// number in every range, and -1 for 2^64 - 1.
using OptionCheck = std::function<std::string(std::string&)>;

inline OptionCheck real_in(const RealRange& range) {
  return [range](std::string& text) {
    const std::optional<double> value = number_from<double>(text);
    return value && range.contains(*value) ? std::string()
                                           : in_quotes(text) + "; expected " + range.expected();
  };
}

// Decimal or hexadecimal, for transform(): CLI11 alone would read "010" as 8.
inline OptionCheck unsigned_up_to(std::uint64_t max) {
  return [max](std::string& text) {
    const std::optional<std::uint64_t> value = unsigned_from(text);
    if (!value || *value > max) {
      return fmt::format("{}; expected a whole number from 0 to {}", in_quotes(text), max);
    }
    text = std::to_string(*value);
    return std::string();
  };
}

// "10 us".
inline core::Time parse_time(const std::string& option, const std::string& text) {
  const core::ParsedQuantity parsed = core::parse_quantity(text, core::Dimension::time);
  if (!parsed.ok()) throw core::InputError(option, in_quotes(text) + " " + parsed.error);
  return core::Time{parsed.value};
}

}  // namespace exawarp::io
