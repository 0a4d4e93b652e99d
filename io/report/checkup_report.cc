#include "io/report/checkup_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/build_info.h"
#include "io/report/append.h"
#include "io/report/printed_json.h"

namespace exawarp::io {
namespace {

nlohmann::ordered_json json_of(const Finding& finding) {
  return {{"subject", finding.subject},
          {"verdict", core::name_of(finding.verdict)},
          {"found", finding.found},
          {"advice", finding.advice}};
}

nlohmann::ordered_json json_of(const RankCheckup& checkup) {
  nlohmann::ordered_json findings = nlohmann::ordered_json::array();
  for (const Finding& finding : checkup.findings) findings.push_back(json_of(finding));
  return {{"rank", checkup.rank}, {"host", checkup.host}, {"findings", findings}};
}

void add(const Finding& finding, std::string& out) {
  append(out, "{:<8} {:<16} {}\n", core::name_of(finding.verdict), finding.subject, finding.found);
  if (!finding.advice.empty()) append(out, "{:25} {}\n", "", finding.advice);
}

// Those of `checkup` that the first rank does not have.
std::vector<Finding> others(const RankCheckup& checkup, const RankCheckup& first) {
  std::vector<Finding> all;
  for (const Finding& finding : checkup.findings) {
    const bool same = std::ranges::find(first.findings, finding) != first.findings.end();
    if (!same && finding.verdict != Verdict::fine) all.push_back(finding);
  }
  return all;
}

std::size_t count(std::span<const RankCheckup> ranks, Verdict verdict) {
  std::size_t found = 0;
  for (const RankCheckup& checkup : ranks) {
    const auto has = [verdict](const Finding& finding) { return finding.verdict == verdict; };
    found += static_cast<std::size_t>(std::ranges::count_if(checkup.findings, has));
  }
  return found;
}

}  // namespace

Verdict worst_of(std::span<const Finding> findings) {
  Verdict worst = Verdict::fine;
  for (const Finding& finding : findings) worst = std::max(worst, finding.verdict);
  return worst;
}

std::string line_of(const RankCheckup& checkup) {
  return json_of(checkup).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

RankCheckup checkup_of(std::string_view line) {
  const nlohmann::json json = nlohmann::json::parse(line);
  RankCheckup checkup{.rank = json.at("rank"), .host = json.at("host"), .findings = {}};
  for (const nlohmann::json& finding : json.at("findings")) {
    checkup.findings.push_back(
        {.subject = finding.at("subject"),
         .verdict =
             core::value_of<Verdict>(std::string(finding.at("verdict"))).value_or(Verdict::stops),
         .found = finding.at("found"),
         .advice = finding.at("advice")});
  }
  return checkup;
}

std::string checkup_text(std::span<const RankCheckup> ranks) {
  const core::BuildInfo& build = core::build_info();
  const RankCheckup& first = ranks.front();
  std::string out;
  append(out, "exawarp {} ({}) on {}\n", build.version, build.commit, first.host);
  for (const Finding& finding : first.findings) add(finding, out);
  for (const RankCheckup& checkup : ranks.subspan(1)) {
    const std::vector<Finding> different = others(checkup, first);
    if (!different.empty()) append(out, "rank {} on {}\n", checkup.rank, checkup.host);
    for (const Finding& finding : different) add(finding, out);
  }
  const std::size_t stops = count(ranks, Verdict::stops), warnings = count(ranks, Verdict::warning);
  append(out, "{}; {} warning{}\n",
         stops == 0 ? "nothing would stop a run" : "a run would be stopped", warnings,
         warnings == 1 ? "" : "s");
  return out;
}

std::string checkup_json(std::span<const RankCheckup> ranks) {
  const core::BuildInfo& build = core::build_info();
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const RankCheckup& checkup : ranks) all.push_back(json_of(checkup));
  return printed({{"version", build.version},
                  {"commit", build.commit},
                  {"runs", count(ranks, Verdict::stops) == 0},
                  {"warnings", count(ranks, Verdict::warning)},
                  {"ranks", all}});
}

}  // namespace exawarp::io
