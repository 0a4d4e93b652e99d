#include "io/life/capacity_case.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/digest.h"
#include "core/error.h"
#include "core/input_file.h"
#include "io/report/answers.h"
#include "io/report/served_report.h"
#include "io/study/served_job_config.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

void check_promises(const std::string& place, const Objectives& objectives,
                    const RequestSource& requests) {
  if (!promises(objectives, requests)) {
    throw core::InputError(place,
                           "objectives: are missing; expected some: a capacity is the "
                           "load at which they are kept");
  }
  if (requests.arrivals.kind == model::serving::Arrivals::trace) {
    throw core::InputError(place,
                           "requests.arrivals: is `trace`; expected arrivals that are "
                           "drawn, whose rate is what a capacity is");
  }
}

CapacityPoint point_of(const Asked& asked, double rate, core::Digest digest) {
  const Answers all = answers_of(asked);
  CapacityPoint out{.rate = rate,
                    .kept_share = 1,
                    .is_kept = true,
                    .requests_per_s = all.per_s(all.done),
                    .output_tokens_per_s = all.per_s(all.output_tokens),
                    .first_token_p99 = all.first_token.p99,
                    .per_token_mean = all.per_token.mean,
                    .digest = core::to_hex(digest)};
  const std::vector<Goodput> classes = goodput_of(asked);
  for (std::uint32_t c = 0; c < classes.size(); ++c) {
    const Objectives promised = asked.promised_to(c);
    if (!promised.any() || classes[c].all == 0) continue;
    out.kept_share = std::min(out.kept_share, classes[c].share());
    out.is_kept = out.is_kept && classes[c].share() >= promised.share;
  }
  return out;
}

class OfServingStudy final : public CapacityCase {
 public:
  explicit OfServingStudy(ServingStudy study) : study_(std::move(study)) {
    check_promises(study_.file, study_.objectives, study_.requests);
  }
  [[nodiscard]] double rate() const override { return study_.requests.arrivals.rate; }
  [[nodiscard]] double devices() const override {
    return static_cast<double>(study_.spec.replicas) * study_.spec.stages *
           static_cast<double>(study_.iteration ? study_.iteration->spec.tensor : 1);
  }
  std::optional<CapacityPoint> at(double rate, const RunOptions& options,
                                  pdes::Transport& transport) override {
    ServingStudy study = study_;
    study.requests.arrivals.rate = rate;
    const ServingReport report = simulate(study, options, transport);
    if (report.status == RunStatus::stopped) return {};
    requests_ = report.serving->spec().requests.size();
    return point_of(asked_of(report), rate, report.result.digest);
  }
  [[nodiscard]] std::size_t requests() const override { return requests_; }
  [[nodiscard]] const std::string& name() const override { return study_.name; }
  [[nodiscard]] const ResolvedYaml& resolved() const override { return study_.resolved; }

 private:
  ServingStudy study_;
  std::size_t requests_ = 0;
};

class OfJob final : public CapacityCase {
 public:
  OfJob(Study study, const std::string& name) : study_(std::move(study)) {
    const JobConfig& job = study_.jobs[serving_job(study_, name)];
    check_promises(job.place, job.serving->objectives, job.serving->requests);
    serving_ = job.serving;
  }
  [[nodiscard]] double rate() const override { return serving_->requests.arrivals.rate; }
  [[nodiscard]] double devices() const override {
    std::uint32_t all = serving_->pool.layout.devices();
    if (serving_->decode) all += serving_->decode->layout.devices();
    return all;
  }
  std::optional<CapacityPoint> at(double rate, const RunOptions& options,
                                  pdes::Transport& transport) override {
    Study study = study_;
    auto serving = std::make_shared<ServedJobConfig>(*serving_);
    serving->requests.arrivals.rate = rate;
    std::size_t job = study.jobs.size();
    for (std::size_t j = study.jobs.size(); j-- > 0;) {
      if (study.jobs[j].serving != serving_) continue;
      study.jobs[j].serving = serving;
      job = j;  // in the end the one that has the requests
    }
    const RunReport report = simulate(study, options, transport);
    if (report.status == RunStatus::stopped) return {};
    requests_ = report.cluster->serving_of(job)->spec().requests.size();
    return point_of(asked_of(report, job), rate, report.result.digest);
  }
  [[nodiscard]] std::size_t requests() const override { return requests_; }
  [[nodiscard]] const std::string& name() const override { return study_.name; }
  [[nodiscard]] const ResolvedYaml& resolved() const override { return study_.resolved; }

 private:
  Study study_;
  std::shared_ptr<const ServedJobConfig> serving_;
  std::size_t requests_ = 0;
};

}  // namespace

bool has_jobs(const std::string& file, const std::vector<std::string>& overrides) {
  if (file == core::kStandardInput) return false;  // can be read but once
  return YamlDocument(file, overrides).root().has("jobs");
}

std::size_t serving_job(const Study& study, const std::string& name) {
  std::vector<std::string> names;
  std::size_t found = 0;
  for (std::size_t j = 0; j < study.jobs.size(); ++j) {
    const JobConfig& job = study.jobs[j];
    if (job.serving == nullptr || job.decodes) continue;
    if (job.name == name) return j;
    names.push_back(job.name);
    found = j;
  }
  if (name.empty() && names.size() == 1) return found;
  if (names.empty()) {
    throw core::InputError(study.file,
                           "has no job that serves; expected one, whose load is sought");
  }
  if (name.empty()) {
    throw core::InputError(
        study.file, fmt::format("has {} jobs that serve; expected --job NAME", names.size()));
  }
  throw core::InputError("--job", fmt::format("{} is no job of {} that serves{}", in_quotes(name),
                                              study.file, did_you_mean(name, names)));
}

std::unique_ptr<CapacityCase> read_capacity_case(const std::string& file,
                                                 const std::vector<std::string>& overrides,
                                                 const std::string& job) {
  if (has_jobs(file, overrides)) return std::make_unique<OfJob>(read_study(file, overrides), job);
  if (!job.empty()) {
    throw core::InputError("--job", file + " has no jobs; expected a study with some, or no --job");
  }
  return std::make_unique<OfServingStudy>(read_serving_study(file, overrides));
}

}  // namespace exawarp::io
