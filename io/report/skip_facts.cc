#include "io/report/skip_facts.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/units.h"

namespace exawarp::io {

nlohmann::ordered_json skips_json(const model::SkipTotals& totals) {
  nlohmann::ordered_json json{{"stretches", totals.stretches},
                              {"cut_short", totals.cut_short},
                              {"skipped_packets", totals.skipped_packets},
                              {"skipped_hops", totals.skipped_hops},
                              {"replays", totals.replays},
                              {"replayed_packets", totals.replayed_packets}};
  if (totals.replays != 0) {
    json["error"] = totals.error();
    json["mean_error"] = totals.mean_error();
  }
  return json;
}

std::string skips_text(const model::SkipTotals& totals, std::uint64_t hops) {
  const double share = hops == 0 ? 0
                                 : static_cast<double>(totals.skipped_hops) /
                                       static_cast<double>(hops);
  std::string text = fmt::format("{:.1f} % of the hops, in {} stretches, an approximation; ",
                                 100 * share, core::format_grouped(totals.stretches));
  if (totals.replays == 0) return text + "none was simulated to compare";
  const std::string packets = core::format_grouped(totals.replayed_packets);
  return text + fmt::format("in {} packets simulated to compare rates were {:+.3f} % off, {:.3f} % "
                            "without signs",
                            packets, 100 * totals.error(), 100 * totals.mean_error());
}

}  // namespace exawarp::io
