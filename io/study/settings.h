// What a run was told, as text: to compare ranks by (io/life/agreement.h).
#pragma once

#include <string>
#include <vector>

namespace exawarp::io {

// What it is called, and what it is; "" where it is not given.
struct Setting {
  std::string key, value;
};
using Settings = std::vector<Setting>;

// Stands for the bytes of a file, wherever it lies. Throws as core::MappedFile does.
Setting content_of(const std::string& key, const std::string& path);

}  // namespace exawarp::io
