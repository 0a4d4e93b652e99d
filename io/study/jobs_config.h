// Jobs, their placement and background traffic from a study: its `workload:` or `jobs:`, and its
// `background:`. docs/guide/jobs.md explains the keys.
#pragma once

#include <memory>
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

struct ServedJobConfig;

struct JobConfig {
  std::string name = {};
  // A checked specification, or the path of a .xwg file.
  std::variant<WorkloadSpec, std::string> workload = {};
  model::PlacementSpec placement = {};
  bool seed_given = false;  // of the placement; otherwise it is the study's
  core::Time start = {};
  std::string place = {};  // "file:line: key ...", what an error about it starts with
  // Of a job that serves, whose `workload` is an empty path; two that hand requests over are
  // neighbours with the same one.
  std::shared_ptr<const ServedJobConfig> serving = {};
  bool decodes = false;  // the second of these

  // The .xwg file that it names; null: it is generated.
  [[nodiscard]] const std::string* workload_file() const {
    return serving != nullptr ? nullptr : std::get_if<std::string>(&workload);
  }
};

struct BackgroundConfig {
  model::BackgroundSpec spec = {};
  bool seed_given = false;
};

// At least one job; `jobs:` or the single `workload:`, whose job has the study's name. Throws
// core::InputError.
std::vector<JobConfig> read_jobs(const YamlSection& root, const std::string& study);
// `key` of `section`, a job's placement or one like it. Throws core::InputError.
JobConfig read_job_placement(const YamlSection& section, std::string_view key, JobConfig job);
std::vector<BackgroundConfig> read_backgrounds(const YamlSection& root);

}  // namespace exawarp::io
