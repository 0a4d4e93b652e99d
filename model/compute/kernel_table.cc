// Measured kernels; see kernel_table.h. Times are kept as 16-bit levels of their logarithm, the
// last axis of the grid fastest.
#include "model/compute/kernel_table.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/error.h"
#include "model/compute/kernel_file.h"

namespace exawarp::model {
namespace {

constexpr std::uint16_t kAbsent = 0xffff;
constexpr double kLevels = 0xfffe;
constexpr std::uint8_t kNoWatts = 0xff;
constexpr double kWattLevels = 0xfe;
constexpr std::uint32_t kAlignment = 16;
constexpr std::array<double, 2> kErrorClassUs{20, 200};  // where a class of times ends
constexpr std::size_t kErrorSamples = 2'048;
constexpr double kErrorWithoutSamples = 0.1;

[[noreturn]] void refuse(const std::string& place, const std::string& what) {
  throw core::InputError(place, what);
}

// Ascending, each once.
void sort_unique(std::vector<std::uint32_t>& values) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

void check_row(const std::string& place, const KernelTable::Layout& layout,
               const KernelTable::Row& row) {
  if (row.key.size() != layout.keys.size() || row.point.size() != layout.axes.size()) {
    refuse(place, fmt::format("a row of {} keys and {} sizes; expected {} and {}", row.key.size(),
                              row.point.size(), layout.keys.size(), layout.axes.size()));
  }
  if (std::ranges::count(row.point, 0u) != 0) refuse(place, "a size of 0; expected 1 or more");
  if (!(row.us > 0) || !(row.us < kKernelUsMax)) {
    refuse(place, fmt::format("a time out of range: {} us; expected more than 0, less than {} us",
                              row.us, kKernelUsMax));
  }
  if (!(row.watts >= 0) || !(row.watts < kKernelWattsMax)) {
    refuse(place, fmt::format("a power out of range: {} W; expected less than {} W", row.watts,
                              kKernelWattsMax));
  }
}

// The watts of rows as levels, by cell: of those of one cell, the fastest row's that has any.
struct WattLevels {
  std::vector<std::uint8_t> levels;
  double least = 0, step = 0;
};

WattLevels watt_levels(std::span<const KernelTable::Row> rows,
                       std::span<const std::size_t> cell_of_row, std::size_t cells) {
  std::vector<const KernelTable::Row*> chosen;
  WattLevels out;
  double most = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (rows[r].watts == 0) continue;
    chosen.resize(cells);
    const KernelTable::Row*& row = chosen[cell_of_row[r]];
    if (row == nullptr || rows[r].us < row->us) row = &rows[r];
    out.least = out.least == 0 ? rows[r].watts : std::min(out.least, rows[r].watts);
    most = std::max(most, rows[r].watts);
  }
  if (chosen.empty()) return out;
  out.step = std::max((most - out.least) / kWattLevels, 1e-3);
  out.levels.assign(cells, kNoWatts);
  for (std::size_t c = 0; c < cells; ++c) {
    if (chosen[c] == nullptr) continue;
    out.levels[c] =
        static_cast<std::uint8_t>(std::lround((chosen[c]->watts - out.least) / out.step));
  }
  return out;
}

}  // namespace

KernelTable KernelTable::parse(const std::string& place, std::string_view bytes) {
  KernelFile file = parse_kernel_file(place, bytes);
  KernelTable table;
  table.layout_ = {std::move(file.operation), std::move(file.data_type), std::move(file.keys),
                   std::move(file.axes)};
  table.derived_ = file.derived;
  table.axes_ = std::move(file.values);
  table.slices_ = std::move(file.slices);
  table.levels_ = std::move(file.levels);
  table.log_least_ = file.log_least;
  table.log_step_ = file.log_step;
  table.watt_levels_ = std::move(file.watt_levels);
  table.watt_least_ = file.watt_least;
  table.watt_step_ = file.watt_step;
  table.finish();
  return table;
}

