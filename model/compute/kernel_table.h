// Measured times of one operation's kernels on one device, and what lies between them.
//
// A table has slices, each for one key (say, the width of heads), and a slice is a grid over a few
// axes (m, n and k of a product). Between the points of a grid times are interpolated, axis by
// axis: linearly in the amount of work, as a kernel is a start and a loop, or along a power law
// where the work is not linear. Sizes that are no multiple of 16 run other kernels, so m has two
// sets of points that are not mixed. Beyond the grid the time at its edge is scaled by the work.
//
// File format (configs/kernels/*/*.xkt): docs/reference/kernel_tables.md.
// Thread safety: const methods from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/compute/compute_model.h"

namespace exawarp::model {

constexpr std::size_t kKernelAxesMax = 4;

// What an estimate may not look at: one point of the grid, or all with one value on an axis.
struct HeldOut {
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::size_t cell = kNone;
  std::size_t axis = kNone, value = kNone;  // the value's index
};

class KernelTable {
 public:
  struct Row {
    std::vector<std::uint32_t> key, point;
    double us = 0;
    double watts = 0;  // 0: not measured
  };
  struct Layout {
    std::string operation, data_type;
    std::vector<std::string> keys, axes;  // what a row's key and point are
  };
  struct Estimate {
    double us = 0;
    Provenance provenance = Provenance::measured;
    double watts = 0;  // while it runs; 0: not measured here or around
  };
  using Point = std::array<double, kKernelAxesMax>;

  // Throws core::InputError at `place` where `bytes` are no such file.
  static KernelTable parse(const std::string& place, std::string_view bytes);
  // Of equal keys and points the fastest counts, and the watts of the fastest that has any. Throws
  // core::InputError at `place` where rows do not fit the layout, sizes are 0, times are not above
  // 0, watts are below 0, or there are none.
  static KernelTable from_rows(const std::string& place, Layout layout, std::span<const Row> rows);

  // As a file that parse() reads. Requires one line of source.
  [[nodiscard]] std::string file_text(std::string_view source) const;

  [[nodiscard]] const Layout& layout() const { return layout_; }
  // Its times are worked out from measurements of other kernels or of another chip.
  [[nodiscard]] bool derived() const { return derived_; }
  [[nodiscard]] std::size_t slice_count() const { return slices_.size(); }
  [[nodiscard]] std::span<const std::uint32_t> key(std::size_t slice) const {
    return slices_[slice];
  }
  [[nodiscard]] std::optional<std::size_t> slice_of(std::span<const std::uint32_t> key) const;
  [[nodiscard]] std::span<const std::uint32_t> values(std::size_t axis) const {
    return axes_[axis];
  }
  [[nodiscard]] std::size_t cells_of_slice() const { return cells_of_slice_; }
  // The measurement at a cell of a slice; 0: none there.
  [[nodiscard]] double measured_us(std::size_t slice, std::size_t cell) const;
  [[nodiscard]] double measured_watts(std::size_t slice, std::size_t cell) const;  // the same
  [[nodiscard]] Point point_of(std::size_t cell) const;

  // Requires sizes of 1 or more. None: the slice is empty but for what is held.
  [[nodiscard]] std::optional<Estimate> estimate(std::size_t slice, const Point& point,
                                                 const HeldOut& held = {}) const;
  // Of an interpolated time about as long: what two thirds of the measured points, each left out,
  // are within, relative.
  [[nodiscard]] double error(double us) const;

 private:
  using Index = std::array<std::uint32_t, kKernelAxesMax>;
  struct Bracket {
    std::uint32_t low = 0, high = 0;
    double share = 0;  // of the way from low to high
    double scale = 1;  // beyond the grid: by the work
    bool beyond = false;
  };
  // How time goes along an axis.
  struct Law {
    double power = 1;
    bool logarithmic = false;
    bool by_alignment = false;
    bool shares_below = false;  // also below the grid time goes with the work
  };

  void finish();
  [[nodiscard]] std::size_t cell_of(const Index& index) const;
  [[nodiscard]] double time(std::size_t slice, const Index& index, const HeldOut& held) const;
  [[nodiscard]] std::optional<Bracket> bracket(std::size_t axis, double value,
                                               const HeldOut& held, std::size_t skip) const;
  [[nodiscard]] double between(std::size_t axis, double low, double high, double share) const;
  [[nodiscard]] double watts_at(std::size_t slice, const Index& index, const HeldOut& held) const;
  [[nodiscard]] double watts(std::size_t slice, std::span<const Bracket> brackets,
                             const HeldOut& held) const;
  [[nodiscard]] double filled(std::size_t slice, const Index& index, const HeldOut& held) const;
  [[nodiscard]] double along(std::size_t slice, std::span<const Bracket> brackets, Index& index,
                             std::size_t axis, const HeldOut& held) const;
  // None also where too little was measured around the point.
  [[nodiscard]] std::optional<Estimate> inside(std::size_t slice, const Point& point,
                                               const HeldOut& held) const;
  [[nodiscard]] std::optional<Estimate> nearest(std::size_t slice, const Point& point,
                                                const HeldOut& held) const;
  void measure_errors();

  Layout layout_;
  bool derived_ = false;
  std::vector<std::vector<std::uint32_t>> axes_;
  std::vector<Law> laws_;
  std::vector<std::vector<std::uint32_t>> slices_;  // keys, ascending
  std::size_t cells_of_slice_ = 0;
  std::vector<std::uint16_t> levels_;  // of the logarithm, slice by slice
  double log_least_ = 0, log_step_ = 0;
  std::vector<std::uint8_t> watt_levels_;  // as many, or none
  double watt_least_ = 0, watt_step_ = 0;
  std::array<double, 3> errors_{};
};

}  // namespace exawarp::model
