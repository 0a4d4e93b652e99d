// Serving from its study to its report: the requests, the engine's run, and what must hold at the
// end of every run, whatever was asked.
#include <fmt/format.h>

#include <array>

#include "core/check.h"
#include "core/digest.h"
#include "io/formats/kernels/vidur_profile.h"
#include "io/life/agreement.h"
#include "io/life/prepared.h"
#include "io/life/serving_requests.h"
#include "io/life/simulate.h"
#include "io/study/in_file.h"
#include "model/serving/kv_pool.h"

namespace exawarp::io {
namespace {

using model::serving::Outcome;
using model::serving::Replica;
using model::serving::Request;
using model::serving::Serving;
using model::serving::Spec;

Setting fingerprint_of(const model::serving::Profile& profile) {
  core::Hasher hash;
  const auto add = [&](const model::serving::MeasuredTimes& times) {
    for (const auto& [size, ps] : times) {
      hash.word(size);
      hash.word(static_cast<std::uint64_t>(ps));
    }
  };
  for (const auto* rows : {&profile.decodes, &profile.prompts}) {
    for (const auto& [row, times] : *rows) {
      hash.word(row);
      add(times);
    }
  }
  for (const auto* times :
       {&profile.tokens, &profile.keys_saved, &profile.all_reduce, &profile.send})
    add(*times);
  hash.word(profile.token_bytes << 1 | static_cast<std::uint64_t>(profile.grouped_queries));
  return {"profile", std::to_string(hash.value())};
}

void load_profile(const ServingStudy& study, Spec& spec, Settings& read) {
  if (!study.profile) return;
  const ProfileStudy& p = *study.profile;
  const std::uint64_t send_in_node = p.stages_across_nodes ? 1 : 2;
  const model::serving::Profile profile = read_vidur_profile(
      p.files,
      {.tensor = p.tensor, .block_tokens = spec.block_tokens, .send_in_node = send_in_node});
  spec.profile = std::make_shared<const model::serving::ProfileTime>(profile, p.layers);
  read.push_back(fingerprint_of(profile));
}

// Adds to `read` what files say, for ranks to compare.
void load(const TimeLimit& limit, ServingReport& report, Settings& read) {
  const ServingStudy& study = *report.study;
  limit.check(study.file, "when the study was read");
  Spec spec = study.spec;
  add_requests(study, spec);
  load_profile(study, spec, read);
  if (study.iteration) {
    spec.iteration = std::make_shared<const model::serving::IterationTime>(
        study.iteration->spec, study.iteration->accelerator);
  }
  limit.check(study.file, "when the requests were read");
  report.serving = std::make_unique<const Serving>(std::move(spec));
  report.outcome = std::make_unique<Outcome>(report.serving->spec());
}

// Ranks draw and read for themselves, so they compare what they got.
Setting fingerprint_of(const Spec& spec) {
  core::Hasher hash;
  for (const Request& r : spec.requests) {
    hash.word(static_cast<std::uint64_t>(r.arrival.ps));
    hash.word(std::uint64_t{r.prefill} << 32 | r.decode);
    hash.word(r.class_id);
  }
  for (const model::serving::Prefix& p : spec.prefixes.of)
    hash.word(std::uint64_t{p.session} << 32 | p.parent);
  for (const std::uint64_t id : spec.prefixes.ids) hash.word(id);
  for (const model::serving::Turn& turn : spec.turns) {
    hash.word(turn.next);
    hash.word(static_cast<std::uint64_t>(turn.think.ps));
  }
  return {"requests", std::to_string(hash.value())};
}

void add_replica(const Replica::State& s, ServingTotals& totals) {
  totals.arrived += s.arrived;
  totals.finished += s.finished;
  totals.batches += s.batches;
  totals.tokens += s.tokens;
  totals.held += s.held + s.host_blocks + model::serving::cached_in_use(s);
  totals.present_us += static_cast<std::uint64_t>(s.present.ps() / 1'000'000);
  totals.add(s);
}

// Collective.
void gather(const pdes::Engine& engine, ServingReport& report, pdes::Transport& transport) {
  const std::uint32_t replicas = report.serving->spec().replicas;
  ServingTotals& totals = report.totals;
  report.busy_ps.resize(replicas);
  report.blocks_most.resize(replicas);
  engine.visit([&](core::LpId lp, const void* state) {
    if (lp.value >= replicas) return;
    const auto& s = *static_cast<const Replica::State*>(state);
    add_replica(s, totals);
    report.busy_ps[lp.value] = s.busy_ps;
    report.blocks_most[lp.value] = s.held_most;
  });
  const std::array fields{&totals.arrived, &totals.finished, &totals.batches,
                          &totals.tokens,  &totals.held,     &totals.present_us};
  sum_over_ranks(fields, transport);
  totals.combine(transport);
  transport.all_reduce_sum(report.busy_ps);
  transport.all_reduce_sum(report.blocks_most);
  for (auto* values : report.outcome->all()) transport.all_reduce_sum(*values);
}

// Every request was answered once, no block is left, and the mean number of requests at replicas is
// their rate times their mean stay (Little's law, here for a finite run and so exact but for
// rounding: both sides are the same area).
void check_conservation(const ServingReport& report) {
  const Spec& spec = report.serving->spec();
  const ServingTotals& totals = report.totals;
  EXAWARP_CHECK(totals.arrived == spec.requests.size(), totals.arrived, spec.requests.size());
  EXAWARP_CHECK(totals.finished == totals.arrived, totals.finished, totals.arrived);
  EXAWARP_CHECK(totals.held == 0, totals.held);
  __extension__ using Wide = __int128;
  Wide stay_ps = 0;
  for (std::size_t i = 0; i < spec.requests.size(); ++i) {
    EXAWARP_CHECK(report.outcome->is_done(i), i);
    stay_ps += (report.outcome->end(i) - spec.latency).ps;
  }
  const auto stay_us = static_cast<std::int64_t>(stay_ps / 1'000'000);
  const std::int64_t apart = stay_us - static_cast<std::int64_t>(totals.present_us);
  const auto rounding = static_cast<std::int64_t>(spec.replicas + spec.requests.size() / 1'000 + 1);
  EXAWARP_CHECK(apart <= rounding && apart >= -rounding, stay_us, totals.present_us);
}

}  // namespace

ServingReport simulate(const ServingStudy& study, const RunOptions& options,
                       pdes::Transport& transport) {
  ServingReport report;
  auto own = std::make_unique<ServingStudy>(study);
  if (options.seed) own->seed = *options.seed;
  report.study = std::move(own);
  const TimeLimit limit(options.time_limit_s.value_or(0), options.started);
  Settings settings = study.settings;
  agree(transport, [&] { in_file(study.file, [&] { load(limit, report, settings); }); });
  settings.push_back(fingerprint_of(report.serving->spec()));
  require_same(transport, settings);
  const Placeable what{.atoms = report.serving->processes(),
                       .partitions_per_thread = 1,
                       .threads_pay = false,
                       .place = [](const partition::PlacementRequest& request) {
                         return Placed{partition::place_in_blocks(request)};
                       }};
  Prepared p = prepare(what, with_options(pdes::EngineOptions{.seed = report.study->seed}, options),
                       options.partitions.value_or(0), options, transport);
  p.engine.time_limit_s = limit.left_s();
  pdes::Engine engine(*report.serving, p.placement, p.engine, transport, report.outcome.get());
  report.result = engine.run(options.progress);
  gather(engine, report, transport);
  report.status = report.result.stopped ? RunStatus::stopped : RunStatus::finished;
  if (report.status == RunStatus::finished) check_conservation(report);
  set_facts(report, p.engine, options.time_limit_s.value_or(0), transport);
  return report;
}

}  // namespace exawarp::io
