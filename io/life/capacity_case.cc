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

bool is_wanted(LoadSummary summary, const pdes::Transport& transport) {
  return summary == LoadSummary::wanted && transport.rank().value == 0;
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

// What a study is read from.
struct StudySource {
  std::string file;
  std::vector<std::string> overrides;

  // With what a load changes of it.
  [[nodiscard]] std::vector<std::string> at(const std::string& rate_key, double rate,
                                            const RunOptions& options) const {
    std::vector<std::string> all = overrides;
    if (options.seed) all.push_back(fmt::format("seed={}", *options.seed));
    all.push_back(fmt::format("{}={}", rate_key, rate));
    return all;
  }
};

class OfServingStudy final : public CapacityCase {
 public:
  explicit OfServingStudy(StudySource source)
      : source_(std::move(source)), study_(read_serving_study(source_.file, source_.overrides)) {
    check_promises(study_.file, study_.objectives, study_.requests);
  }
  [[nodiscard]] double rate() const override { return study_.requests.arrivals.rate; }
  [[nodiscard]] double devices() const override {
    return static_cast<double>(study_.spec.replicas) * study_.spec.stages *
           static_cast<double>(study_.tensor());
  }
  std::optional<LoadRun> at(double rate, LoadSummary summary, const RunOptions& options,
                            pdes::Transport& transport) override {
    ServingStudy study = study_;
    study.requests.arrivals.rate = rate;
    const ServingReport report = simulate(study, options, transport);
    if (report.status == RunStatus::stopped) return {};
    LoadRun out{.point = point_of(asked_of(report), rate, report.result.digest),
                .requests = report.serving->spec().requests.size()};
    if (is_wanted(summary, transport)) out.summary = serving_json(report);
    return out;
  }
  [[nodiscard]] const std::string& name() const override { return study_.name; }
  [[nodiscard]] const ResolvedYaml& resolved() const override { return study_.resolved; }
  [[nodiscard]] const std::string& rate_key() const override { return rate_key_; }
  [[nodiscard]] ResolvedYaml resolved_at(double rate, const RunOptions& options) const override {
    return read_serving_study(source_.file, source_.at(rate_key_, rate, options)).resolved;
  }

 private:
  StudySource source_;
  ServingStudy study_;
  std::string rate_key_ = "requests.rate";
};

class OfJob final : public CapacityCase {
 public:
  OfJob(StudySource source, const std::string& name)
      : source_(std::move(source)), study_(read_study(source_.file, source_.overrides)) {
    const std::size_t index = serving_job(study_, name);
    const JobConfig& job = study_.jobs[index];
    check_promises(job.place, job.serving->objectives, job.serving->requests);
    serving_ = job.serving;
    rate_key_ = fmt::format("jobs.{}.serving.requests.rate", place_in_file(study_, index));
  }
  [[nodiscard]] double rate() const override { return serving_->requests.arrivals.rate; }
  [[nodiscard]] double devices() const override {
    std::uint32_t all = serving_->pool.layout.devices();
    if (serving_->decode) all += serving_->decode->layout.devices();
    return all;
  }
  std::optional<LoadRun> at(double rate, LoadSummary summary, const RunOptions& options,
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
    RunReport report = simulate(study, options, transport);
    if (report.status == RunStatus::stopped) return {};
    LoadRun out{.point = point_of(asked_of(report, job), rate, report.result.digest),
                .requests = report.cluster->serving_of(job)->spec().requests.size()};
    if (!is_wanted(summary, transport)) return out;
    report.overrides = source_.at(rate_key_, rate, options);
    report.command_line = {"run", source_.file};
    for (const std::string& setting : report.overrides) {
      report.command_line.insert(report.command_line.end(), {"--set", setting});
    }
    out.summary = summary_json(report);
    return out;
  }
  [[nodiscard]] const std::string& name() const override { return study_.name; }
  [[nodiscard]] const ResolvedYaml& resolved() const override { return study_.resolved; }
  [[nodiscard]] const std::string& rate_key() const override { return rate_key_; }
  [[nodiscard]] ResolvedYaml resolved_at(double rate, const RunOptions& options) const override {
    return read_study(source_.file, source_.at(rate_key_, rate, options)).resolved;
  }

 private:
  StudySource source_;
  Study study_;
  std::shared_ptr<const ServedJobConfig> serving_;
  std::string rate_key_;
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

std::size_t place_in_file(const Study& study, std::size_t job) {
  const auto end = study.jobs.begin() + static_cast<std::ptrdiff_t>(job);
  return static_cast<std::size_t>(std::count_if(
      study.jobs.begin(), end, [](const JobConfig& before) { return !before.decodes; }));
}

std::unique_ptr<CapacityCase> read_capacity_case(const std::string& file,
                                                 const std::vector<std::string>& overrides,
                                                 const std::string& job) {
  StudySource source{file, overrides};
  if (has_jobs(file, overrides)) return std::make_unique<OfJob>(std::move(source), job);
  if (!job.empty()) {
    throw core::InputError("--job", file + " has no jobs; expected a study with some, or no --job");
  }
  return std::make_unique<OfServingStudy>(std::move(source));
}

}  // namespace exawarp::io
