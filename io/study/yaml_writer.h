// A tree of YAML as text.
#pragma once

#include <string>

#include "io/study/yaml_tree.h"

namespace exawarp::io {

enum class YamlComments { none, origins };

// `root`, a mapping, with what holds where it says nothing. Comments say which file a value comes
// from, and what is a default. Paths of files are absolute.
std::string yaml_text(const YamlNode& root, YamlComments comments);

}  // namespace exawarp::io
