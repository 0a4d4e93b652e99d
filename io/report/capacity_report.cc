#include "io/report/capacity_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/units.h"
#include "io/report/append.h"
#include "io/report/printed_json.h"

namespace exawarp::io {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const CapacityPoint& p) {
  return {{"rate", p.rate},
          {"kept", p.is_kept},
          {"kept_share", p.kept_share},
          {"requests_per_s", p.requests_per_s},
          {"output_tokens_per_s", p.output_tokens_per_s},
          {"first_token_p99_ps", p.first_token_p99.ps},
          {"per_token_mean_ps", p.per_token_mean.ps},
          {"digest", p.digest}};
}

std::string rate_text(const CapacityRow& row) {
  if (row.best < 0) return "none";
  return fmt::format("{}{:.4g}", row.is_bounded ? "" : "at least ", row.rate());
}

}  // namespace

double CapacityRow::tokens_per_s_per_device() const {
  return best < 0 ? 0 : points[static_cast<std::size_t>(best)].output_tokens_per_s / devices;
}

double CapacityRow::tokens_per_s_per_user() const {
  if (best < 0) return 0;
  const core::Time mean = points[static_cast<std::size_t>(best)].per_token_mean;
  return mean.ps == 0 ? 0 : 1 / core::to_seconds(mean);
}

void mark_front(std::vector<CapacityRow>& rows) {
  for (CapacityRow& row : rows) {
    const double device = row.tokens_per_s_per_device(), user = row.tokens_per_s_per_user();
    row.is_on_front = row.best >= 0 && std::ranges::none_of(rows, [&](const CapacityRow& other) {
      const double d = other.tokens_per_s_per_device(), u = other.tokens_per_s_per_user();
      return d >= device && u >= user && (d > device || u > user);
    });
  }
}

std::string capacity_json(const CapacityReport& report) {
  Json json{{"schema", "exawarp-capacity-1"},
            {"study", report.study},
            {"status", report.is_stopped ? "stopped" : "finished"},
            {"tolerance", report.tolerance},
            {"results", Json::array()}};
  for (const CapacityRow& row : report.rows) {
    Json one{{"setting", row.setting},
             {"rate", row.rate()},
             {"bounded", row.is_bounded},
             {"devices", row.devices},
             {"tokens_per_s_per_device", row.tokens_per_s_per_device()},
             {"tokens_per_s_per_user", row.tokens_per_s_per_user()},
             {"pareto", row.is_on_front},
             {"points", Json::array()}};
    for (const CapacityPoint& p : row.points) one["points"].push_back(json_of(p));
    json["results"].push_back(std::move(one));
  }
  return printed(json);
}

std::string capacity_text(const CapacityReport& report) {
  std::string out =
      fmt::format("{}: the highest load that keeps what is promised, within {:.3g} %\n",
                  report.study, 100 * report.tolerance);
  for (const CapacityRow& row : report.rows) {
    if (!row.setting.empty()) append(out, "\n{}\n", row.setting);
    append(out, "  {:>12} {:>9} {:>5} {:>11} {:>12} {:>12}\n", "requests/s", "as prom.", "kept",
           "tokens/s", "first p99", "per token");
    for (const CapacityPoint& p : row.points) {
      append(out, "  {:>12.4f} {:>7.2f} % {:>5} {:>11.1f} {:>12} {:>12}\n", p.rate,
             100 * p.kept_share, p.is_kept ? "yes" : "no", p.output_tokens_per_s,
             core::format_time(p.first_token_p99), core::format_time(p.per_token_mean));
    }
    append(out, "  capacity: {} requests/s\n", rate_text(row));
  }
  if (report.rows.size() < 2) return out;
  append(out, "\n  {:<36} {:>10} {:>16} {:>14} {:>6}\n", "setting", "requests/s",
         "tokens/s/device", "tokens/s/user", "front");
  for (const CapacityRow& row : report.rows) {
    append(out, "  {:<36} {:>10.4g} {:>16.2f} {:>14.2f} {:>6}\n", row.setting, row.rate(),
           row.tokens_per_s_per_device(), row.tokens_per_s_per_user(),
           row.is_on_front ? "yes" : "");
  }
  return out;
}

}  // namespace exawarp::io
