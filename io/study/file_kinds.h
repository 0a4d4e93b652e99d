// What a YAML file is for, by the keys that no other kind has: so that a file given to the wrong
// command is called by its name, not a list of keys that it lacks.
#pragma once

#include "io/study/yaml.h"

namespace exawarp::io {

enum class FileKind {
  sweep,
  search,
  study,
  traffic_study,
  serving_study,
  fork,
  workload,
  accelerator,
  system,
  fabric
};

// Throws core::InputError where the file at `path`, of which `root` is the root, is plainly of
// another kind; the text says which, and who reads it.
void expect_kind(FileKind expected, const YamlSection& root, const std::string& path);

}  // namespace exawarp::io
