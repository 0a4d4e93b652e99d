// Extremes by one pass; the spectrum by a fast Fourier transform (Cooley and Tukey 1965, radix 2)
// of the samples less their mean under a Hann window, which keeps a line's power within two bins of
// it. Four times as many zeros follow the samples, and a parabola through a line's three highest
// points places it between them.
#include "model/energy/power_figures.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <numbers>
#include <utility>

namespace exawarp::model {
namespace {

using Complex = std::complex<double>;

constexpr std::size_t kWholeBinsMin = 8;
constexpr std::size_t kPadding = 4;
constexpr double kLeastOfMain = 0.01;

std::size_t whole_bins(const PowerSamples& samples) {
  return std::min(samples.watts.size(),
                  static_cast<std::size_t>(samples.end.ps / samples.width.ps));
}

// In place; requires a power of two.
void transform(std::vector<Complex>& a) {
  const std::size_t n = a.size();
  for (std::size_t i = 1, j = 0; i < n; ++i) {
    std::size_t bit = n >> 1;
    for (; (j & bit) != 0; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(a[i], a[j]);
  }
  for (std::size_t length = 2; length <= n; length *= 2) {
    const double angle = -2 * std::numbers::pi / static_cast<double>(length);
    std::vector<Complex> roots(length / 2);
    for (std::size_t k = 0; k < roots.size(); ++k) {
      roots[k] = std::polar(1.0, angle * static_cast<double>(k));
    }
    for (std::size_t first = 0; first < n; first += length) {
      for (std::size_t k = 0; k < roots.size(); ++k) {
        const Complex even = a[first + k], odd = a[first + k + length / 2] * roots[k];
        a[first + k] = even + odd;
        a[first + k + length / 2] = even - odd;
      }
    }
  }
}

struct Spectrum {
  std::vector<double> amplitudes;  // of sines
  double hz_of_index = 0;
  std::size_t lobe = 0;  // indices that a line is wide, to one side
};

Spectrum transformed(std::span<const double> watts, core::Time width) {
  const std::size_t n = watts.size();
  std::vector<double> window(n);
  double weight = 0, weighted = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double phase = 2 * std::numbers::pi * (static_cast<double>(i) + 0.5);
    window[i] = 0.5 - 0.5 * std::cos(phase / static_cast<double>(n));
    weight += window[i];
    weighted += window[i] * watts[i];
  }
  const double mean = weighted / weight;
  std::vector<Complex> a(std::bit_ceil(n * kPadding));
  for (std::size_t i = 0; i < n; ++i) a[i] = window[i] * (watts[i] - mean);
  transform(a);
  Spectrum out;
  for (std::size_t i = 0; i <= a.size() / 2; ++i) {
    out.amplitudes.push_back(2 * std::abs(a[i]) / weight);
  }
  out.hz_of_index = 1 / (core::to_seconds(width) * static_cast<double>(a.size()));
  out.lobe = 2 * a.size() / n;
  return out;
}

// The vertex of the parabola through the amplitudes around index `i`.
SpectralLine line_at(const Spectrum& spectrum, std::size_t i) {
  const auto& a = spectrum.amplitudes;
  const double curvature = a[i - 1] - 2 * a[i] + a[i + 1];
  const double shift = curvature < 0 ? 0.5 * (a[i - 1] - a[i + 1]) / curvature : 0;
  return {.hz = (static_cast<double>(i) + shift) * spectrum.hz_of_index,
          .amplitude_w = a[i] - 0.25 * (a[i - 1] - a[i + 1]) * shift};
}

}  // namespace

PowerFigures figures_of(const PowerSamples& samples) {
  PowerFigures out;
  if (samples.watts.empty()) return out;
  out.peak_w = out.least_w = samples.watts.front();
  const std::int64_t width = samples.width.ps;
  const double width_s = core::to_seconds(samples.width);
  const std::size_t whole = whole_bins(samples);
  double joules = 0;
  for (std::size_t i = 0; i < samples.watts.size(); ++i) {
    const core::Time at{static_cast<std::int64_t>(i) * width};
    const double watts = samples.watts[i];
    joules += watts * core::to_seconds(core::Time{std::min(width, samples.end.ps - at.ps)});
    if (watts > out.peak_w) out.peak_w = watts, out.peak_at = at;
    if (watts < out.least_w) out.least_w = watts, out.least_at = at;
    if (i == 0 || i >= whole) continue;
    const double change = (watts - samples.watts[i - 1]) / width_s;
    if (change > out.rise_w_per_s) out.rise_w_per_s = change, out.rise_at = at;
    if (-change > out.fall_w_per_s) out.fall_w_per_s = -change, out.fall_at = at;
  }
  out.mean_w = joules / core::to_seconds(samples.end);
  return out;
}

std::vector<SpectralLine> spectrum_of(const PowerSamples& samples, std::size_t lines_max) {
  const std::size_t whole = whole_bins(samples);
  if (whole < kWholeBinsMin) return {};
  const Spectrum spectrum = transformed(samples.watts.first(whole), samples.width);
  const auto& a = spectrum.amplitudes;
  std::vector<std::size_t> tops;
  for (std::size_t i = 1; i + 1 < a.size(); ++i) {
    if (a[i] > a[i - 1] && a[i] >= a[i + 1]) tops.push_back(i);
  }
  std::ranges::stable_sort(tops, [&](std::size_t x, std::size_t y) { return a[x] > a[y]; });
  const double scale = std::abs(samples.watts.front()) + 1;
  std::vector<std::size_t> taken;
  std::vector<SpectralLine> lines;
  for (const std::size_t top : tops) {
    if (lines.size() == lines_max || a[top] < kLeastOfMain * a[tops.front()]) break;
    if (a[top] < 1e-9 * scale) break;  // rounding
    const bool is_part = std::ranges::any_of(
        taken, [&](std::size_t t) { return std::max(t, top) - std::min(t, top) < spectrum.lobe; });
    if (is_part) continue;
    taken.push_back(top);
    lines.push_back(line_at(spectrum, top));
  }
  return lines;
}

}  // namespace exawarp::model
