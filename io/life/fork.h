// Going on from a checkpoint with another study than the one that it is of: otherwise placed or
// executed, which changes no result, or changed from there on, which makes it a fork.
#pragma once

#include <string>
#include <vector>

#include "io/life/checkpoint.h"
#include "io/study/study.h"

namespace exawarp::io {

struct Future {
  Study study;
  bool forks = false;  // RunOptions::forks
};

// The first moment that nothing in the checkpoint has seen.
core::Time fork_time(const Checkpoint& from);

// The checkpoint's study with these overrides. Those of `engine` and `placement` are for the whole
// run; the others become a change at `at`, or, where that is 0, at fork_time(). `changes` may be
// overridden as well. Throws core::InputError where something before `at` would be another.
Future future_of(const Checkpoint& from, const std::vector<std::string>& overrides,
                 core::Time at = core::Time{0});

}  // namespace exawarp::io
