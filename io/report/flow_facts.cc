#include "io/report/flow_facts.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/units.h"

namespace exawarp::io {

nlohmann::ordered_json flows_json(const model::FlowTotals& totals) {
  return {{"started", totals.started},
          {"ended", totals.ended},
          {"most_at_once", totals.most_flows},
          {"instants", totals.instants},
          {"parts_solved", totals.parts},
          {"flows_solved", totals.looked_at},
          {"largest_part", totals.largest_part}};
}

std::string shares_text(const model::FlowTotals& totals) {
  const double each = totals.parts == 0 ? 0
                                        : static_cast<double>(totals.looked_at) /
                                              static_cast<double>(totals.parts);
  return fmt::format("solved at {} instants, {} parts of {:.1f} flows, {} at most",
                     core::format_grouped(totals.instants), core::format_grouped(totals.parts),
                     each, core::format_grouped(totals.largest_part));
}

}  // namespace exawarp::io
