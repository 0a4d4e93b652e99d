#include "io/report/engine_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/units.h"
#include "pdes/transport.h"

namespace exawarp::io {
namespace {

using Json = nlohmann::ordered_json;
using model::serving::Preemption;
using model::serving::Spec;

double engine_share(std::uint64_t part, std::uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<std::uint64_t>(1, whole));
}

}  // namespace

void EngineTotals::add(const model::serving::Replica::State& replica) {
  prompt_tokens += replica.prompt_tokens;
  found_tokens += replica.found_tokens;
  forgotten += replica.forgotten;
  swaps += replica.swaps;
  drafted += replica.drafted;
  accepted += replica.accepted;
  beyond_profile += replica.beyond_profile;
  count_gaps(replica, gaps);
}

void sum_over_ranks(std::span<std::uint64_t* const> fields, pdes::Transport& transport) {
  std::vector<std::uint64_t> sums;
  for (const std::uint64_t* field : fields) sums.push_back(*field);
  transport.all_reduce_sum(sums);
  for (std::size_t i = 0; i < fields.size(); ++i) *fields[i] = sums[i];
}

void EngineTotals::combine(pdes::Transport& transport) {
  const std::array fields{&prompt_tokens, &found_tokens, &forgotten,     &swaps,
                          &drafted,       &accepted,     &beyond_profile};
  sum_over_ranks(fields, transport);
  gaps.combine(transport);
}

Spread spread_of(const model::serving::TokenGaps& gaps) {
  return {.mean = gaps.mean(),
          .p50 = gaps.percentile(50),
          .p90 = gaps.percentile(90),
          .p99 = gaps.percentile(99),
          .most = core::Time{static_cast<std::int64_t>(gaps.most_ps)}};
}

void add_engine(const Spec& spec, const EngineTotals& totals, Json& json) {
  if (spec.prefix_cache) {
    json["prefix_cache"] = {
        {"prompt_tokens", totals.prompt_tokens},
        {"found_tokens", totals.found_tokens},
        {"found_share", engine_share(totals.found_tokens, totals.prompt_tokens)},
        {"forgotten_blocks", totals.forgotten}};
  }
  if (spec.groups.windowed != 0) {
    json["cache_groups"] = {{"full", spec.groups.full},
                            {"windowed", spec.groups.windowed},
                            {"window", spec.groups.window}};
  }
  if (spec.preemption == Preemption::swap) json["swaps"] = totals.swaps;
  if (spec.speculation.tokens != 0) {
    json["speculation"] = {{"drafted", totals.drafted},
                           {"accepted", totals.accepted},
                           {"accepted_share", engine_share(totals.accepted, totals.drafted)}};
  }
  if (spec.profile) json["batches_beyond_profile"] = totals.beyond_profile;
}

ReportLines engine_lines(const Spec& spec, const EngineTotals& totals) {
  ReportLines out;
  if (spec.groups.windowed != 0) {
    out.emplace_back("layer groups",
                     fmt::format("{} with all tokens, {} with a window of {}", spec.groups.full,
                                 spec.groups.windowed, core::format_grouped(spec.groups.window)));
  }
  if (spec.prefix_cache) {
    out.emplace_back("prefix cache",
                     fmt::format("{:.1f} % of {} prompt tokens found, {} blocks forgotten",
                                 100 * engine_share(totals.found_tokens, totals.prompt_tokens),
                                 core::format_grouped(totals.prompt_tokens),
                                 core::format_grouped(totals.forgotten)));
  }
  if (spec.preemption == Preemption::swap) {
    out.emplace_back("swapped",
                     fmt::format("{} of the restarts", core::format_grouped(totals.swaps)));
  }
  if (spec.speculation.tokens != 0) {
    out.emplace_back(
        "drafts", fmt::format("{} tokens, {:.1f} % accepted", core::format_grouped(totals.drafted),
                              100 * engine_share(totals.accepted, totals.drafted)));
  }
  if (spec.profile) {
    out.emplace_back("beyond profile", fmt::format("{} batches, whose times are in proportion",
                                                   core::format_grouped(totals.beyond_profile)));
  }
  return out;
}

void add_classes(const Asked& asked, Json& json) {
  const std::vector<RequestClass>& classes = asked.source->classes;
  for (std::uint32_t c = 0; c < classes.size(); ++c) {
    const Answers a = answers_of(asked, c);
    Json one{{"name", classes[c].name},
             {"priority", classes[c].priority},
             {"done", a.done},
             {"first_token_ps", json_of(a.first_token)},
             {"per_token_ps", json_of(a.per_token)},
             {"end_ps", json_of(a.end)},
             {"restarts", a.restarts}};
    if (asked.promised_to(c).any()) one["good"] = a.good;
    json["classes"].push_back(std::move(one));
  }
}

ReportLines class_lines(const Asked& asked) {
  ReportLines out;
  const std::vector<RequestClass>& classes = asked.source->classes;
  for (std::uint32_t c = 0; c < classes.size(); ++c) {
    const Answers a = answers_of(asked, c);
    out.emplace_back("class",
                     fmt::format("{}, priority {}: {} requests, {} restarts", classes[c].name,
                                 classes[c].priority, core::format_grouped(a.done),
                                 core::format_grouped(a.restarts)));
    out.emplace_back("  first token", text_of(a.first_token));
    out.emplace_back("  per token", text_of(a.per_token));
    out.emplace_back("  end to end", text_of(a.end));
    if (!asked.promised_to(c).any()) continue;
    out.emplace_back("  as promised",
                     fmt::format("{} requests, {:.1f} %", core::format_grouped(a.good),
                                 100 * engine_share(a.good, a.done)));
  }
  return out;
}

}  // namespace exawarp::io
