// Which layouts of a search are the best, by its first look and, where it has one, by the second,
// which some of them have: simulated again, with what the first look leaves out.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "io/report/search_report.h"

namespace exawarp::io {

// How many layouts of a list should have a second look. `first`: their figures at first look, the
// best first; `again`: those of the first of them, which have had it; none of one that failed,
// which then keeps its first. The answer is `again.size()` where no other is better at first look
// than the last of the `best`, or where `again` has `most`; it is never more than `most`, nor
// `best` more than `again` has. Requires: best > 0.
//
// What is left out can be one of the best all the same, where contention makes a layout faster.
std::size_t layouts_to_look_at(std::span<const double> first,
                               std::span<const std::optional<double>> again, std::size_t best,
                               std::size_t most);

// What layouts reach at second look, in its order; none of those that failed.
std::vector<std::optional<double>> second_figures(const SweepResults& again);

// The best by the figure that counts, the best first, at most search.best or the usual number.
// Where there is a second look, only those that had it, with its figure behind the others.
std::vector<SweepPoint> best_layouts(const SearchOutcome& search);

// The figure by which a layout of best_layouts() has its place: tokens a second.
double deciding_figure(const SearchOutcome& search, const SweepPoint& layout);

}  // namespace exawarp::io
