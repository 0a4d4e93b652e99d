#include "io/formats/stablehlo/module.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace exawarp::io::stablehlo {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

}  // namespace

std::uint64_t TensorType::elements() const {
  std::uint64_t product = 1;
  for (const std::uint64_t dim : dims) product *= dim;
  return product;
}

std::uint32_t TensorType::width_bits() const {
  std::string_view name = element;
  std::uint32_t parts = 1;
  if (name.starts_with("complex<") && name.ends_with(">")) {
    name = name.substr(8, name.size() - 9);
    parts = 2;
  }
  for (const std::string_view prefix : {"bf", "tf", "ui", "si", "f", "i"}) {
    if (!name.starts_with(prefix)) continue;
    std::uint32_t bits = 0;
    const std::string_view digits = name.substr(prefix.size());
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
    if (error != std::errc{} || bits > 128) return 0;
    const bool has_layout = stop != digits.data() + digits.size();  // f8E4M3FN
    return has_layout && prefix != "f" ? 0 : parts * bits;
  }
  return name == "index" ? 64 : 0;
}

std::uint64_t TensorType::bytes() const {
  const std::uint64_t bits = elements() * width_bits();
  return std::max<std::uint64_t>(1, bits % 8 == 0 ? bits / 8 : (bits + 8) / 8);
}

std::string_view Operation::attribute(std::string_view wanted) const {
  for (const Attribute& a : attributes)
    if (a.name == wanted) return a.value;
  return {};
}

const Function* Module::find(std::string_view name) const {
  const auto it = std::ranges::find(functions, name, &Function::name);
  return it == functions.end() ? nullptr : &*it;
}

std::vector<std::int64_t> integers_in(std::string_view text) {
  std::vector<std::int64_t> found;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = at;
    if (text[end] == '-') ++end;
    if (end >= text.size() || !is_word(text[end])) {
      at = std::max(end, at + 1);
      continue;
    }
    while (end < text.size() && is_word(text[end])) ++end;
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, value);
    if (error == std::errc{} && stop == text.data() + end) found.push_back(value);
    at = end;
  }
  return found;
}

}  // namespace exawarp::io::stablehlo
