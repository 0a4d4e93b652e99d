// Names that become those of files and directories of results.
#pragma once

#include <string>
#include <string_view>

#include "io/study/yaml.h"

namespace exawarp::io {

// The text at `key`: letters, digits, "_", "-" and ".", at most 100, and no leading ".". Throws
// core::InputError.
std::string read_folder_name(const YamlSection& section, std::string_view key);

}  // namespace exawarp::io
