// What people and other programs read of a sweep.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/report/sweep_results.h"

namespace exawarp::io {

// The points that have the best of the first measure, the best first, at most `count`; of equal
// ones that of the lower number. Those without a figure are left out.
std::vector<SweepPoint> best_points(const SweepResults& results, std::size_t count);

// The points that no other is as good as in all of the first `measures` and better than in one, the
// best of the first measure first.
std::vector<SweepPoint> pareto_points(const SweepResults& results, std::size_t measures);

// One line for each point: its number, its values and its figures.
std::string points_table(const SweepResults& results, const std::vector<SweepPoint>& points);

// How many points are where, and why some failed.
std::string sweep_text(const SweepResults& results);

// All points with their figures; as JSON with their resolved studies and summaries, too.
std::string sweep_csv(const SweepResults& results);
std::string sweep_json(const SweepResults& results, const std::vector<SweepPoint>& points);

}  // namespace exawarp::io
