// A time as a function of one size or two, between points that were measured or asked for.
// Thread safety: const methods from any thread.
#pragma once

#include <cstdint>
#include <vector>

namespace exawarp::model::serving {

// Points (x, ps), straight between them and beyond the last two.
class TimeCurve {
 public:
  void add(std::uint64_t x, std::int64_t ps);  // requires x above the last one
  [[nodiscard]] std::int64_t at(std::uint64_t x) const;  // requires a point
  [[nodiscard]] bool empty() const { return x_.empty(); }

 private:
  std::vector<std::uint64_t> x_;
  std::vector<std::int64_t> ps_;
};

// A curve each at some rows: straight between two rows, the first one's below it, and beyond the
// last one in proportion.
class TimePlane {
 public:
  // A curve to add points to, valid until the next call; requires `row` above the last one.
  TimeCurve& add_row(std::uint64_t row);
  [[nodiscard]] std::int64_t at(std::uint64_t row, std::uint64_t x) const;  // requires a point

 private:
  std::vector<std::uint64_t> rows_;
  std::vector<TimeCurve> curves_;
};

}  // namespace exawarp::model::serving