KernelTable KernelTable::from_rows(const std::string& place, Layout layout,
                                   std::span<const Row> rows) {
  if (rows.empty()) refuse(place, "no measured times; expected at least one");
  if (layout.axes.empty() || layout.axes.size() > kKernelAxesMax) {
    refuse(place, fmt::format("{} axes; expected 1 to {}", layout.axes.size(), kKernelAxesMax));
  }
  KernelTable table;
  table.axes_.resize(layout.axes.size());
  std::map<std::vector<std::uint32_t>, std::size_t> slices;
  double least = rows.front().us, most = least;
  for (const Row& row : rows) {
    check_row(place, layout, row);
    for (std::size_t a = 0; a < row.point.size(); ++a) table.axes_[a].push_back(row.point[a]);
    slices[row.key] = 0;
    least = std::min(least, row.us);
    most = std::max(most, row.us);
  }
  double cells = static_cast<double>(slices.size());
  for (auto& values : table.axes_) {
    sort_unique(values);
    cells *= static_cast<double>(values.size());
  }
  if (cells > kKernelCellsMax) {
    refuse(place, fmt::format("a grid of {} points; expected at most {}", cells, kKernelCellsMax));
  }
  for (auto& [key, index] : slices) {
    index = table.slices_.size();
    table.slices_.push_back(key);
  }
  table.layout_ = std::move(layout);
  table.log_least_ = std::log(least);
  table.log_step_ = std::max((std::log(most) - table.log_least_) / kLevels, 1e-9);
  table.levels_.assign(static_cast<std::size_t>(cells), kAbsent);
  const std::size_t slice_cells = table.levels_.size() / table.slices_.size();
  std::vector<std::size_t> cell_of_row;
  for (const Row& row : rows) {
    std::size_t at = 0;
    for (std::size_t a = 0; a < row.point.size(); ++a) {
      const auto& values = table.axes_[a];
      at = at * values.size() +
           static_cast<std::size_t>(std::ranges::lower_bound(values, row.point[a]) -
                                    values.begin());
    }
    cell_of_row.push_back(slices[row.key] * slice_cells + at);
    std::uint16_t& level = table.levels_[cell_of_row.back()];
    level = std::min(level, static_cast<std::uint16_t>(std::lround(
                                (std::log(row.us) - table.log_least_) / table.log_step_)));
  }
  WattLevels watts = watt_levels(rows, cell_of_row, table.levels_.size());
  table.watt_levels_ = std::move(watts.levels);
  table.watt_least_ = watts.least;
  table.watt_step_ = watts.step;
  table.finish();
  return table;
}

std::string KernelTable::file_text(std::string_view source) const {
  std::string out = fmt::format("exawarp-kernels 1\nsource {}\noperation {}\ntype {}\n", source,
                                layout_.operation, layout_.data_type);
  if (!layout_.keys.empty()) out += fmt::format("keys {}\n", fmt::join(layout_.keys, " "));
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    out += fmt::format("axis {} {}\n", layout_.axes[a], fmt::join(axes_[a], " "));
  }
  out += fmt::format("scale {} {}\n", log_least_, log_step_);
  for (const auto& key : slices_) {
    if (!key.empty()) out += fmt::format("slice {}\n", fmt::join(key, " "));
  }
  out += "cells\n";
  for (const std::uint16_t level : levels_) {
    out += static_cast<char>(level & 0xff);
    out += static_cast<char>(level >> 8);
  }
  return out;
}

void KernelTable::finish() {
  cells_of_slice_ = 1;
  for (const auto& values : axes_) cells_of_slice_ *= values.size();
  for (const std::string& name : layout_.axes) {
    Law law;
    if (name == "new_tokens") law = {.power = 2, .logarithmic = true};
    law.by_alignment = name == "m";
    law.shares_below = name == "heads" || name == "batch" || name == "results";
    if (name == "summed") law.power = 0;
    laws_.push_back(law);
  }
  measure_errors();
}

std::optional<std::size_t> KernelTable::slice_of(std::span<const std::uint32_t> key) const {
  for (std::size_t s = 0; s < slices_.size(); ++s) {
    if (std::ranges::equal(slices_[s], key)) return s;
  }
  return std::nullopt;
}

double KernelTable::measured_us(std::size_t slice, std::size_t cell) const {
  const std::uint16_t level = levels_[slice * cells_of_slice_ + cell];
  return level == kAbsent ? 0 : std::exp(log_least_ + log_step_ * level);
}

double KernelTable::measured_watts(std::size_t slice, std::size_t cell) const {
  if (watt_levels_.empty()) return 0;
  const std::uint8_t level = watt_levels_[slice * cells_of_slice_ + cell];
  return level == kNoWatts ? 0 : watt_least_ + watt_step_ * level;
}

KernelTable::Point KernelTable::point_of(std::size_t cell) const {
  Point point{};
  for (std::size_t a = axes_.size(); a-- > 0;) {
    point[a] = axes_[a][cell % axes_[a].size()];
    cell /= axes_[a].size();
  }
  return point;
}

std::size_t KernelTable::cell_of(const Index& index) const {
  std::size_t cell = 0;
  for (std::size_t a = 0; a < axes_.size(); ++a) cell = cell * axes_[a].size() + index[a];
  return cell;
}

// 0: not measured, or held.
double KernelTable::time(std::size_t slice, const Index& index, const HeldOut& held) const {
  if (held.axis != HeldOut::kNone && index[held.axis] == held.value) return 0;
  const std::size_t cell = cell_of(index);
  return cell == held.cell ? 0 : measured_us(slice, cell);
}

