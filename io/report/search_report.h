// What people read of a search: its best layouts, folded and device by device, the Pareto front,
// and what the best one's neighbours would give. Which the best are: search_order.h.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/report/sweep_results.h"

namespace exawarp::io {

// A search as its report needs it. Measures of all results: search_measures().
struct SearchOutcome {
  std::size_t combinations = 0;
  std::map<std::string, std::size_t> impossible;  // of these, by what forbids them
  std::string data_key;                           // of the axis that follows from the others
  SweepResults folded;
  // The best of these once more, numbered from 1 in the order of the first look, as far as the
  // second one went.
  std::optional<SweepResults> again;
  std::size_t look_again = 0;            // how far it may go
  std::size_t best = 0;                  // layouts to list; 0: ten all the same
  std::string fidelity;                  // of `verified`
  std::optional<SweepResults> verified;  // the best, numbered from 1 as they come in the list
};

// tokens_per_s, memory, devices, step_time, mfu.
std::vector<Measure> search_measures();
inline constexpr std::size_t kSearchTokens = 0, kSearchMemory = 1;  // their places

// Spearman's coefficient of pairs of figures; equal ones share their ranks. None for fewer than two
// pairs, or where all of one side are equal.
std::optional<double> rank_correlation(std::span<const std::pair<double, double>> pairs);

// The share that the first pair's second figure lacks of the largest second one. None of no pairs.
std::optional<double> regret_of_first(std::span<const std::pair<double, double>> pairs);

// Layouts that differ from `from` in one axis but `data_key`, done or failed, the best first and
// those that failed last.
std::vector<SweepPoint> neighbours_of(const SearchOutcome& search, const SweepPoint& from);

// Whether a point failed for its memory, before anything of it was simulated.
bool lacks_memory(const SweepPoint& point);

std::string search_text(const SearchOutcome& search);

}  // namespace exawarp::io
