#include "io/report/served_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/units.h"
#include "io/report/append.h"
#include "io/study/served_job_config.h"
#include "io/study/suggest.h"
#include "model/serving/replica.h"

namespace exawarp::io {
namespace {

using core::Time;
using Json = nlohmann::ordered_json;
using model::TimeClass;
using model::serving::PoolLayout;
using model::serving::Serving;

// Of one Serving.
struct Served : Answers {
  const Serving* serving = nullptr;
  const ServedJobConfig* config = nullptr;
  std::size_t job = 0;  // of the first pool
  Spread inter_token;
  Spread keys_wait, keys_transfer, keys_exposed;

  [[nodiscard]] std::size_t pools() const { return serving->decoding() == nullptr ? 1 : 2; }
};

void add_transfers(const model::serving::Outcome& outcome, Served& out) {
  std::vector<Time> wait, transfer, exposed;
  for (std::size_t i = 0; i < out.serving->spec().requests.size(); ++i) {
    if (!outcome.is_done(i) || !outcome.was_handed_over(i)) continue;
    wait.push_back(outcome.keys_wait(i));
    transfer.push_back(outcome.keys_transfer(i));
    exposed.push_back(outcome.keys_exposed(i));
  }
  out.keys_wait = spread_of(std::move(wait));
  out.keys_transfer = spread_of(std::move(transfer));
  out.keys_exposed = spread_of(std::move(exposed));
}

std::vector<Served> served_of(const RunReport& r) {
  std::vector<Served> all;
  for (std::size_t j = 0; j < r.study->jobs.size(); ++j) {
    const Serving* serving = r.cluster->serving_of(j);
    if (serving == nullptr) continue;
    const ServedJobConfig* config = r.study->jobs[j].serving.get();
    const Asked asked = asked_of(r, j);
    all.push_back(Served{answers_of(asked), serving, config, j, {}, {}, {}, {}});
    add_transfers(*asked.outcome, all.back());
    model::serving::TokenGaps gaps = r.pools[j].gaps;
    if (all.back().pools() == 2) gaps.add(r.pools[j + 1].gaps);
    all.back().inter_token = spread_of(gaps);
  }
  return all;
}

// Shares of a pool's devices, from the first arrival to the last answer of the job.
struct PoolTime {
  double computing = 0, communicating = 0;
  [[nodiscard]] double busy() const { return computing + communicating; }
};
PoolTime pool_time(const RunReport& r, const Served& served, std::size_t job) {
  const model::JobTotals totals = r.outcome->jobs()[job];
  const double whole =
      static_cast<double>(totals.totals.devices) * static_cast<double>(served.makespan.ps);
  if (whole == 0) return {};
  PoolTime out;
  const auto share = [&](TimeClass c) {
    return static_cast<double>(totals.totals.time_ps[model::index_of(c)]) / whole;
  };
  out.computing = share(TimeClass::compute);
  for (std::size_t i = 1; i <= model::kCommunicationKindCount; ++i) {
    out.communicating += share(static_cast<TimeClass>(i));
  }
  return out;
}

const PoolLayout& pool_layout(const RunReport& r, std::size_t job) {
  return r.jobs->pools[job]->layout;
}

double batch_tokens_mean(const PoolTotals& totals) {
  return static_cast<double>(totals.tokens) /
         static_cast<double>(std::max<std::uint64_t>(1, totals.batches));
}

Json pool_json(const RunReport& r, const Served& served, std::size_t job) {
  const PoolLayout& layout = pool_layout(r, job);
  const PoolTotals& totals = r.pools[job];
  const PoolTime time = pool_time(r, served, job);
  Json json{{"job", r.study->jobs[job].name},
            {"replicas", layout.replicas},
            {"tensor", layout.tensor},
            {"attention_data", layout.attention_data},
            {"pipeline", layout.pipeline},
            {"policy", core::name_of(r.jobs->pools[job]->spec.policy)},
            {"batches", totals.batches},
            {"tokens_per_batch", batch_tokens_mean(totals)},
            {"restarts", totals.restarts},
            {"blocks", r.jobs->pools[job]->spec.blocks},
            {"blocks_most", totals.blocks_most},
            {"computing", time.computing},
            {"communicating", time.communicating},
            {"utilisation", time.busy()}};
  add_engine(r.jobs->pools[job]->spec, totals, json);
  return json;
}

std::string pool_text(const RunReport& r, const Served& served, std::size_t job) {
  const PoolLayout& layout = pool_layout(r, job);
  const PoolTotals& totals = r.pools[job];
  const PoolTime time = pool_time(r, served, job);
  return fmt::format(
      "{} x (tensor {}{}, pipeline {}), {}: busy {:.1f} % (computing {:.1f}); {} batches of {:.4g} "
      "tokens; {} restarts; {} of {} blocks at most",
      core::format_grouped(layout.replicas), layout.tensor,
      layout.attention_data == 1 ? "" : fmt::format(" in {} groups", layout.attention_data),
      layout.pipeline,
      core::name_of(r.jobs->pools[job]->spec.policy), 100 * time.busy(), 100 * time.computing,
      core::format_grouped(totals.batches), batch_tokens_mean(totals),
      core::format_grouped(totals.restarts), core::format_grouped(totals.blocks_most),
      core::format_grouped(r.jobs->pools[job]->spec.blocks));
}

void add_text(const RunReport& r, const Served& served, std::string& out) {
  const auto line = [&](const char* what, const std::string& text) {
    append(out, "  {:<14}{}\n", what, text);
  };
  append(out, "Serving     {}, {}\n", r.study->jobs[served.job].name,
         core::name_of(served.serving->spec().router));
  line("requests",
       fmt::format("{} done of {} in {}, {:.4g} a second; {} tokens a second in, {} out",
                   core::format_grouped(served.done),
                   core::format_grouped(served.serving->spec().requests.size()),
                   core::format_time(served.makespan), served.per_s(served.done),
                   core::format_count(served.per_s(served.prompt_tokens)),
                   core::format_count(served.per_s(served.output_tokens))));
  line("first token", text_of(served.first_token));
  line("per token", text_of(served.per_token));
  line("inter-token", text_of(served.inter_token));
  line("end to end", text_of(served.end));
  if (served.pools() == 2) {
    line("keys wait", text_of(served.keys_wait));
    line("keys move", text_of(served.keys_transfer));
    line("keys exposed", text_of(served.keys_exposed));
  }
  if (asked_of(r, served.job).promises()) {
    const auto done = static_cast<double>(std::max<std::uint64_t>(1, served.done));
    line("as promised", fmt::format("{} requests, {:.1f} %, {:.4g} a second",
                                    core::format_grouped(served.good),
                                    100.0 * static_cast<double>(served.good) / done,
                                    served.per_s(served.good)));
  }
  for (const auto& [what, text] : class_lines(asked_of(r, served.job))) line(what.c_str(), text);
  const bool two = served.pools() == 2;
  const auto pool = [&](const char* what, std::size_t job) {
    line(what, pool_text(r, served, job));
    for (const auto& [about, text] : engine_lines(r.jobs->pools[job]->spec, r.pools[job])) {
      line(about.c_str(), text);
    }
  };
  pool(two ? "prompts" : "replicas", served.job);
  if (two) pool("decodes", served.job + 1);
}

}  // namespace

Asked asked_of(const RunReport& r, std::size_t job) {
  const Serving* const serving = r.cluster->serving_of(job);
  std::size_t place = 0;
  while (r.cluster->served()[place].get() != serving) ++place;
  const ServedJobConfig& config = *r.study->jobs[job].serving;
  return {&serving->spec().requests, &r.requests->of(place), &config.requests, &config.objectives};
}

std::vector<AskedOfJob> asked_of_jobs(const RunReport& r) {
  std::vector<AskedOfJob> out;
  for (std::size_t j = 0; j < r.study->jobs.size(); ++j) {
    if (r.cluster->serving_of(j) != nullptr)
      out.push_back({.job = r.study->jobs[j].name, .asked = asked_of(r, j)});
  }
  return out;
}

double answered_token_j(const RunReport& r, const model::Energy& energy) {
  const std::vector<AskedOfJob> all = asked_of_jobs(r);
  const auto serves = [](const JobConfig& job) { return job.serving != nullptr; };
  if (all.empty() || !std::ranges::all_of(r.study->jobs, serves)) return 0;
  std::uint64_t tokens = 0;
  for (const auto& [job, asked] : all) {
    for (std::size_t i = 0; i < asked.requests->size(); ++i)
      tokens += asked.outcome->is_done(i) ? (*asked.requests)[i].decode : 0;
  }
  return tokens == 0 ? 0 : energy.total_j() / static_cast<double>(tokens);
}

std::uint64_t unanswered_requests(const RunReport& r) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < r.requests->size(); ++i) {
    const std::size_t requests = r.cluster->served()[i]->spec().requests.size();
    for (std::size_t q = 0; q < requests; ++q) count += r.requests->of(i).is_done(q) ? 0 : 1;
  }
  return count;
}

