// Times of requests as means and percentiles; Vidur's definitions (docs/reference/serving.md).
#include "io/report/serving_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/digest.h"
#include "core/units.h"
#include "io/report/append.h"
#include "io/report/printed_json.h"
#include "io/report/spread.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

using core::Time;
using Json = nlohmann::ordered_json;

struct Figures : Answers {
  double utilisation_least = 0, utilisation_mean = 0, utilisation_most = 0;
  std::uint64_t blocks_most = 0;
};

void add_replicas(const ServingReport& r, Figures& out) {
  const double all = std::max(1e-12, core::to_seconds(out.makespan));
  out.utilisation_least = 1;
  for (const std::uint64_t busy : r.busy_ps) {
    const double share = core::to_seconds(Time{static_cast<std::int64_t>(busy)}) / all;
    out.utilisation_least = std::min(out.utilisation_least, share);
    out.utilisation_most = std::max(out.utilisation_most, share);
    out.utilisation_mean += share / static_cast<double>(r.busy_ps.size());
  }
  out.blocks_most = *std::ranges::max_element(r.blocks_most);
}

Figures figures_of(const ServingReport& r) {
  Figures out{answers_of(asked_of(r))};
  add_replicas(r, out);
  return out;
}

double mean_present(const ServingReport& r, const Figures& f) {
  return f.makespan.ps == 0
             ? 0
             : static_cast<double>(r.totals.present_us) * 1e-6 / core::to_seconds(f.makespan);
}

double tokens_per_batch(const ServingReport& r) {
  return static_cast<double>(r.totals.tokens) /
         static_cast<double>(std::max<std::uint64_t>(1, r.totals.batches));
}

}  // namespace

Asked asked_of(const ServingReport& r) {
  return {&r.serving->spec().requests, r.outcome.get(), &r.study->requests, &r.study->objectives};
}

std::string serving_json(const ServingReport& r) {
  const Figures f = figures_of(r);
  const model::serving::Spec& spec = r.serving->spec();
  Json json{
      {"schema", "exawarp-serving-1"},
      {"study", r.study->name},
      {"status", core::name_of(r.status)},
      {"policy", core::name_of(spec.policy)},
      {"router", core::name_of(spec.router)},
      {"replicas", spec.replicas},
      {"stages", spec.stages},
      {"blocks", spec.blocks},
      {"requests", spec.requests.size()},
      {"done", f.done},
      {"makespan_ps", f.makespan.ps},
      {"requests_per_s", f.per_s(f.done)},
      {"prompt_tokens_per_s", f.per_s(f.prompt_tokens)},
      {"output_tokens_per_s", f.per_s(f.output_tokens)},
      {"first_token_ps", json_of(f.first_token)},
      {"per_token_ps", json_of(f.per_token)},
      {"inter_token_ps", json_of(spread_of(r.totals.gaps))},
      {"end_ps", json_of(f.end)},
      {"restarts", f.restarts},
      {"batches", r.totals.batches},
      {"tokens_per_batch", tokens_per_batch(r)},
      {"blocks_most", f.blocks_most},
      {"requests_present_mean", mean_present(r, f)},
      {"utilisation",
       {{"min", f.utilisation_least}, {"mean", f.utilisation_mean}, {"max", f.utilisation_most}}}};
  if (asked_of(r).promises()) {
    json["good"] = f.good;
    json["goodput_per_s"] = f.per_s(f.good);
  }
  add_engine(spec, r.totals, json);
  add_classes(asked_of(r), json);
  json["committed_events"] = r.result.total.committed_events();
  json["rolled_back_events"] = r.result.total.rolled_back_events;
  json["sync"] = core::name_of(r.sync);
  json["ranks"] = r.ranks;
  json["threads"] = r.result.threads;
  json["partitions"] = r.result.partition_count;
  json["run_s"] = r.result.run_s;
  json["peak_rss_bytes"] = r.peak_rss_bytes;
  json["digest"] = core::to_hex(r.result.digest);
  return printed(json);
}

std::string serving_text(const ServingReport& r) {
  const Figures f = figures_of(r);
  const model::serving::Spec& spec = r.serving->spec();
  std::string out =
      fmt::format("{}: {} replica{} of {} stage{}, {}, {}\n", r.study->name,
                  core::format_grouped(spec.replicas), spec.replicas == 1 ? "" : "s", spec.stages,
                  spec.stages == 1 ? "" : "s", core::name_of(spec.policy),
                  core::name_of(spec.router));
  const auto line = [&](const char* what, const std::string& text) {
    append(out, "  {:<16}{}\n", what, text);
  };
  line("requests", fmt::format("{} done of {} in {}, {:.4g} a second", core::format_grouped(f.done),
                               core::format_grouped(spec.requests.size()),
                               core::format_time(f.makespan), f.per_s(f.done)));
  line("tokens", fmt::format("{} a second in, {} out",
                             core::format_count(f.per_s(f.prompt_tokens)),
                             core::format_count(f.per_s(f.output_tokens))));
  line("first token", text_of(f.first_token));
  line("per token", text_of(f.per_token));
  line("inter-token", text_of(spread_of(r.totals.gaps)));
  line("end to end", text_of(f.end));
  if (asked_of(r).promises()) {
    line("as promised",
         fmt::format("{} requests, {:.1f} %, {:.4g} a second", core::format_grouped(f.good),
                     100.0 * static_cast<double>(f.good) /
                         static_cast<double>(std::max<std::uint64_t>(1, f.done)),
                     f.per_s(f.good)));
  }
  line("batches", fmt::format("{}, of {:.4g} tokens; {} restarts",
                              core::format_grouped(r.totals.batches), tokens_per_batch(r),
                              core::format_grouped(f.restarts)));
  line("blocks", fmt::format("{} of {} at most", core::format_grouped(f.blocks_most),
                             core::format_grouped(spec.blocks)));
  for (const auto& [what, text] : engine_lines(spec, r.totals)) line(what.c_str(), text);
  for (const auto& [what, text] : class_lines(asked_of(r))) line(what.c_str(), text);
  line("at replicas", fmt::format("{:.4g} requests on average", mean_present(r, f)));
  line("busy", fmt::format("{:.1f} % of the time, {:.1f} to {:.1f} % by replica",
                           100 * f.utilisation_mean, 100 * f.utilisation_least,
                           100 * f.utilisation_most));
  line("events", fmt::format("{} committed, {} rolled back",
                             core::format_grouped(r.result.total.committed_events()),
                             core::format_grouped(r.result.total.rolled_back_events)));
  line("host", fmt::format("{:.3f} s, {}", r.result.run_s, core::format_bytes(r.peak_rss_bytes)));
  line("digest", core::to_hex(r.result.digest));
  return out;
}

}  // namespace exawarp::io
