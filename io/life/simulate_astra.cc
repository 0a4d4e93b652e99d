#include "core/error.h"
#include "io/life/agreement.h"
#include "io/life/simulate.h"
#include "model/guests/astra/simulation.h"

namespace exawarp::io {
namespace {

using model::astra::Finish;
using model::astra::Job;

RunStatus status_of(const AstraReport& report) {
  if (report.result.stopped) return RunStatus::stopped;
  return report.result.finished == report.npus ? RunStatus::finished : RunStatus::deadlocked;
}

}  // namespace

AstraReport simulate(const AstraSetUp& set_up, const RunOptions& options,
                     pdes::Transport& transport) {
  AstraReport report;
  report.time_limit_s = options.time_limit_s.value_or(0);
  const TimeLimit limit(report.time_limit_s, options.started);
  Job job;
  Warnings warnings;
  agree(transport, [&] {
    if (transport.rank().value != 0) return;
    const auto done = [&](const char* step) { limit.check(set_up.system, step); };
    job = read_astra_job(set_up, done, warnings);
  });
  if (transport.rank().value != 0) return report;
  report.npus = job.network.npus();
  for (const std::string& warning : warnings) {
    if (options.notify) options.notify(warning);
  }
  const auto finish = [&](const Finish& one) {
    report.lines += finished_lines(one, job.system.roofline);
    if (!report.finishes.empty()) report.finishes += ',';
    report.finishes += finished_json(one, job.system.roofline);
  };
  report.result = model::astra::simulate(job, finish, [&] { return limit.is_over(); });
  if (!report.result.late.empty()) {
    throw core::InputError(set_up.workload, "simulated time passes 146 years: " +
                                                report.result.late +
                                                "; expected smaller amounts, or higher rates");
  }
  report.status = status_of(report);
  return report;
}

}  // namespace exawarp::io
