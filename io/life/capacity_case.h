// What a capacity is sought of: a serving study, or a job of a study that serves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/life/simulate.h"
#include "io/report/capacity_report.h"
#include "io/study/yaml.h"

namespace exawarp::io {

// One load that was simulated.
struct LoadRun {
  CapacityPoint point;
  std::uint64_t requests = 0;
  std::string summary = {};  // summary.json, on rank 0, where it is wanted
};
enum class LoadSummary { left_out, wanted };

class CapacityCase {
 public:
  virtual ~CapacityCase() = default;

  [[nodiscard]] virtual double rate() const = 0;     // of requests, as it is written
  [[nodiscard]] virtual double devices() const = 0;  // that serve
  // The same requests at another rate. Nothing if host time ran out. Collective; throws what
  // simulate() throws.
  virtual std::optional<LoadRun> at(double rate, LoadSummary summary, const RunOptions& options,
                                    pdes::Transport& transport) = 0;
  [[nodiscard]] virtual const std::string& name() const = 0;  // of the study
  [[nodiscard]] virtual const ResolvedYaml& resolved() const = 0;
  // Of the rate in the study's file; and what that resolves to at another rate.
  [[nodiscard]] virtual const std::string& rate_key() const = 0;
  [[nodiscard]] virtual ResolvedYaml resolved_at(double rate, const RunOptions& options) const = 0;
};

// Whether the file has jobs; else it is a serving study.
bool has_jobs(const std::string& file, const std::vector<std::string>& overrides);

// Which of the study's jobs is meant: the one of that name, or the only one that serves; as an
// index of Study::jobs. Throws core::InputError.
std::size_t serving_job(const Study& study, const std::string& name);
// Of a job by that index: its place in the study's file, where two pools are one job.
std::size_t place_in_file(const Study& study, std::size_t job);

// Throws core::InputError where nothing is promised, or arrivals are not drawn. `job` is for
// studies with jobs.
std::unique_ptr<CapacityCase> read_capacity_case(const std::string& file,
                                                 const std::vector<std::string>& overrides,
                                                 const std::string& job);

}  // namespace exawarp::io
