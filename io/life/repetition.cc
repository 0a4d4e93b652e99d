// Steps that repeat, simulated once (docs/guide/repetition.md): a few steps of a study are
// simulated in full; two moments of these, a period apart, are compared (model/recurrence.h); where
// they are alike, every further step takes what the last one took.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
#include <variant>

#include "core/check.h"
#include "core/error.h"
#include "io/life/agreement.h"
#include "io/life/idle_share.h"
#include "io/life/simulate.h"
#include "io/life/study_run.h"
#include "io/study/in_file.h"
#include "model/recurrence.h"

namespace exawarp::io {
namespace {

// So many steps are simulated to find two that are alike; the first try is enough for most
// studies, and further ones are for those where passes drift towards their pace.
constexpr std::array<std::int64_t, 2> kTries{4, 8};

// A try simulates as many steps, one less, and two less.
constexpr std::int64_t steps_of_try(std::int64_t steps) { return 3 * steps - 3; }
// What is tried in vain adds at most half to what the study takes.
constexpr std::int64_t steps_worth_trying(std::int64_t simulated) { return 2 * simulated; }

// Where a workload's number of steps is; null where it has none.
std::int64_t* steps_in(Study& study) {
  if (study.jobs.size() != 1) return nullptr;
  auto* const spec = std::get_if<WorkloadSpec>(&study.jobs[0].workload);
  if (spec == nullptr) return nullptr;
  return std::visit(
      [](auto& of) -> std::int64_t* {
        if constexpr (requires { of.steps; }) return &of.steps;
        return nullptr;
      },
      *spec);
}

bool writes_checkpoints(const Study& study) {
  const auto* transformer =
      std::get_if<model::TransformerSpec>(&std::get<WorkloadSpec>(study.jobs[0].workload));
  return transformer != nullptr && transformer->storage.checkpoint_every != 0;
}

// Of what is asked of a run beside its report, what needs each step.
std::string_view asked_of_each_step(const RunOptions& options) {
  if (options.timeline) return "--timeline shows each step";
  if (options.trace_messages) return "--messages are of each step";
  if (options.trace_power) return "--power shows each step";
  if (options.critical_path) return "--critical-path goes through each step";
  if (options.count_ports) return "--counters are of each step";
  if (!options.checkpoints.directory.empty()) return "checkpoints of the run are written";
  if (options.restart != nullptr) return "the run goes on from a checkpoint";
  return {};
}

// Why the steps cannot be known to repeat, whatever devices do; empty: they can.
std::string_view why_steps_differ(Study& study, const RunOptions& options) {
  if (study.jobs.size() != 1) return "there are several jobs";
  if (steps_in(study) == nullptr) return "the workload is not one of generated steps";
  if (study.network_fidelity == NetworkFidelity::packet) {
    return "the network is simulated packet by packet";
  }
  if (study.network_fidelity == NetworkFidelity::flow) return "messages share links as flows";
  if (study.shares_interfaces && study.network_fidelity == NetworkFidelity::analytical) {
    return "what is sent shares interfaces";
  }
  if (!study.backgrounds.empty()) return "there is background traffic";
  if (!study.changes.empty()) return "the study changes on its way";
  if (study.compute_jitter.deviation != 0) return "compute times have jitter";
  if (study.latency_jitter.mean.ps != 0) return "latencies have jitter";
  if (!study.slow_devices.empty()) return "devices are slow";
  if (!study.link_faults.empty()) return "links are at fault";
  if (writes_checkpoints(study)) return "some steps write a checkpoint of the model";
  if (*steps_in(study) < steps_worth_trying(steps_of_try(kTries.front()))) {
    return "there are too few steps";
  }
  return asked_of_each_step(options);
}

// A difference of any rank; that of the least device. Collective.
bool is_same_everywhere(const std::optional<model::Difference>& mine, pdes::Transport& transport,
                        std::uint32_t& device) {
  std::array<std::uint64_t, 1> most{mine ? ~std::uint64_t{mine->lp} : 0};
  transport.all_reduce_max(most);
  if (most[0] == 0) return true;
  device = static_cast<std::uint32_t>(~most[0]);
  return false;
}

class RepeatedSteps {
 public:
  RepeatedSteps(const Study& study, const RunOptions& options, pdes::Transport& transport)
      : study_(study), options_(options), quiet_(options), transport_(transport) {
    quiet_.ready = {};
    quiet_.notify = {};
    quiet_.progress = {};
    quiet_.measure = {};
    quiet_.sample_interval_s = 0;
    quiet_.steady_step = false;
    steps_ = *steps_in(study_);
    options_.steady_step = false;
    report_.steps = steps_;
  }

  // The report of all steps, or, where none repeat, none, and why() says why. One that did not
  // finish is of the steps that it says.
  std::optional<RunReport> find() {
    for (const std::int64_t tried : kTries) {
      if (steps_worth_trying(report_.steps_in_all + steps_of_try(tried)) > steps_) break;
      if (auto found = attempt(tried)) return found;
    }
    return {};
  }
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  RunReport run(std::int64_t steps, const RunOptions& options, const pdes::CutPlan& cuts) {
    *steps_in(study_) = steps;
    report_.steps_in_all += steps;
    return simulate_all_of(study_, options, cuts, transport_);
  }

