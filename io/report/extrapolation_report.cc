#include "io/report/extrapolation_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "io/report/printed_json.h"

namespace exawarp::io {
namespace {

double rate_of(const ExtrapolatedPoint& p) {
  return p.step_s > 0 ? static_cast<double>(p.samples) / p.step_s : 0;
}

// Over the recorded GPU, samples per second.
double speedup_of(const ExtrapolationReport& report, const ExtrapolatedPoint& p) {
  return rate_of(p) * report.recorded_s / report.trace_batch;
}

double share_of(const ExtrapolatedPoint& p) {
  return p.step_s > 0 ? p.recorded_s / p.step_s : 0;
}

}  // namespace

std::string extrapolation_text(const ExtrapolationReport& r) {
  std::string text =
      fmt::format("{}: {} operators, {:.3f} ms on one GPU for a batch of {}\non {}, batch {}",
                  r.trace, r.operators, r.recorded_s * 1e3, r.trace_batch, r.on, r.batch);
  if (r.batch != r.trace_batch) {
    text += fmt::format(", times in proportion to {}", r.trace_batch);
  }
  text += fmt::format("\n\n{:<16} {:>7} {:>14} {:>11} {:>8} {:>9}\n", "layout", "devices",
                      "step ms", "samples/s", "speed-up", "recorded");
  for (const ExtrapolatedPoint& p : r.points) {
    text += fmt::format("{:<16} {:>7} {:>14.6f} {:>11.1f} {:>8.2f} {:>7.1f} %\n", p.layout,
                        p.devices, p.step_s * 1e3, rate_of(p), speedup_of(r, p),
                        share_of(p) * 100);
  }
  return text + "\nrecorded: the share of a step that a device spends in recorded operators; the "
                "rest\nis communication and waiting, which nobody recorded.\n";
}

std::string extrapolation_json(const ExtrapolationReport& r) {
  nlohmann::ordered_json json{{"schema", "exawarp-extrapolation-1"},
                              {"trace", r.trace},
                              {"operators", r.operators},
                              {"trace_batch", r.trace_batch},
                              {"batch", r.batch},
                              {"recorded_ms", r.recorded_s * 1e3},
                              {"on", r.on},
                              {"points", nlohmann::ordered_json::array()}};
  for (const ExtrapolatedPoint& p : r.points) {
    nlohmann::ordered_json point{{"layout", p.layout},
                                 {"devices", p.devices},
                                 {"samples", p.samples},
                                 {"step_ms", p.step_s * 1e3},
                                 {"samples_per_s", rate_of(p)},
                                 {"speedup", speedup_of(r, p)},
                                 {"recorded_share", share_of(p)}};
    if (!p.digest.empty()) point["digest"] = p.digest;
    json["points"].push_back(std::move(point));
  }
  return printed(json);
}

}  // namespace exawarp::io