// The points of the grid around `value`, without the one of index `skip` and the held ones; none
// where no point is left.
std::optional<KernelTable::Bracket> KernelTable::bracket(std::size_t axis, double value,
                                                         const HeldOut& held,
                                                         std::size_t skip) const {
  const std::vector<std::uint32_t>& all = axes_[axis];
  const Law& law = laws_[axis];
  const auto is_aligned = [](double v) { return std::fmod(v, kAlignment) == 0; };
  const auto find = [&](bool by_class) -> std::optional<Bracket> {
    const auto usable = [&](std::size_t i) {
      return i != skip && !(held.axis == axis && held.value == i) &&
             (!by_class || is_aligned(all[i]) == is_aligned(value));
    };
    const auto first_above = static_cast<std::size_t>(
        std::ranges::upper_bound(all, value, {}, [](auto v) { return double{1} * v; }) -
        all.begin());
    std::size_t low = first_above, high = first_above;
    while (low > 0 && !usable(low - 1)) --low;
    while (high < all.size() && !usable(high)) ++high;
    const bool has_low = low > 0, has_high = high < all.size();
    if (!has_low && !has_high) return std::nullopt;
    Bracket b;
    b.low = static_cast<std::uint32_t>(has_low ? low - 1 : high);
    b.high = static_cast<std::uint32_t>(has_high ? high : low - 1);
    const double from = all[b.low], to = all[b.high];
    if (has_low && from == value) return b.high = b.low, b;
    b.beyond = !has_low || !has_high;
    if (b.beyond) {
      // Below the grid nothing is gained, as what is left is the start of the kernel; heads and
      // sequences apart, of which each is work of its own.
      if (!has_high || law.shares_below) b.scale = std::pow(value / from, law.power);
      return b;
    }
    b.share = law.logarithmic ? std::log(value / from) / std::log(to / from)
                              : (value - from) / (to - from);
    return b;
  };
  if (law.by_alignment) {
    const auto of_class = find(true);
    if (of_class && !of_class->beyond) return of_class;
  }
  return find(false);
}

double KernelTable::between(std::size_t axis, double low, double high, double share) const {
  if (share == 0 || low == 0 || high == 0) return high == 0 && share != 0 ? 0 : low;
  if (laws_[axis].logarithmic) return low * std::pow(high / low, share);
  return low + (high - low) * share;
}

// The time at a point of the grid; where it was not measured, the geometric mean of what its
// neighbours on each axis say; 0: they say nothing.
double KernelTable::filled(std::size_t slice, const Index& index, const HeldOut& held) const {
  if (const double us = time(slice, index, held); us > 0) return us;
  double sum = 0;
  int axes = 0;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    const auto b = bracket(a, axes_[a][index[a]], held, index[a]);
    if (!b || b->beyond) continue;
    Index at = index;
    at[a] = b->low;
    const double low = time(slice, at, held);
    at[a] = b->high;
    const double high = time(slice, at, held);
    if (low == 0 || high == 0) continue;
    sum += std::log(between(a, low, high, b->share));
    ++axes;
  }
  return axes == 0 ? 0 : std::exp(sum / axes);
}

// Interpolates on `axis` and all after it.
double KernelTable::along(std::size_t slice, std::span<const Bracket> brackets, Index& index,
                          std::size_t axis, const HeldOut& held) const {
  if (axis == brackets.size()) return filled(slice, index, held);
  const Bracket& b = brackets[axis];
  index[axis] = b.low;
  const double low = along(slice, brackets, index, axis + 1, held);
  if (b.share == 0 || low == 0) return low;
  index[axis] = b.high;
  const double high = along(slice, brackets, index, axis + 1, held);
  return high == 0 ? 0 : between(axis, low, high, b.share);
}

std::optional<KernelTable::Estimate> KernelTable::estimate(std::size_t slice, const Point& point,
                                                           const HeldOut& held) const {
  const auto found = inside(slice, point, held);
  return found ? found : nearest(slice, point, held);
}

std::optional<KernelTable::Estimate> KernelTable::inside(std::size_t slice, const Point& point,
                                                         const HeldOut& held) const {
  std::array<Bracket, kKernelAxesMax> brackets;
  Index index{};
  double scale = 1;
  bool beyond = false, on_grid = true;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    const auto b = bracket(a, point[a], held, HeldOut::kNone);
    if (!b) return std::nullopt;
    brackets[a] = *b;
    scale *= b->scale;
    beyond |= b->beyond;
    on_grid &= b->low == b->high && !b->beyond;
    index[a] = b->low;
  }
  if (on_grid) {
    if (const double us = time(slice, index, held); us > 0) {
      return Estimate{us, Provenance::measured, measured_watts(slice, cell_of(index))};
    }
  }
  const std::span around(brackets.data(), axes_.size());
  const double us = along(slice, around, index, 0, held);
  if (us == 0) return std::nullopt;
  return Estimate{us * scale, beyond ? Provenance::extrapolated : Provenance::interpolated,
                  watts(slice, around, held)};
}

