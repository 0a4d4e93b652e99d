#include "io/report/energy_report.h"

#include <fmt/format.h>

#include "io/report/append.h"

namespace exawarp::io {

std::optional<model::Energy> energy_of(const RunReport& report) {
  if (report.status != RunStatus::finished) return std::nullopt;
  return model::energy_of(*report.cluster, *report.outcome, report.study->system.power);
}

EnergyFigures figures_of(const model::Energy& energy, const model::Outcome& outcome) {
  const double watts = energy.total_j() / energy.seconds;
  const double tokens_per_s = outcome.training().tokens_per_s;
  return {.step_j = watts * core::to_seconds(outcome.iteration_time()),
          .token_j = tokens_per_s > 0 ? watts / tokens_per_s : 0,
          .carbon_g = energy.kwh() * energy.system.carbon_g_per_kwh,
          .cost = energy.devices * energy.seconds / 3'600 * energy.system.cost_per_device_hour};
}

std::string energy_text(const model::Energy& energy, const model::Outcome& outcome) {
  const EnergyFigures figures = figures_of(energy, outcome);
  std::string out;
  append(out, "Energy      {:.4g} kJ a step, {:.0f} W a device, {:.0f} W a node",
         figures.step_j / 1e3, energy.device_w(), energy.node_w());
  if (figures.token_j > 0) append(out, ", {:.3g} J a token", figures.token_j);
  out += "\n";
  if (figures.carbon_g > 0 || figures.cost > 0) {
    append(out, "            {:.4g} kWh", energy.kwh());
    if (figures.carbon_g > 0) append(out, ", {:.4g} g of CO2", figures.carbon_g);
    if (figures.cost > 0) append(out, ", costs {:.4g}", figures.cost);
    out += "\n";
  }
  return out;
}

}  // namespace exawarp::io
