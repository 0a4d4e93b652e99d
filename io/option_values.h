// Values of options that are taken as text.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/units.h"
#include "io/suggest.h"
#include "io/yaml.h"

namespace exawarp::io {

// One of some names. Throws core::InputError that names `option`, as the next one does.
template <class E>
E parse_choice(const std::string& option, const std::string& text,
               std::span<const Choice<E>> choices) {
  std::vector<std::string> names;
  for (const Choice<E>& choice : choices) {
    if (choice.name == text) return choice.value;
    names.push_back(choice.name);
  }
  throw core::InputError(option,
                         fmt::format("{} is not known; expected one of: {}{}", in_quotes(text),
                                     fmt::join(names, ", "), did_you_mean(text, names)));
}

// "10 us".
inline core::Time parse_time(const std::string& option, const std::string& text) {
  const core::ParsedQuantity parsed = core::parse_quantity(text, core::Dimension::time);
  if (!parsed.ok()) throw core::InputError(option, in_quotes(text) + " " + parsed.error);
  return core::Time{parsed.value};
}

}  // namespace exawarp::io
