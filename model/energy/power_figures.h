// What a trace of power says in figures: mean, extremes, the steepest change, and which frequencies
// it swings at. Utilities ask for the last two: thousands of devices that stop together for every
// collective are a load that oscillates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/time.h"

namespace exawarp::model {

// Bins of one width, the last of which may end early.
struct PowerSamples {
  std::span<const double> watts;
  core::Time width;
  core::Time end;
};

struct SpectralLine {
  double hz = 0;
  double amplitude_w = 0;  // of the sine, from the mean
};

struct PowerFigures {
  double mean_w = 0;
  double peak_w = 0, least_w = 0;
  core::Time peak_at, least_at;  // where that bin begins
  // Between two bins that follow each other; 0 where none does. Only of whole bins.
  double rise_w_per_s = 0, fall_w_per_s = 0;  // both at least 0
  core::Time rise_at, fall_at;                // where the second bin begins
};
PowerFigures figures_of(const PowerSamples& samples);

// The lines of the spectrum, strongest first, at most `lines_max`, each at least a hundredth of the
// first; none where there are fewer than 8 whole bins, or nothing changes. A line is known to about
// a tenth of 1 / duration, and two that are closer than 2 / duration are one.
// Cost: O(n log n).
std::vector<SpectralLine> spectrum_of(const PowerSamples& samples, std::size_t lines_max = 8);

}  // namespace exawarp::model
