#include "io/report/energy_report.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/units.h"
#include "io/report/append.h"
#include "model/energy/power_figures.h"

namespace exawarp::io {
namespace {

// Four digits, e.g. "198.5 MJ".
std::string scaled(double value, const char* unit) {
  constexpr std::array kPrefixes{"", "k", "M", "G", "T", "P"};
  std::size_t prefix = 0;
  for (; std::abs(value) >= 999.95 && prefix + 1 < kPrefixes.size(); ++prefix) value /= 1e3;
  return fmt::format("{:.4g} {}{}", value, kPrefixes[prefix], unit);
}

// Of what kernels draw above idle.
std::string known_by(const model::Energy& energy) {
  std::string out;
  for (const auto& [name, provenance] : names_of(model::Provenance{})) {
    const double share = energy.computing_by_provenance_j.at(static_cast<std::size_t>(provenance)) /
                         energy.computing_j;
    if (share < 0.0005) continue;
    append(out, "{}{:.1f} % {}", out.empty() ? "" : ", ", 100 * share, name);
  }
  return out;
}

}  // namespace

std::optional<model::Energy> energy_of(const RunReport& report) {
  if (report.status != RunStatus::finished) return std::nullopt;
  return model::energy_of(*report.cluster, *report.outcome, report.study->system.power);
}

EnergyFigures figures_of(const model::Energy& energy, const model::Outcome& outcome) {
  const double watts = energy.total_j() / energy.seconds;
  const double tokens_per_s = outcome.training().tokens_per_s;
  const double cost_per_hour = energy.devices * energy.system.cost_per_device_hour;
  return {.step_j = watts * core::to_seconds(outcome.iteration_time()),
          .token_j = tokens_per_s > 0 ? watts / tokens_per_s : 0,
          .carbon_g = energy.kwh() * energy.system.carbon_g_per_kwh,
          .cost = energy.seconds / 3'600 * cost_per_hour,
          .cost_per_hour = cost_per_hour};
}

std::string energy_text(const model::Energy& energy, const model::Outcome& outcome) {
  const EnergyFigures figures = figures_of(energy, outcome);
  std::string out;
  append(out, "Energy      {} a step, {} a device, {} a node",
                 scaled(figures.step_j, "J"), scaled(energy.device_w(), "W"),
                 scaled(energy.node_w(), "W"));
  if (figures.token_j > 0) append(out, ", {:.3g} J a token", figures.token_j);
  append(out, "\n            {} in all", scaled(energy.kwh() * 1e3, "Wh"));
  if (figures.carbon_g > 0) {
    append(out, ", {} of CO2", scaled(figures.carbon_g, "g"));
  }
  if (figures.cost > 0) {
    append(out, ", costs {:.4g} ({:.4g} an hour)", figures.cost,
                   figures.cost_per_hour);
  }
  out += "\n";
  if (energy.computing_j > 0) {
    append(out, "            kernels' power {}\n", known_by(energy));
  }
  return out;
}

std::string power_text(const model::PowerTrace& trace, const model::Outcome& outcome) {
  const model::PowerSamples samples{trace.series().front().watts, trace.width(), trace.end()};
  const model::PowerFigures f = model::figures_of(samples);
  std::string out;
  append(out, "Power       {}, by {}: most {} at {}, least {} at {}\n",
                 scaled(f.mean_w, "W"), core::format_time(trace.width()), scaled(f.peak_w, "W"),
                 core::format_time(f.peak_at), scaled(f.least_w, "W"),
                 core::format_time(f.least_at));
  append(out, "            rises by up to {}, falls by up to {}",
                 scaled(f.rise_w_per_s, "W/s"), scaled(f.fall_w_per_s, "W/s"));
  const auto lines = model::spectrum_of(samples, 1);
  if (!lines.empty()) {
    append(out, "; swings by {} at {:.4g} Hz ({:.2f} a step)",
                   scaled(lines[0].amplitude_w, "W"), lines[0].hz,
                   lines[0].hz * core::to_seconds(outcome.iteration_time()));
  }
  return out + "\n";
}

}  // namespace exawarp::io
