#include "io/report/fidelity_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "io/report/append.h"

namespace exawarp::io {
namespace {

using Json = nlohmann::ordered_json;

std::string three_digits(const std::optional<double>& value) {
  return value ? fmt::format("{:.3f}", *value) : "-";
}

Json distances_json(const std::optional<model::Distances>& d) {
  if (!d) return nullptr;
  return {{"ks", d->ks}, {"w1", d->w1 ? Json(*d->w1) : Json(nullptr)}};
}

}  // namespace

std::string fidelity_text(const FidelityReport& report) {
  std::string out;
  append(out, "{} graph{} given, {} sampled, seed {}: distances, 0 (equal) to 1\n", report.given,
         report.given == 1 ? "" : "s", report.sampled, report.seed);
  append(out, "{:<18}{:>16}{:>24}\n", "", "sampled to given", "halves of the given");
  append(out, "{:<18}{:>8}{:>8}{:>12}{:>12}\n", "", "KS", "W1", "KS", "W1");
  for (const model::FidelityRow& row : report.rows) {
    const model::MeasureFacts& facts = model::facts_of(row.measure);
    std::optional<double> ks, w1, halves_ks, halves_w1;
    if (row.sampled) ks = row.sampled->ks, w1 = row.sampled->w1;
    if (row.halves) halves_ks = row.halves->ks, halves_w1 = row.halves->w1;
    append(out, "{:<18}{:>8}{:>8}{:>12}{:>12}  {}\n", facts.name, three_digits(ks),
           three_digits(w1), three_digits(halves_ks), three_digits(halves_w1), facts.meaning);
  }
  if (report.given < 2) out += "one graph has no halves to compare with\n";
  return out;
}

Json fidelity_json(const FidelityReport& report) {
  Json measures = Json::array();
  for (const model::FidelityRow& row : report.rows) {
    const model::MeasureFacts& facts = model::facts_of(row.measure);
    measures.push_back({{"name", facts.name},
                        {"meaning", facts.meaning},
                        {"distance", facts.shares ? "total_variation" : "kolmogorov_smirnov"},
                        {"logarithmic", facts.logarithmic},
                        {"sampled", distances_json(row.sampled)},
                        {"halves", distances_json(row.halves)}});
  }
  return {{"given", report.given},
          {"sampled", report.sampled},
          {"seed", report.seed},
          {"measures", std::move(measures)}};
}

}  // namespace exawarp::io
