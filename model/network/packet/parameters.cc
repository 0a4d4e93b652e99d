#include "model/network/packet/parameters.h"

#include <fmt/core.h>

#include "core/check.h"
#include "core/error.h"

namespace exawarp::model {

std::string parameter_key(std::string_view section, std::string_view key) {
  return section.empty() ? std::string(key) : fmt::format("{}.{}", section, key);
}

ParameterValues::ParameterValues(std::span<const Parameter> table, std::string_view section,
                                 const GivenParameters& given) {
  for (const Parameter& p : table) {
    EXAWARP_CHECK(p.least <= p.usual && p.usual <= p.most, p.least, p.usual, p.most);
    const std::string key = parameter_key(section, p.key);
    const auto found = given.find(key);
    const std::int64_t value = found == given.end() ? p.usual : found->second;
    require_option(p.least <= value && value <= p.most, key,
                   fmt::format("\"{}\"; expected {} to {}", value, p.least, p.most));
    const bool is_new = values_.emplace(p.key, value).second;
    EXAWARP_CHECK(is_new, "two parameters of one key");
  }
}

std::int64_t ParameterValues::operator[](std::string_view key) const {
  const auto found = values_.find(key);
  EXAWARP_CHECK(found != values_.end(), "no parameter of that key");
  return found->second;
}

std::uint32_t ParameterValues::count(std::string_view key) const {
  const std::int64_t value = (*this)[key];
  EXAWARP_CHECK(value >= 0 && value <= UINT32_MAX, value);
  return static_cast<std::uint32_t>(value);
}

void require_option(bool condition, std::string_view option, const std::string& what) {
  if (!condition) throw core::InputError(fmt::format("packet network: {}: {}", option, what));
}

}  // namespace exawarp::model