  std::optional<RunReport> attempt(std::int64_t steps) {
    RunReport before = run(steps - 2, quiet_, {});
    if (before.status != RunStatus::finished) return before;
    RunReport shorter = run(steps - 1, quiet_, {});
    if (shorter.status != RunStatus::finished) return shorter;
    const core::Time period =
        shorter.outcome->simulated_time() - before.outcome->simulated_time();
    if (period.ps <= 0) return failed(fmt::format("step {} takes no time", steps - 1));
    std::vector<model::Moment> moments;
    const pdes::CutPlan cuts{.every = period, .take = [&](pdes::RankCut&& cut) {
                               moments.push_back({cut.totals.at, std::move(cut.chunks)});
                             }};
    RunReport longer = run(steps, options_, cuts);
    if (longer.status != RunStatus::finished) return longer;
    const core::Time last = longer.outcome->simulated_time() - shorter.outcome->simulated_time();
    if (last != period) {
      return failed(fmt::format("step {} takes {}, and step {} {} {}", steps - 1,
                                core::format_time(period), steps,
                                core::format_time(std::max(last, period) - std::min(last, period)),
                                last > period ? "more" : "less"));
    }
    if (!repeats(shorter, longer, moments, period)) return {};
    report_.period = period;
    report_.simulated_steps = steps;
    longer.repetition = report_;
    extend(longer, shorter);
    return longer;
  }

  std::optional<RunReport> failed(std::string why) {
    why_ = std::move(why);
    return {};
  }

  bool repeats(const RunReport& shorter, const RunReport& longer,
               const std::vector<model::Moment>& moments, core::Time period) {
    for (std::size_t i = 1; i < moments.size(); ++i) {
      if (moments[i].at - moments[i - 1].at != period) continue;
      std::uint32_t device = 0;
      const auto mine = model::first_difference(*shorter.cluster, *longer.cluster,
                                                moments[i - 1], moments[i]);
      if (is_same_everywhere(mine, transport_, device)) {
        report_.from = moments[i - 1].at;
        return true;
      }
      why_ = fmt::format("device {} is not where it was {} before {}", device,
                         core::format_time(period), core::format_time(moments[i].at));
      if (mine && mine->lp == device) why_ += ": " + mine->what;
    }
    if (why_.empty()) why_ = "no two moments lie a step apart";
    return false;
  }

  void extend(RunReport& longer, const RunReport& shorter) const {
    agree(transport_,
          [&] { in_file(study_.file, [&] { longer.outcome->repeat(*shorter.outcome, steps_); }); });
    const auto further = static_cast<double>(steps_ - report_.simulated_steps);
    for (std::size_t i = 0; i < longer.link_loads.size(); ++i) {
      EXAWARP_CHECK(i < shorter.link_loads.size(), i);
      const model::LinkLoad& less = shorter.link_loads[i];
      model::LinkLoad& load = longer.link_loads[i];
      load.interface_s += further * (load.interface_s - less.interface_s);
      load.link_s += further * (load.link_s - less.link_s);
    }
    core::Hasher hash;
    hash.word(longer.result.digest.value);
    hash.word(static_cast<std::uint64_t>(steps_));
    longer.result.digest = {hash.value()};
  }

  Study study_;
  RunOptions options_;
  RunOptions quiet_;  // of runs that nobody is to see
  pdes::Transport& transport_;
  std::int64_t steps_ = 0;
  Repetition report_;
  std::string why_;
};

}  // namespace

RunReport simulate(const Study& study, const RunOptions& options, pdes::Transport& transport) {
  if (study.finds_idle_share) {
    const auto begun = TimeLimit::Clock::now();
    const Study found = with_idle_share_found(study, options, transport);
    const std::chrono::duration<double> taken = TimeLimit::Clock::now() - begun;
    RunReport report = simulate(found, options, transport);
    report.setup_s += taken.count();
    return report;
  }
  if (study.repeating == Repeating::off) return simulate_all_of(study, options, {}, transport);
  Study copy = study;
  std::string why(why_steps_differ(copy, options));
  if (why.empty()) {
    RepeatedSteps steps(study, options, transport);
    if (auto found = steps.find()) {
      if (options.steady_step && found->repetition) found->steady_step = found->repetition->period;
      return std::move(*found);
    }
    why = steps.why();
  }
  if (study.repeating == Repeating::required) {
    throw core::InputError(study.file, "repetition: exact: " + why + "; expected steps that " +
                                           "repeat, or repetition: auto");
  }
  RunReport report = simulate_all_of(study, options, {}, transport);
  report.repetition = Repetition{.why_not = std::move(why)};
  return report;
}

}  // namespace exawarp::io
