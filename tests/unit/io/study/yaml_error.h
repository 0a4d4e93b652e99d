// What the reader of studies says about a file.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/error.h"
#include "io/study/yaml.h"

namespace exawarp::tests {

// The message of the InputError that reading `name` in `folder` ends with, the folder cut off; ""
// where the file is accepted.
inline std::string yaml_error(const std::filesystem::path& folder, const std::string& name,
                              const std::vector<std::string>& overrides,
                              const std::function<void(const io::YamlSection&)>& read) {
  try {
    io::YamlDocument document((folder / name).string(), overrides);
    read(document.root());
    document.finish();
    return "";
  } catch (const core::InputError& error) {
    std::string what = error.what();
    const std::string prefix = folder.string() + "/";
    for (std::size_t at; (at = what.find(prefix)) != std::string::npos;) {
      what.erase(at, prefix.size());
    }
    return what;
  }
}

}  // namespace exawarp::tests
