#include "io/study/folder_name.h"

#include <algorithm>

namespace exawarp::io {

std::string read_folder_name(const YamlSection& section, std::string_view key) {
  constexpr std::size_t kMost = 100;
  std::string name = section.text(key);
  const bool plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '-' || c == '.';
  });
  if (!plain || name.front() == '.' || name.size() > kMost) {
    section.fail(key, "is no name; expected letters, digits, \"_\", \"-\" and \".\", at most 100");
  }
  return name;
}

}  // namespace exawarp::io