Json served_json(const RunReport& r) {
  Json list = Json::array();
  for (const Served& served : served_of(r)) {
    Json entry{{"name", r.study->jobs[served.job].name},
               {"router", core::name_of(served.serving->spec().router)},
               {"requests", served.serving->spec().requests.size()},
               {"done", served.done},
               {"makespan_ps", served.makespan.ps},
               {"requests_per_s", served.per_s(served.done)},
               {"prompt_tokens_per_s", served.per_s(served.prompt_tokens)},
               {"output_tokens_per_s", served.per_s(served.output_tokens)},
               {"first_token_ps", json_of(served.first_token)},
               {"per_token_ps", json_of(served.per_token)},
               {"inter_token_ps", json_of(served.inter_token)},
               {"end_ps", json_of(served.end)}};
    if (served.pools() == 2) {
      entry["keys_wait_ps"] = json_of(served.keys_wait);
      entry["keys_transfer_ps"] = json_of(served.keys_transfer);
      entry["keys_exposed_ps"] = json_of(served.keys_exposed);
    }
    if (asked_of(r, served.job).promises()) {
      entry["good"] = served.good;
      entry["goodput_per_s"] = served.per_s(served.good);
    }
    add_classes(asked_of(r, served.job), entry);
    entry["pools"] = Json::array();
    for (std::size_t p = 0; p < served.pools(); ++p) {
      entry["pools"].push_back(pool_json(r, served, served.job + p));
    }
    list.push_back(std::move(entry));
  }
  return list;
}

std::string served_text(const RunReport& r) {
  std::string out;
  for (const Served& served : served_of(r)) add_text(r, served, out);
  return out;
}

}  // namespace exawarp::io
