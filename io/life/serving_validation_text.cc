// The tables of `exawarp validate --serving`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "io/life/serving_validation.h"

namespace exawarp::io {
namespace {

constexpr std::size_t kWorstRows = 12;

struct PointErrors {
  std::vector<double> ttft, tpot;  // percent of the measured one; above 0: predicted slower
};

double middle(std::vector<double> values) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, at);
  return *at;
}

double middle_size(std::vector<double> values) {
  for (double& v : values) v = std::abs(v);
  return middle(std::move(values));
}

double percent(double predicted, double measured) { return 100 * (predicted / measured - 1); }

std::string line_of(const std::string& name, const PointErrors& e) {
  return fmt::format("| {} | {} | {:.1f} | {:+.1f} | {:.1f} | {:+.1f} |\n", name, e.tpot.size(),
                     middle_size(e.tpot), middle(e.tpot), middle_size(e.ttft), middle(e.ttft));
}

}  // namespace

std::string serving_validation_text(const std::vector<ServingPoint>& points,
                                    const std::vector<ServingPointResult>& results) {
  std::map<std::string, PointErrors> groups, models;
  std::map<std::string, std::size_t> reasons;
  std::vector<std::pair<double, std::size_t>> worst;
  std::size_t predicted = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const ServingPoint& p = points[i];
    if (!results[i].reason.empty()) {
      ++reasons[results[i].reason];
      continue;
    }
    ++predicted;
    const double tpot = percent(results[i].tpot_ms, p.tpot_ms);
    const double ttft = percent(results[i].ttft_ms, p.ttft_ms);
    for (PointErrors* e : {&groups[fmt::format("{} | {} | {}{} | {}", p.model, p.accelerator,
                                               p.engine, p.mode == "agg" ? "" : ", two pools",
                                               p.precision)],
                           &models[p.model], &models["all"]}) {
      e->tpot.push_back(tpot);
      e->ttft.push_back(ttft);
    }
    worst.emplace_back(-std::abs(tpot), i);
  }
  std::string out =
      fmt::format("{} points, of which {} are predicted.\n\n", points.size(), predicted);
  out += "| model | points | TPOT median error, % | bias | TTFT median error, % | bias |\n"
         "|---|--:|--:|--:|--:|--:|\n";
  for (const auto& [name, e] : models) out += line_of(name, e);
  out += "\n| model | accelerator | engine | precision | points | TPOT | bias | TTFT | bias |\n"
         "|---|---|---|---|--:|--:|--:|--:|--:|\n";
  for (const auto& [name, e] : groups) out += line_of(name, e);
  out += "\n| worst by TPOT | devices | clients | tokens | measured, ms | predicted | TTFT, ms | "
         "predicted |\n|---|--:|--:|--:|--:|--:|--:|--:|\n";
  std::ranges::sort(worst);
  for (std::size_t w = 0; w < std::min(worst.size(), kWorstRows); ++w) {
    const ServingPoint& p = points[worst[w].second];
    const ServingPointResult& r = results[worst[w].second];
    out += fmt::format("| {}, {}, {} {} {} | {} | {} | {}+{} | {:.2f} | {:.2f} | {:.0f} | "
                       "{:.0f} |\n",
                       p.model, p.accelerator, p.engine, p.version, p.precision,
                       serving_devices(p), p.clients, p.input_tokens, p.output_tokens, p.tpot_ms,
                       r.tpot_ms, p.ttft_ms, r.ttft_ms);
  }
  out += "\n| left out | points |\n|---|--:|\n";
  for (const auto& [reason, count] : reasons) out += fmt::format("| {} | {} |\n", reason, count);
  return out;
}

std::string serving_validation_csv(const std::vector<ServingPoint>& points,
                                   const std::vector<ServingPointResult>& results) {
  std::string out =
      "model,accelerator,engine,version,precision,mode,devices,input_tokens,output_tokens,clients,"
      "ttft_ms,predicted_ttft_ms,tpot_ms,predicted_tpot_ms,reason\n";
  for (std::size_t i = 0; i < points.size(); ++i) {
    const ServingPoint& p = points[i];
    const ServingPointResult& r = results[i];
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{:.6g},{},{:.6g},{}\n", p.model,
                       p.accelerator, p.engine, p.version, p.precision, p.mode, serving_devices(p),
                       p.input_tokens, p.output_tokens, p.clients, p.ttft_ms, r.ttft_ms, p.tpot_ms,
                       r.tpot_ms, r.reason);
  }
  return out;
}

}  // namespace exawarp::io
