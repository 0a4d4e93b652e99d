// A tree of YAML as text.
#pragma once

#include <string>

#include "io/study/yaml_tree.h"

namespace exawarp::io {

struct YamlTexts {
  std::string plain;      // without comments
  std::string annotated;  // the same, with comments: which file a value is from, what is a default
};

// `root`, a mapping, with what holds where it says nothing. Paths of files are absolute.
YamlTexts yaml_texts(const YamlNode& root);

}  // namespace exawarp::io
