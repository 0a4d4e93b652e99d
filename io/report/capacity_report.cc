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

double for_device(const CapacityRow& row, const CapacityPoint& p) {
  return p.output_tokens_per_s / row.devices;
}

double for_user(const CapacityPoint& p) {
  return p.per_token_mean.ps == 0 ? 0 : 1 / core::to_seconds(p.per_token_mean);
}

// At least as good for devices and for users, and better for one of them.
bool is_better(double device, double user, double than_device, double than_user) {
  return device >= than_device && user >= than_user && (device > than_device || user > than_user);
}

std::string rate_text(const CapacityRow& row) {
  if (row.best < 0) return "none";
  return fmt::format("{}{:.4g}", row.is_bounded ? "" : "at least ", row.rate());
}

// Settings against each other, each at its capacity.
void add_settings(const CapacityReport& report, std::string& out) {
  append(out, "\n  {:<36} {:>8} {:>10} {:>16} {:>14} {:>6}\n", "setting", "devices", "requests/s",
         "tokens/s/device", "tokens/s/user", "front");
  for (const CapacityRow& row : report.rows) {
    append(out, "  {:<36} {:>8} {:>10.4g} {:>16.2f} {:>14.2f} {:>6}\n", row.setting, row.devices,
           row.rate(), row.tokens_per_s_per_device(), row.tokens_per_s_per_user(),
           row.is_on_front ? "yes" : "");
  }
  if (const CapacityRow* const best = best_of(report.rows)) {
    append(out, "  highest load: {}, {} requests/s\n", best->setting, rate_text(*best));
  }
}

// Of all loads; one that stands alone says nothing.
void add_front(const CapacityReport& report, std::string& out) {
  const std::vector<FrontPoint> front = front_of(report.rows);
  if (front.size() < 2) return;
  append(out, "\n  of all loads that are kept, those with nobody better off\n");
  append(out, "  {:<36} {:>10} {:>16} {:>14}\n", "setting", "requests/s", "tokens/s/device",
         "tokens/s/user");
  for (const FrontPoint& p : front) {
    append(out, "  {:<36} {:>10.4g} {:>16.2f} {:>14.2f}\n", p.setting, p.rate,
           p.tokens_per_s_per_device, p.tokens_per_s_per_user);
  }
}

}  // namespace

double CapacityRow::tokens_per_s_per_device() const {
  return best < 0 ? 0 : for_device(*this, points[static_cast<std::size_t>(best)]);
}

double CapacityRow::tokens_per_s_per_user() const {
  return best < 0 ? 0 : for_user(points[static_cast<std::size_t>(best)]);
}

void mark_front(std::vector<CapacityRow>& rows) {
  for (CapacityRow& row : rows) {
    const double device = row.tokens_per_s_per_device(), user = row.tokens_per_s_per_user();
    row.is_on_front = row.best >= 0 && std::ranges::none_of(rows, [&](const CapacityRow& other) {
                        return is_better(other.tokens_per_s_per_device(),
                                         other.tokens_per_s_per_user(), device, user);
                      });
  }
}

std::vector<FrontPoint> front_of(const std::vector<CapacityRow>& rows) {
  std::vector<FrontPoint> all;
  for (const CapacityRow& row : rows) {
    for (const CapacityPoint& p : row.points) {
      if (p.is_kept) all.push_back({row.setting, p.rate, for_device(row, p), for_user(p)});
    }
  }
  std::ranges::stable_sort(all, {}, &FrontPoint::tokens_per_s_per_device);
  std::vector<FrontPoint> front;
  for (const FrontPoint& p : all) {
    if (std::ranges::none_of(all, [&](const FrontPoint& other) {
          return is_better(other.tokens_per_s_per_device, other.tokens_per_s_per_user,
                           p.tokens_per_s_per_device, p.tokens_per_s_per_user);
        })) {
      front.push_back(p);
    }
  }
  return front;
}

const CapacityRow* best_of(const std::vector<CapacityRow>& rows) {
  const CapacityRow* best = nullptr;
  for (const CapacityRow& row : rows) {
    if (row.best >= 0 && (best == nullptr || row.rate() > best->rate())) best = &row;
  }
  return best;
}

std::string capacity_json(const CapacityReport& report) {
  Json json{{"schema", "exawarp-capacity-1"},
            {"study", report.study},
            {"status", report.is_stopped ? "stopped" : "finished"},
            {"tolerance", report.tolerance},
            {"results", Json::array()}};
  for (const CapacityRow& row : report.rows) {
    Json one{{"setting", row.setting},
             {"set", row.overrides},
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
  const CapacityRow* const best = best_of(report.rows);
  json["best"] = best == nullptr ? Json() : Json(best - report.rows.data());
  json["front"] = Json::array();
  for (const FrontPoint& p : front_of(report.rows)) {
    json["front"].push_back({{"setting", p.setting},
                             {"rate", p.rate},
                             {"tokens_per_s_per_device", p.tokens_per_s_per_device},
                             {"tokens_per_s_per_user", p.tokens_per_s_per_user}});
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
  if (report.rows.size() > 1) add_settings(report, out);
  add_front(report, out);
  return out;
}

}  // namespace exawarp::io
