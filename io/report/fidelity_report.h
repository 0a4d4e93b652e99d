// How close sampled graphs are to those that they are like, as a table and as JSON. Neither says a
// name of a source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "model/sample/fidelity.h"

namespace exawarp::io {

struct FidelityReport {
  std::size_t given = 0, sampled = 0;  // graphs
  std::uint64_t seed = 0;
  std::vector<model::FidelityRow> rows;
};

std::string fidelity_text(const FidelityReport& report);
nlohmann::ordered_json fidelity_json(const FidelityReport& report);

}  // namespace exawarp::io
