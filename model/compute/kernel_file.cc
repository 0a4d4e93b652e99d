// A header of text, then the grid as 16-bit levels of times and 8-bit ones of watts; everything
// that a file says is checked before it is used.
#include "model/compute/kernel_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "core/error.h"
#include "model/compute/kernel_table.h"
#include "model/workload/graph.h"

namespace exawarp::model {
namespace {

constexpr std::string_view kMagic = "exawarp-kernels 1";
constexpr std::size_t kKeysMax = 8;

class Parser {
 public:
  Parser(const std::string& place, std::string_view bytes) : place_(place), rest_(bytes) {}

  KernelFile run() {
    if (next_line() != kMagic) {
      refuse("not a kernel table: \"{}\"; expected \"{}\"", printable(line_), kMagic);
    }
    while (next_line() != "cells") take_line();
    finish_header();
    take_cells();
    return std::move(file_);
  }

 private:
  template <class... Values>
  [[noreturn]] void refuse(fmt::format_string<Values...> text, Values&&... values) const {
    throw core::InputError(fmt::format("{}:{}", place_, line_number_),
                           fmt::format(text, std::forward<Values>(values)...));
  }

  std::string_view next_line() {
    const std::size_t end = rest_.find('\n');
    ++line_number_;
    if (end == std::string_view::npos) refuse("the file ends in its header; expected \"cells\"");
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return line_;
  }

  // The next word of the line, "" at its end.
  std::string_view word() {
    line_.remove_prefix(std::min(line_.find_first_not_of(' '), line_.size()));
    const std::string_view found = line_.substr(0, line_.find(' '));
    line_.remove_prefix(found.size());
    return found;
  }

  template <class Number>
  Number number(std::string_view text, const char* expected) const {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      refuse("\"{}\"; expected {}", printable(text), expected);
    }
    return value;
  }

  std::vector<std::uint32_t> numbers(std::uint32_t least) {
    std::vector<std::uint32_t> out;
    for (std::string_view text = word(); !text.empty(); text = word()) {
      out.push_back(number<std::uint32_t>(text, "a whole number"));
      if (out.back() < least) refuse("\"{}\"; expected {} or more", out.back(), least);
    }
    return out;
  }

  void take_line() {
    const std::string_view what = word();
    if (what == "operation") {
      file_.operation = word();
    } else if (what == "type") {
      file_.data_type = word();
    } else if (what == "keys") {
      take_keys();
    } else if (what == "axis") {
      take_axis();
    } else if (what == "scale") {
      take_scale();
    } else if (what == "watts") {
      take_watts();
    } else if (what == "slice") {
      take_slice();
    } else if (what == "derived") {
      file_.derived = true;
    } else if (what != "source" && what != "licence") {
      refuse("unknown line \"{}\"; expected source, licence, derived, operation, type, keys, axis, "
             "scale, watts, slice or cells",
             printable(what));
    }
  }

  void take_keys() {
    if (!file_.keys.empty()) refuse("a second line of keys; expected one");
    for (std::string_view name = word(); !name.empty(); name = word()) {
      file_.keys.emplace_back(name);
    }
    if (file_.keys.empty() || file_.keys.size() > kKeysMax) {
      refuse("{} keys; expected 1 to {}", file_.keys.size(), kKeysMax);
    }
  }

  void take_axis() {
    if (file_.axes.size() == kKernelAxesMax) refuse("too many axes; expected {}", kKernelAxesMax);
    file_.axes.emplace_back(word());
    std::vector<std::uint32_t> values = numbers(1);
    if (values.empty()) refuse("an axis without values; expected at least one");
    for (std::size_t i = 1; i < values.size(); ++i) {
      if (values[i] <= values[i - 1]) {
        refuse("{} after {}; expected ascending values", values[i], values[i - 1]);
      }
    }
    file_.values.push_back(std::move(values));
  }

  void take_scale() {
    file_.log_least = number<double>(word(), "the logarithm of a time");
    file_.log_step = number<double>(word(), "a step of the logarithm");
    const double most = file_.log_least + 0xfffe * file_.log_step;
    if (!(file_.log_step > 0) || !(most < std::log(kKernelUsMax)) ||
        !(file_.log_least > -std::log(kKernelUsMax))) {
      refuse("a scale from {} in steps of {}; expected times of 1e-9 to 1e9 us", file_.log_least,
             file_.log_step);
    }
  }

  void take_watts() {
    file_.watt_least = number<double>(word(), "the least power in W");
    file_.watt_step = number<double>(word(), "a step in W");
    const double most = file_.watt_least + 0xfe * file_.watt_step;
    if (!(file_.watt_step > 0) || !(file_.watt_least > 0) || !(most < kKernelWattsMax)) {
      refuse("watts from {} in steps of {}; expected more than 0, less than {} W",
             file_.watt_least, file_.watt_step, kKernelWattsMax);
    }
  }

  void take_slice() {
    std::vector<std::uint32_t> key = numbers(0);
    if (key.size() != file_.keys.size() || key.empty()) {
      refuse("{} values of a key; expected {}", key.size(), file_.keys.size());
    }
    if (!file_.slices.empty() && key <= file_.slices.back()) {
      refuse("slices out of order; expected ascending keys");
    }
    file_.slices.push_back(std::move(key));
  }

  void finish_header() {
    if (file_.operation.empty()) refuse("no operation; expected one");
    if (file_.data_type.empty()) refuse("no type; expected one");
    if (file_.axes.empty()) refuse("no axis; expected at least one");
    if (file_.log_step == 0) refuse("no scale; expected one");
    if (file_.keys.empty()) file_.slices.emplace_back();
    if (file_.slices.empty()) refuse("no slice; expected at least one");
  }

  void take_cells() {
    double cells = static_cast<double>(file_.slices.size());
    for (const auto& values : file_.values) cells *= static_cast<double>(values.size());
    if (cells > kKernelCellsMax) refuse("{} cells; expected at most {}", cells, kKernelCellsMax);
    const auto count = static_cast<std::size_t>(cells);
    const bool has_watts = file_.watt_step > 0;
    const std::size_t bytes = (has_watts ? 3 : 2) * count;
    if (rest_.size() != bytes) {
      refuse("{} bytes of cells; expected {}", rest_.size(), bytes);
    }
    file_.levels.resize(count);
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(rest_[i]); };
    for (std::size_t i = 0; i < count; ++i) {
      file_.levels[i] = static_cast<std::uint16_t>(byte(2 * i) | byte(2 * i + 1) << 8);
    }
    for (std::size_t i = 2 * count; i < bytes; ++i) file_.watt_levels.push_back(byte(i));
  }

  const std::string& place_;
  std::string_view rest_, line_;
  int line_number_ = 0;
  KernelFile file_;
};

}  // namespace

KernelFile parse_kernel_file(const std::string& place, std::string_view bytes) {
  return Parser(place, bytes).run();
}

}  // namespace exawarp::model
