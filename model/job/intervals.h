// Numbers in ascending order, given as intervals: the i-th of them, and which one a number is.
// Cost: O(log intervals) a question, 12 bytes an interval.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace exawarp::model {

class Intervals {
 public:
  // Adds [first, first + count). Requires that it begins after what was added before.
  void add(std::uint32_t first, std::uint32_t count) {
    if (count == 0) return;
    parts_.push_back({first, count, size_});
    size_ += count;
  }

  [[nodiscard]] std::uint32_t size() const { return size_; }

  // Requires i < size().
  [[nodiscard]] std::uint32_t at(std::uint32_t i) const {
    const auto after =
        std::upper_bound(parts_.begin(), parts_.end(), i,
                         [](std::uint32_t value, const Part& part) { return value < part.before; });
    return (after - 1)->first + (i - (after - 1)->before);
  }
  // The i with at(i) == value, if there is one.
  [[nodiscard]] std::optional<std::uint32_t> index_of(std::uint32_t value) const {
    const auto after =
        std::upper_bound(parts_.begin(), parts_.end(), value,
                         [](std::uint32_t v, const Part& part) { return v < part.first; });
    if (after == parts_.begin() || value - (after - 1)->first >= (after - 1)->count) return {};
    return (after - 1)->before + (value - (after - 1)->first);
  }

  struct Part {
    std::uint32_t first, count;
    std::uint32_t before;  // numbers in the parts before
  };
  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }

 private:
  std::vector<Part> parts_;
  std::uint32_t size_ = 0;
};

}  // namespace exawarp::model
