// A search of four layouts that has ended, for tests of what is said of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/report/memory_report.h"
#include "io/report/search_report.h"

namespace exawarp::tests {

inline io::SweepPoint done_layout(std::int64_t number, std::vector<std::string> values,
                                  double tokens) {
  return {.number = number,
          .state = io::PointState::done,
          .values = std::move(values),
          .outcome = {},
          .figures = {tokens, 10.0, 8.0, 1.0, 0.5}};
}

inline io::SweepPoint failed_layout(std::int64_t number, std::vector<std::string> values,
                                    std::string reason) {
  return {.number = number,
          .state = io::PointState::failed,
          .values = std::move(values),
          .outcome = {.exit_code = 2, .reason = std::move(reason)},
          .figures = {{}, {}, {}, {}, {}}};
}

// Tensor, pipeline, and data that follows. Numbers 2, 4 and 1 reach 100, 95 and 90.
inline io::SearchOutcome four_layouts() {
  io::SearchOutcome out;
  out.combinations = 6;
  out.impossible = {{"devices", 2}};
  out.data_key = "parallel.data";
  out.folded.name = "s";
  out.folded.keys = {"parallel.tensor", "parallel.pipeline", "parallel.data"};
  out.folded.measures = io::search_measures();
  out.folded.points = {done_layout(1, {"1", "2", "4"}, 90), done_layout(2, {"2", "2", "2"}, 100),
                       failed_layout(3, {"2", "1", "4"}, "x" + std::string(io::kLacksMemory) + "y"),
                       done_layout(4, {"1", "4", "2"}, 95)};
  out.best = 2;
  out.fidelity = "message";
  return out;
}

// Of the first of its list, 2, 4 and 1; none: it fails.
inline io::SweepResults looked_again(const io::SearchOutcome& search,
                                     const std::vector<std::optional<double>>& figures) {
  const std::vector<std::vector<std::string>> values{
      {"2", "2", "2"}, {"1", "4", "2"}, {"1", "2", "4"}};
  io::SweepResults out{.name = "s.folded_message",
                       .keys = search.folded.keys,
                       .measures = search.folded.measures,
                       .points = {}};
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i + 1);
    out.points.push_back(figures[i] ? done_layout(number, values[i], *figures[i])
                                    : failed_layout(number, values[i], "does not fold"));
  }
  return out;
}

inline std::vector<std::int64_t> numbers_of(const std::vector<io::SweepPoint>& layouts) {
  std::vector<std::int64_t> out;
  for (const io::SweepPoint& layout : layouts) out.push_back(layout.number);
  return out;
}

}  // namespace exawarp::tests
