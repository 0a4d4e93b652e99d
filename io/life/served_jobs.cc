#include "io/life/served_jobs.h"

#include <array>

#include "core/check.h"
#include "core/error.h"
#include "io/life/serving_requests.h"
#include "io/study/served_job_config.h"
#include "model/serving/kv_pool.h"
#include "model/serving/replica.h"

namespace exawarp::io {
namespace {

using model::serving::Replica;
using model::serving::Serving;

void check_spec(const JobConfig& job, const model::serving::Spec& spec) {
  try {
    model::serving::check(spec);
  } catch (const core::InputError& error) {
    throw core::InputError(job.place, error.what());
  }
}

void add_scheduler(const Replica::State& s, PoolTotals& totals) {
  totals.arrived += s.arrived;
  totals.finished += s.finished;
  totals.batches += s.batches;
  totals.tokens += s.tokens;
  totals.restarts += s.restarts;
  totals.held += s.held + s.host_blocks + model::serving::cached_in_use(s);
  totals.queued += std::uint64_t{s.waiting.size()} + s.ranked.size() + s.restarted.size() +
                   s.running.size() + s.flight.size() + s.leaving.size() + s.ahead.size() +
                   s.offers.size() + s.arriving.size();
  totals.blocks_most = std::max<std::uint64_t>(totals.blocks_most, s.held_most);
  totals.add(s);
}

// Collective.
void combine_totals(PoolTotals& totals, pdes::Transport& transport) {
  const std::array fields{&totals.arrived, &totals.finished, &totals.batches, &totals.tokens,
                          &totals.restarts, &totals.held,    &totals.queued};
  sum_over_ranks(fields, transport);
  std::array<std::uint64_t, 1> most{totals.blocks_most};
  transport.all_reduce_max(most);
  totals.blocks_most = most[0];
  totals.combine(transport);
}

}  // namespace

std::string request_file_of(const JobConfig& job) {
  return job.serving == nullptr || job.decodes ? std::string{} : job.serving->requests.file;
}

void add_requests(const Study& study, LoadedJobs& loaded) {
  for (std::size_t j = 0; j < study.jobs.size(); ++j) {
    const JobConfig& job = study.jobs[j];
    if (job.serving == nullptr || job.decodes) continue;
    ServingStudy source;
    source.file = study.file;
    source.spec = loaded.pools[j]->spec;
    source.requests = job.serving->requests;
    // Jobs that serve differ in what they are asked.
    source.seed = study.engine.seed + j;
    model::serving::Spec& spec = loaded.pools[j]->spec;
    add_requests(source, spec);
    check_spec(job, spec);
    if (!job.serving->decode) continue;
    model::serving::Spec decoding = loaded.pools[j + 1]->spec;
    decoding.requests = spec.requests;
    decoding.prefixes = spec.prefixes;
    decoding.turns = spec.turns;
    check_spec(study.jobs[j + 1], decoding);
  }
}

void gather_served(const pdes::Engine& engine, RunReport& report, pdes::Transport& transport) {
  const model::Cluster& cluster = *report.cluster;
  report.pools.assign(cluster.jobs().size(), {});
  if (cluster.served().empty()) return;
  engine.visit([&](core::LpId lp, const void* state) {
    if (!cluster.is_scheduler(lp)) return;
    const Serving& serving = cluster.serving_at(lp);
    if (lp == serving.router()) return;
    std::size_t job = 0;
    while (cluster.serving_of(job) != &serving) ++job;
    if (serving.index_of(lp) >= serving.spec().replicas) ++job;
    add_scheduler(*static_cast<const Replica::State*>(state), report.pools[job]);
  });
  for (PoolTotals& totals : report.pools) combine_totals(totals, transport);
  report.requests->combine(transport);
}

void check_served(const RunReport& report) {
  for (std::size_t j = 0; j < report.pools.size(); ++j) {
    const PoolTotals& totals = report.pools[j];
    EXAWARP_CHECK(totals.finished == totals.arrived, j, totals.finished, totals.arrived);
    EXAWARP_CHECK(totals.held == 0, j, totals.held);
    EXAWARP_CHECK(totals.queued == 0, j, totals.queued);
    if (const Serving* serving = report.cluster->serving_of(j)) {
      EXAWARP_CHECK(totals.arrived == serving->spec().requests.size(), j, totals.arrived);
    }
  }
}

}  // namespace exawarp::io
