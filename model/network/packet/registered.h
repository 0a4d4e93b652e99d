// Finding one of a list of things that have a name and a place in lists.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/check.h"
#include "model/network/packet/parameters.h"

namespace exawarp::model {

// By place, then by name.
template <class Entry>
std::vector<Entry> in_order_of_lists(std::vector<Entry> entries) {
  std::ranges::sort(entries, {}, [](const Entry& e) { return std::tuple(e.place, e.name); });
  for (std::size_t i = 0; i < entries.size(); ++i) {
    EXAWARP_CHECK(!entries[i].name.empty() && !entries[i].meaning.empty() && entries[i].make, i);
    for (std::size_t j = 0; j < i; ++j) {
      EXAWARP_CHECK(entries[i].name != entries[j].name, entries[i].name);
    }
  }
  return entries;
}

// Throws core::InputError, with all names, where `option` names none of them.
template <class Entry>
const Entry& registered(std::span<const Entry> entries, std::string_view option,
                        std::string_view name) {
  std::string names;
  for (const Entry& entry : entries) {
    if (entry.name == name) return entry;
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  require_option(false, option,
                 fmt::format("\"{}\" is not known; expected one of: {}", name, names));
  return entries.front();
}

}  // namespace exawarp::model
