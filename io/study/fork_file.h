// The file of `exawarp fork`: several futures of one past (configs/forks/*.yaml).
#pragma once

#include <string>
#include <vector>

#include "core/time.h"
#include "io/study/keys.h"

namespace exawarp::io {

struct FutureSpec {
  std::string name;              // also of its folder of results
  core::Time at{0};              // 0: where the checkpoint lies
  std::vector<std::string> set;  // path.to.key=value, as after --set
};

struct ForkFile {
  std::string file;
  std::string name;
  std::vector<FutureSpec> futures;  // at least one, each name once
};

const Keys<ForkFile>& fork_keys();

// Throws core::InputError.
ForkFile read_fork_file(const std::string& path);

}  // namespace exawarp::io
