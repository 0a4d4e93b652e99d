#include "io/report/energy_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "io/report/append.h"

namespace exawarp::io {
namespace {

// Joules of one step, of the job that takes longest; the whole run is so many of them.
double step_j(const model::Energy& energy, const model::Outcome& outcome) {
  return energy.total_j() * core::to_seconds(outcome.iteration_time()) / energy.seconds;
}

double token_j(const model::Energy& energy, const model::Outcome& outcome) {
  const double tokens_per_s = outcome.training().tokens_per_s;
  return tokens_per_s > 0 ? energy.total_j() / energy.seconds / tokens_per_s : 0;
}

double device_hours(const model::Energy& energy) {
  return energy.devices * energy.seconds / 3'600;
}

}  // namespace

std::optional<model::Energy> energy_of(const RunReport& report) {
  if (report.status != RunStatus::finished) return std::nullopt;
  return model::energy_of(*report.cluster, *report.outcome, report.study->system.power);
}

nlohmann::ordered_json energy_json(const model::Energy& energy, const model::Outcome& outcome) {
  const model::SystemPower& system = energy.system;
  nlohmann::ordered_json out{{"total_j", energy.total_j()},
                             {"step_j", step_j(energy, outcome)},
                             {"token_j", token_j(energy, outcome)},
                             {"kwh", energy.kwh()},
                             {"device_w", energy.device_w()},
                             {"node_w", energy.node_w()},
                             {"by_part_j",
                              {{"computing", energy.computing_j},
                               {"communicating", energy.communicating_j},
                               {"idle", energy.idle_j},
                               {"nodes", energy.nodes_j},
                               {"switches", energy.switches_j}}}};
  if (system.carbon_g_per_kwh > 0) out["carbon_g"] = energy.kwh() * system.carbon_g_per_kwh;
  if (system.cost_per_device_hour > 0) {
    out["cost"] = device_hours(energy) * system.cost_per_device_hour;
  }
  return out;
}

std::string energy_text(const model::Energy& energy, const model::Outcome& outcome) {
  std::string out;
  fmt::format_to(append(out), "Energy      {:.4g} kJ a step, {:.0f} W a device, {:.0f} W a node",
                 step_j(energy, outcome) / 1e3, energy.device_w(), energy.node_w());
  if (const double token = token_j(energy, outcome); token > 0) {
    fmt::format_to(append(out), ", {:.3g} J a token", token);
  }
  out += "\n";
  const model::SystemPower& system = energy.system;
  if (system.carbon_g_per_kwh > 0 || system.cost_per_device_hour > 0) {
    fmt::format_to(append(out), "            {:.4g} kWh", energy.kwh());
    if (system.carbon_g_per_kwh > 0) {
      fmt::format_to(append(out), ", {:.4g} g of CO2", energy.kwh() * system.carbon_g_per_kwh);
    }
    if (system.cost_per_device_hour > 0) {
      fmt::format_to(append(out), ", costs {:.4g}",
                     device_hours(energy) * system.cost_per_device_hour);
    }
    out += "\n";
  }
  return out;
}

}  // namespace exawarp::io