// The watts at a point of the grid; where it was not measured, the mean of what its neighbours on
// each axis say; 0: they say nothing, or the point's time was measured without.
double KernelTable::watts_at(std::size_t slice, const Index& index, const HeldOut& held) const {
  if (time(slice, index, held) > 0) return measured_watts(slice, cell_of(index));
  double sum = 0;
  int axes = 0;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    const auto b = bracket(a, axes_[a][index[a]], held, index[a]);
    if (!b || b->beyond) continue;
    Index at = index;
    at[a] = b->low;
    const double low = time(slice, at, held) > 0 ? measured_watts(slice, cell_of(at)) : 0;
    at[a] = b->high;
    const double high = time(slice, at, held) > 0 ? measured_watts(slice, cell_of(at)) : 0;
    if (low == 0 || high == 0) continue;
    sum += low + (high - low) * b->share;
    ++axes;
  }
  return axes == 0 ? 0 : sum / axes;
}

// The mean of the corners of which watts are known, each by its share; 0: there are none.
double KernelTable::watts(std::size_t slice, std::span<const Bracket> brackets,
                          const HeldOut& held) const {
  if (watt_levels_.empty()) return 0;
  double sum = 0, shares = 0;
  for (std::uint32_t corner = 0; corner < 1u << brackets.size(); ++corner) {
    Index index{};
    double share = 1;
    for (std::size_t a = 0; a < brackets.size(); ++a) {
      const Bracket& b = brackets[a];
      const bool high = (corner >> a & 1) != 0;
      index[a] = high ? b.high : b.low;
      share *= high ? b.share : 1 - b.share;
    }
    const double at = share == 0 ? 0 : watts_at(slice, index, held);
    if (at == 0) continue;
    sum += share * at;
    shares += share;
  }
  return shares > 0 ? sum / shares : 0;
}

// Scaled by the work from the measured point that is nearest by ratios of sizes.
std::optional<KernelTable::Estimate> KernelTable::nearest(std::size_t slice, const Point& point,
                                                          const HeldOut& held) const {
  double best_distance = HUGE_VAL, best = 0, best_watts = 0;
  for (std::size_t cell = 0; cell < cells_of_slice_; ++cell) {
    if (levels_[slice * cells_of_slice_ + cell] == kAbsent || cell == held.cell) continue;
    const Point at = point_of(cell);
    double distance = 0, work = 0;
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      const double ratio = std::log(point[a] / at[a]);
      distance += ratio * ratio;
      work += laws_[a].power * ratio;
    }
    const bool is_held =
        held.axis != HeldOut::kNone && at[held.axis] == axes_[held.axis][held.value];
    if (is_held || !(distance < best_distance)) continue;
    best_distance = distance;
    best = measured_us(slice, cell) * std::exp(work);
    best_watts = measured_watts(slice, cell);
  }
  if (best == 0) return std::nullopt;
  return Estimate{best, Provenance::extrapolated, best_watts};
}

double KernelTable::error(double us) const {
  std::size_t size_class = 0;
  while (size_class < kErrorClassUs.size() && us >= kErrorClassUs[size_class]) ++size_class;
  return errors_[size_class];
}

// Each of a few measured points left out, whatever is around them; the same points in every run.
void KernelTable::measure_errors() {
  std::array<std::vector<double>, kErrorClassUs.size() + 1> errors;
  const std::size_t stride = 1 + levels_.size() / kErrorSamples;
  for (std::size_t at = stride / 2; at < levels_.size(); at += stride) {
    const std::size_t slice = at / cells_of_slice_, cell = at % cells_of_slice_;
    const double us = measured_us(slice, cell);
    if (us == 0) continue;
    const auto e = inside(slice, point_of(cell), {.cell = cell});
    if (!e || e->provenance != Provenance::interpolated) continue;
    std::size_t size_class = 0;
    while (size_class < kErrorClassUs.size() && us >= kErrorClassUs[size_class]) ++size_class;
    errors[size_class].push_back(std::abs(e->us / us - 1));
  }
  for (std::size_t c = 0; c < errors.size(); ++c) {
    std::vector<double>& all = errors[c];
    errors_[c] = kErrorWithoutSamples;
    if (all.size() < 10) continue;
    const auto two_thirds = all.begin() + static_cast<std::ptrdiff_t>(all.size() * 2 / 3);
    std::ranges::nth_element(all, two_thirds);
    errors_[c] = *two_thirds;
  }
}

}  // namespace exawarp::model
