// Names of enumerators: one table for each enumeration, beside it, serves all who read or print it.
//
//   enum class Order { ascending, random };
//   inline constexpr core::Named<Order> kOrderNames[] = {{"ascending", Order::ascending},
//                                                        {"random", Order::random}};
//   constexpr std::span<const core::Named<Order>> names_of(Order) { return kOrderNames; }
//   static_assert(core::names_each(kOrderNames));
//
//   core::name_of(Order::random)           // "random"
//   core::value_of<Order>("ascending")     // Order::ascending
//
// names_of() is found by its argument's namespace. A value may have several names: the first is the
// one that is printed, all are read.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace exawarp::core {

template <class E>
struct Named {
  std::string_view name;  // of static storage, and followed by '\0'
  E value;
};

// "unknown" for what is no enumerator.
template <class E>
constexpr std::string_view name_in(std::span<const Named<E>> table, E value) {
  for (const Named<E>& entry : table) {
    if (entry.value == value) return entry.name;
  }
  return "unknown";
}

template <class E>
constexpr std::string_view name_of(E value) {
  return name_in<E>(names_of(value), value);
}

template <class E>
constexpr std::optional<E> value_of(std::string_view name) {
  for (const Named<E>& entry : names_of(E{})) {
    if (entry.name == name) return entry.value;
  }
  return std::nullopt;
}

// All names, in the table's order.
template <class E>
std::vector<std::string> names_in(std::span<const Named<E>> table) {
  std::vector<std::string> out;
  for (const Named<E>& entry : table) out.emplace_back(entry.name);
  return out;
}

// "ring, halving, direct".
template <class E>
std::string list_of_names(std::span<const Named<E>> table) {
  std::string out;
  for (const Named<E>& entry : table) {
    out += (out.empty() ? "" : ", ") + std::string(entry.name);
  }
  return out;
}

// Whether E has an enumerator of value `V`: compilers spell one that it has by its name, and
// another value as a cast.
template <auto V>
consteval bool is_enumerator() {
  const std::string_view text = __PRETTY_FUNCTION__;
  return text[text.find("V = ") + 4] != '(';
}

// Whether `table` names each enumerator of E from 0 to 31, other than those in `unnamed`.
template <class E, std::size_t N>
consteval bool names_each(const Named<E> (&table)[N], std::initializer_list<E> unnamed = {}) {
  const auto covered = [&](E value) {
    for (const Named<E>& entry : table) {
      if (entry.value == value) return true;
    }
    for (const E other : unnamed) {
      if (other == value) return true;
    }
    return false;
  };
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return ((!is_enumerator<static_cast<E>(I)>() || covered(static_cast<E>(I))) && ...);
  }
  (std::make_index_sequence<32>{});
}

}  // namespace exawarp::core
