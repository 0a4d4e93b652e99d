// Jobs, their placement and background traffic from a study: its `workload:` or `jobs:`, and its
// `background:`. docs/guide/jobs.md explains the keys.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/time.h"
#include "io/study/workload_spec.h"
#include "io/study/yaml.h"
#include "model/job/job.h"
#include "model/network/background.h"

namespace exawarp::io {

struct JobConfig {
  std::string name = {};
  // A checked specification, or the path of a .xwg file.
  std::variant<WorkloadSpec, std::string> workload = {};
  model::PlacementSpec placement = {};
  bool seed_given = false;  // of the placement; otherwise it is the study's
  core::Time start = {};
  std::string place = {};  // "file:line: key ...", what an error about it starts with
};

struct BackgroundConfig {
  model::BackgroundSpec spec = {};
  bool seed_given = false;
};

// At least one job; `jobs:` or the single `workload:`, whose job has the study's name. Throws
// core::InputError.
std::vector<JobConfig> read_jobs(const YamlSection& root, const std::string& study);
std::vector<BackgroundConfig> read_backgrounds(const YamlSection& root);

}  // namespace exawarp::io
