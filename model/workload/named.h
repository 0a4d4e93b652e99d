// Inside the specifications: values of enumerations by the names users write.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "model/generate/spec.h"

namespace exawarp::model {

template <class Enum>
struct Named {
  std::string_view name;
  Enum value;
};

// Throws SpecProblem under `key`, listing the names that `table` has.
template <class Enum>
Enum value_named(const std::string& key, const std::string& name,
                 std::span<const Named<Enum>> table) {
  std::string known;
  for (const Named<Enum>& entry : table) {
    if (entry.name == name) return entry.value;
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw SpecProblem(key, "no such value: \"" + name + "\"; expected one of " + known);
}

}  // namespace exawarp::model
