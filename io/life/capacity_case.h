// What a capacity is sought of: a serving study, or a job of a study that serves.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/life/simulate.h"
#include "io/report/capacity_report.h"
#include "io/study/yaml.h"

namespace exawarp::io {

class CapacityCase {
 public:
  virtual ~CapacityCase() = default;

  [[nodiscard]] virtual double rate() const = 0;     // of requests, as it is written
  [[nodiscard]] virtual double devices() const = 0;  // that serve
  // The same requests at another rate. Nothing if host time ran out. Collective; throws what
  // simulate() throws.
  virtual std::optional<CapacityPoint> at(double rate, const RunOptions& options,
                                          pdes::Transport& transport) = 0;
  // How many there are, once they came.
  [[nodiscard]] virtual std::size_t requests() const = 0;
  [[nodiscard]] virtual const std::string& name() const = 0;  // of the study
  [[nodiscard]] virtual const ResolvedYaml& resolved() const = 0;
};

// Whether the file has jobs; else it is a serving study.
bool has_jobs(const std::string& file, const std::vector<std::string>& overrides);

// Which of the study's jobs is meant: the one of that name, or the only one that serves; as an
// index of Study::jobs. Throws core::InputError.
std::size_t serving_job(const Study& study, const std::string& name);

// Throws core::InputError where nothing is promised, or arrivals are not drawn. `job` is for
// studies with jobs.
std::unique_ptr<CapacityCase> read_capacity_case(const std::string& file,
                                                 const std::vector<std::string>& overrides,
                                                 const std::string& job);

}  // namespace exawarp::io
